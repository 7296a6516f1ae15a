#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/server/protocol.h"

namespace gearstalk {

class FakeSession;

// A protocol of lines for tests of what stands around protocols. Protocol "a" owns connections that
// begin with the word "a", answers lines of the word "A" for everybody, and knows no other words:
//
//   a echo TEXT     TEXT
//   a big N         N bytes 'x' and a line end
//   a others N      the same as results that it did not ask for
//   a hold LSN      "held LSN", not before LSN is durable
//   a wait          blocks until Release, then "released"; or until the peer's end, then "end"
//   a slow N        yields N times, then "slow"
//   a stay N        "stay"; when the connection is over, leaves at the N+1st call
//   a body N        takes N bytes, then "body", how many of them came directly, and the last byte
//   a close         "bye", and closes
//
// A line that nobody knows is answered with "a?" and the line.
class FakeProtocol final : public Protocol {
 public:
  enum class Answers { kNothing, kCrLf, kLf };

  explicit FakeProtocol(char letter, Answers unknown = Answers::kNothing,
                        bool needs_greeting = false)
      : name_(1, letter), unknown_(unknown), needs_greeting_(needs_greeting) {}

  std::string_view name() const override { return name_; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view bytes) const override;
  bool NeedsGreeting() const override { return needs_greeting_; }
  std::unique_ptr<Session> NewSession(Wire& wire) override;

  // Whether a line begins with one of its two words.
  bool Knows(std::string_view line) const;

  // All sessions that wait go on.
  void Release();

  // Of all sessions.
  int commands = 0;
  int created = 0;
  int left = 0;  // the engine, as far as there is one
  std::function<void()> on_echo = [] {};

 private:
  friend class FakeSession;

  const std::string name_;
  const Answers unknown_;
  const bool needs_greeting_;
  std::vector<FakeSession*> sessions_;
};

}  // namespace gearstalk
