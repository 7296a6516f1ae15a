#pragma once

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/protocol.h"

namespace gearstalk::bench {

// Sends one job on a connection, closes it when that is answered, and opens the next.
class Churn : public Connection, public RoundObserver {
 public:
  Churn(Loop& loop, const Endpoint& endpoint, Flow& flow, const JobShape& shape, Protocol protocol);

  void OnRound(int64_t now) override;

 private:
  size_t OnInput(std::string_view input) override;
  void Send();
  bool AnswerIsComplete(std::string_view input) const;

  Flow& flow_;
  const JobShape shape_;
  const Protocol protocol_;
  BodyMaker body_;
  bool in_flight_ = false;
  int64_t stamp_ = 0;
};

}  // namespace gearstalk::bench
