#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "broker/server/protocol.h"

namespace gearstalk {

// Decides which protocol gets which message of a connection (semantics.md, "Which words arrive on
// which port"). A connection belongs to the first protocol that claims it; a line of another
// protocol's administration is answered by a guest session and changes nothing.
class ProtocolSwitch {
 public:
  static constexpr std::size_t kMaxProtocols = 4;

  // `protocols` outlives the switch. If only one of them needs no greeting, it gets every
  // connection that begins without one.
  ProtocolSwitch(std::span<Protocol* const> protocols, Wire& wire);
  ~ProtocolSwitch();
  ProtocolSwitch(const ProtocolSwitch&) = delete;
  ProtocolSwitch& operator=(const ProtocolSwitch&) = delete;

  InputResult OnInput(std::string_view bytes);
  std::span<char> BodySpace();
  void OnBody(std::size_t size) { owner()->OnBody(size); }
  void OnEof();
  // Session::Leave of every session.
  bool Leave();

  // The session that the connection belongs to, or nullptr while that is undecided.
  Session* owner() const { return owner_ < 0 ? nullptr : At(owner_); }
  // The name of the protocol that the connection belongs to; empty while that is undecided.
  std::string_view protocol() const {
    return owner_ < 0 ? std::string_view() : protocols_[static_cast<std::size_t>(owner_)]->name();
  }
  // The session that can describe the connection: the owner, or else a guest.
  const Session* Describing() const;
  // Whether all its sessions are idle.
  bool Idle() const;

 private:
  // Where the next input goes. A connection of a listener with one protocol begins in kGreeting,
  // others in kUndecided.
  //
  //   kGreeting ----1----> kOwned <----3----> kAnswering
  //                           ^                   ^
  //                           2                   |
  //                           |                   |
  //                       kUndecided <-----3------+
  //
  // 1: the first word is known. 2: a protocol claims a message. 3: the answer of a guest does not
  // fit into one turn; back when it is complete.
  enum class State : std::uint8_t {
    kGreeting,   // has an owner; what came so far may become a greeting, or HTTP
    kUndecided,  // no owner yet
    kOwned,
    kAnswering,  // a guest makes its answer; input waits
  };

  Session* At(int index) const { return sessions_[static_cast<std::size_t>(index)].get(); }
  Session& SessionOf(int index);
  void SetOwner(int index);
  InputResult RunNext(std::string_view bytes);
  Claim SniffGreeting(std::string_view bytes);
  InputResult RunOwner(std::string_view bytes);
  InputResult RunGuest(int index, std::string_view bytes, Session::Scope scope);
  InputResult Foreign(std::string_view bytes);
  InputResult Unknown(std::string_view bytes);
  InputResult RefuseHttp();
  int Count() const { return static_cast<int>(protocols_.size()); }

  std::span<Protocol* const> protocols_;
  Wire& wire_;
  std::array<std::unique_ptr<Session>, kMaxProtocols> sessions_;
  bool alone_ = false;  // a single protocol gets everything
  State state_ = State::kUndecided;
  int owner_ = -1;
  int guest_ = -1;      // answered the latest line of administration of an undecided connection
  int answering_ = -1;  // the guest of kAnswering
};

}  // namespace gearstalk
