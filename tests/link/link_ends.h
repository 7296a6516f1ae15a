#pragma once

#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "broker/base/check.h"
#include "broker/link/link_end.h"

namespace gearstalk::link {

// Both ends of a link, in one process: the broker's, and the router's.
inline std::array<LinkEnd, 2> MakeEnds() {
  const LinkParts parts = MakeLink().value();
  const auto open = [&](std::size_t at, LinkEnd::Side side) {
    return std::move(LinkEnd::Open(parts.sockets[at], parts.memory, side).value());
  };
  std::array<LinkEnd, 2> ends{open(0, LinkEnd::Side::kBroker), open(1, LinkEnd::Side::kRouter)};
  close(parts.memory);
  return ends;
}

// An end that says anything, and hears nothing.
class AnyEnd {
 public:
  AnyEnd(const LinkParts& parts, LinkEnd::Side side)
      : socket_(parts.sockets[side == LinkEnd::Side::kBroker ? 0 : 1]),
        out_(std::move(Ring::Map(parts.memory, side == LinkEnd::Side::kBroker ? 0 : 1).value())) {}
  ~AnyEnd() { close(socket_); }
  AnyEnd(const AnyEnd&) = delete;
  AnyEnd& operator=(const AnyEnd&) = delete;

  Ring::State& state() { return out_.state(); }
  // At most a ring of them in all.
  void Say(std::string_view bytes) {
    const std::uint64_t at = state().added;
    std::memcpy(out_.At(at), bytes.data(), bytes.size());
    state().added = at + bytes.size();
    Bell();
  }
  void Bell() { GS_CHECK(write(socket_, "", 1) == 1); }

 private:
  const int socket_;
  Ring out_;
};

}  // namespace gearstalk::link
