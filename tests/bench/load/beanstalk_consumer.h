#pragma once

#include <deque>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/role.h"
#include "tests/bench/load/verification.h"

namespace gearstalk::bench {

struct BeanstalkTaking {
  Tubes tubes;
  int64_t held = 0;    // jobs it keeps reserved before it deletes the oldest
  bool waits = false;  // one command at a time, in reserve until a job comes; otherwise it reserves
                       // only jobs that are known to be there
  Verification* verification = nullptr;  // what it has to say of each job; nullptr: nothing
};

// Reserves and deletes jobs.
class BeanstalkConsumer : public Connection, public RoundObserver {
 public:
  BeanstalkConsumer(Loop& loop, const Endpoint& endpoint, Flow& flow, const BeanstalkTaking& taking,
                    const Role& role);

  void OnRound(int64_t now) override;

 private:
  struct Job {
    int64_t id;
    int64_t stamp;
  };

  size_t OnInput(std::string_view input) override;
  // Returns the bytes of the reply at the front of `input`, 0 when it is incomplete.
  size_t OnReply(std::string_view input);
  size_t OnReserved(std::string_view input, size_t line_bytes);
  void OnDeleted();
  void Watch();
  void Reserve();
  void DeleteOldest();

  Flow& flow_;
  const BeanstalkTaking taking_;
  const Role role_;
  int asked_ = 0;  // reserves without an answer; deletes follow at once and do not count
  std::deque<Job> held_;
  std::deque<int64_t> deleting_;  // stamps
};

}  // namespace gearstalk::bench
