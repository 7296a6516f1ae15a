#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "broker/server/output.h"

namespace gearstalk {

// The most that one session does in a turn: a fraction of a millisecond.
struct TurnShare {
  static constexpr std::size_t kOutput = 256 * 1024;
  static constexpr int kMessages = 512;
  static constexpr std::uint64_t kEffort = 16'384;

  std::size_t output = kOutput;    // bytes appended to the output
  int messages = kMessages;        // messages run
  std::uint64_t effort = kEffort;  // what Engine::effort() counts

  // Divides a few milliseconds equally among so many sessions.
  static TurnShare OfOne(std::size_t sessions) {
    const std::size_t parts = std::max<std::size_t>(sessions / 4, 1);
    return {.output = std::max<std::size_t>(kOutput / parts, 4096),
            .messages =
                std::max(kMessages / static_cast<int>(std::min<std::size_t>(parts, kMessages)), 1),
            .effort = std::max<std::uint64_t>(kEffort / parts, 64)};
  }
};

// One turn of a session: begins when its input is shown to it.
class Turn {
 public:
  Turn(const TurnShare& share, const Output& out, std::uint64_t effort = 0)
      : messages_(share.messages),
        output_(out.size() + share.output),
        effort_(effort + share.effort) {}

  // Counts a message that was run.
  void Count() { --messages_; }
  // Whether the turn is over.
  bool Over(const Output& out, std::uint64_t effort = 0) const {
    return messages_ <= 0 || out.size() > output_ || effort > effort_;
  }

 private:
  int messages_;
  std::size_t output_;
  std::uint64_t effort_;
};

}  // namespace gearstalk
