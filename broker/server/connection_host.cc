#include "broker/server/connection_host.h"

#include <algorithm>

#include "broker/base/log.h"

namespace gearstalk {

ConnectionHost::ConnectionHost(const Clock& clock, RoundHooks& hooks)
    : clock_(clock), hooks_(hooks), read_buffer_(Connection::kMaxInput + 2 * kReadSize) {}

void ConnectionHost::UpdateAccess(Connection& connection) {
  const Peer& peer = connection.peer();
  connection.set_access(access_.For(peer.listen, peer.certificate));
}

void ConnectionHost::BeginRound() {
  ++events_;
  if (in_round_) return;
  in_round_ = true;
  hooks_.BeginRound();
  round_began_ = hooks_.Fresh();
  share_ = TurnShare::OfOne(queued_);
  turns_ = 0;
  in_time_ = true;
  backlog_ = false;
  handshakes_ = 0;
}

bool ConnectionHost::TakeTurn() {
  if (++turns_ % kTurnsOfAShare == 0) share_ = TurnShare::OfOne(turns_ + queued_);
  // Without a system call for each of them, most turns are shorter than a look at the clock.
  if (!by_routers_ || turns_ % kTurnsOfALook == 0) {
    in_time_ = hooks_.Fresh() - round_began_ < kReadTime;
  }
  return in_time_;
}

bool ConnectionHost::TakeHandshake() {
  if (handshakes_ == kRoundHandshakes) return false;
  const Time now = hooks_.Fresh();
  if (handshakes_ == 0) first_handshake_ = now;
  if (handshakes_ > 0 && now - first_handshake_ >= kHandshakeTime) return false;
  ++handshakes_;
  return true;
}

std::size_t ConnectionHost::read_share() const {
  const std::size_t sharing = std::max<std::size_t>(turns_ + queued_, 1);
  return std::clamp<std::size_t>(kRoundRead / sharing, 1024, kReadSize);
}

std::size_t ConnectionHost::send_share() const {
  const std::size_t sharing = std::max<std::size_t>(turns_ + queued_, 1);
  return std::clamp<std::size_t>(kRoundSent / sharing, 16 * 1024, Output::kMaxGather);
}

void ConnectionHost::RunAgain(Connection& connection) {
  Queue(run_.greedy, connection);
  if (!connection.dirty_hook.is_linked()) return;
  connection.dirty_hook.unlink();
  dirty_.greedy.push_back(connection);
}

void ConnectionHost::Refuse(Refusal refusal, const Peer& peer, const Refused& what) {
  refusals_.Count(refusal);
  if (!Logs(LogLevel::kWarning)) return;
  const auto or_dash = [](std::string_view text) { return text.empty() ? "-" : text; };
  LogOfClient(LogLevel::kWarning, "refused",
              {{"reason", kRefusalNames[static_cast<std::size_t>(refusal)]},
               {"error", or_dash(what.error)},
               {"command", or_dash(what.command)},
               {"tube", or_dash(what.tube)},
               {"certificate", or_dash(peer.certificate)},
               {"client", peer.Name()},
               {"connection", peer.id}});
}

void ConnectionHost::NoteUndecided(Connection& connection) {
  if (connection.undecided_hook.is_linked()) return;
  connection.undecided_since = Now();
  undecided_.push_back(connection);
}

}  // namespace gearstalk
