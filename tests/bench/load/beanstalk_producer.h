#pragma once

#include <deque>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/role.h"

namespace gearstalk::bench {

// Puts jobs.
class BeanstalkProducer : public Connection, public RoundObserver {
 public:
  BeanstalkProducer(Loop& loop, const Endpoint& endpoint, Flow& flow, const JobShape& shape,
                    const Role& role);

  void OnRound(int64_t now) override;

 private:
  size_t OnInput(std::string_view input) override;
  void OnLine(std::string_view line);
  void Put(const JobStart& start, int64_t now);

  struct Sent {
    int64_t at;
    int64_t stamp;
  };

  Flow& flow_;
  const JobShape shape_;
  const Role role_;
  BodyMaker body_;
  Random random_;
  int64_t used_tube_ = -1;
  std::deque<Sent> unanswered_;
};

}  // namespace gearstalk::bench
