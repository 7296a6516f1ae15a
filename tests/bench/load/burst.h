#pragma once

#include <cstdint>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/protocol.h"

namespace gearstalk::bench {

// Sends this many commands that store a job at once, reads their answers, and begins again in the
// next second.
class Burst : public Connection, public RoundObserver {
 public:
  Burst(Loop& loop, const Endpoint& endpoint, Protocol protocol, int64_t commands);

  void OnRound(int64_t now) override;

  int64_t finished() const { return finished_; }

 private:
  size_t OnInput(std::string_view input) override;
  size_t OnLines(std::string_view input);
  size_t OnPackets(std::string_view input);
  void OnAnswer();

  const Protocol protocol_;
  const int64_t commands_;
  int64_t unanswered_ = 0;
  int64_t next_ = 0;
  int64_t finished_ = 0;
};

}  // namespace gearstalk::bench
