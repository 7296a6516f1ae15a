#include "broker/server/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/base/log.h"
#include "broker/server/server.h"

namespace gearstalk {
namespace {

// The part of limits.output that unrequested results may take while memory is full.
constexpr std::size_t kUnaskedShare = 16;

// Pieces of output that one call of Leave gives up.
constexpr std::size_t kLeavePieces = 256;

// A small reply is one piece, and send costs less than sendmsg.
ssize_t Send(int fd, iovec* pieces, int count) {
  if (count == 1) return send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = static_cast<std::size_t>(count);
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

Connection::Connection(Server& server, Peer peer, std::span<Protocol* const> protocols)
    : server_(server), peer_(std::move(peer)), router_(protocols, *this), active_at_(server.Now()) {
  SetReading(Reading::kOn);
}

Connection::~Connection() {
  SetReading(Reading::kOff);
  if (tls_ != nullptr && !broken_) CloseTls();
  writable_.reset();
  close(peer_.fd);
}

Output& Connection::out() {
  if (!dirty_hook.is_linked()) server_.NoteDirty(*this);
  return out_;
}

Time Connection::Now() const { return server_.Now(); }

std::size_t Connection::MostUnasked() const {
  return server_.most_unread_output() + 2 * Output::kMaxGather;
}

TurnShare Connection::share() const { return server_.share(); }

void Connection::Resume() {
  waits_ = false;
  if (!input_.empty() || eof_) server_.RunLater(*this);
}

void Connection::OnRefused(Refusal why, const Refused& what) { server_.Refuse(why, peer_, what); }

// Besides these lines, the log counts refused jobs by reason once a second.
void Connection::OnJobRefused(Code why, std::string_view tube) {
  if (!Logs(LogLevel::kWarning)) return;
  for (const auto& [code, reason] : kJobRefusals) {
    if (code != why) continue;
    LogOfClient(
        LogLevel::kWarning, "job refused",
        {{"reason", reason}, {"tube", tube}, {"client", peer_.Name()}, {"connection", peer_.id}});
  }
}

// Not rate-limited as other lines about clients are: a trace must be complete.
void Connection::OnCommand(std::string_view command, std::string_view about) {
  Log(LogLevel::kTrace, "command",
      {{"client", peer_.Name()}, {"connection", peer_.id}, {"command", command}, {"about", about}});
}

void Connection::OnOperatorAct(const OperatorAct& act) { server_.NoteOperatorAct(peer_, act); }

void Connection::SetReading(Reading reading) {
  if (reading_ == reading) return;
  if (reading_ == Reading::kWatchClose) server_.hang_ups().Forget(peer_.fd);
  reading_ = reading;
  readable_.reset();
  if (reading == Reading::kOff) return;
  if (reading == Reading::kWatchClose) return server_.hang_ups().Watch(peer_.fd, this);
  readable_ = server_.loop().OnReady(
      peer_.fd, EventLoop::Interest::kRead,
      [](int, short, void* self) {
        auto& connection = *static_cast<Connection*>(self);
        connection.server_.BeginRound();
        connection.OnReadable();
      },
      this);
  EventLoop::Enable(readable_);
}

void Connection::OnReadable() {
  if (closing_ || broken_ || Crowded()) return;
  if (server_.frozen()) {
    EventLoop::Disable(readable_);
    return server_.NoteFrozen(*this);
  }
  if (run_hook.is_linked()) {
    // Input that was read before is run first, which takes a while unless its turn is the next.
    if (!unread_) EventLoop::Disable(readable_);
    unwatched_ = !unread_;
    return;
  }
  if (!server_.TakeTurn()) {
    unread_ = true;
    return server_.RunLater(*this);
  }
  Receive(router_.BodySpace());
}

void Connection::Wake() {
  if (reading_ == Reading::kOn) EventLoop::Enable(readable_);
  if (reading_ != Reading::kWatchClose) return;
  SetReading(Reading::kOff);
  SetReading(Reading::kWatchClose);
}

// Reads once. The body of a job under way is read into its place; everything else goes through the
// server's buffer, behind what was left over from the last time.
void Connection::Receive(std::span<char> body) {
  if (security_ != Security::kPlain) [[unlikely]]
    return ReceiveSecurely(body);
  const std::span<char> buffer = server_.read_buffer();
  const std::size_t left = body.empty() ? input_.size() : 0;
  std::memcpy(buffer.data(), input_.view().data(), left);
  std::array<iovec, 2> pieces{
      {{body.data(), body.size()},
       {buffer.data() + left, std::min(buffer.size() - left, server_.read_share())}}};
  const ssize_t got = body.empty() ? recv(peer_.fd, pieces[1].iov_base, pieces[1].iov_len, 0)
                                   : readv(peer_.fd, pieces.data(), 2);
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    return Break();
  }
  if (got == 0) {
    OnEof();
    return;
  }
  auto size = static_cast<std::size_t>(got);
  server_.CountReceived(size);
  active_at_ = server_.Now();
  if (!body.empty()) {
    const std::size_t filled = std::min(size, body.size());
    router_.OnBody(filled);
    size -= filled;
  }
  OnReceived({buffer.data(), left + size});
}

void Connection::OnReceived(std::string_view bytes) {
  if (waits_ || run_hook.is_linked()) {
    input_.Assign(bytes);
    if (input_.size() >= kMaxInput) PauseReading();
    return;
  }
  const InputResult result = router_.OnInput(bytes);
  input_.Assign(bytes.substr(result.bytes));
  AfterInput(result);
}

void Connection::Run() {
  TakeTurn();
  if (run_hook.is_linked() || !std::exchange(unwatched_, false)) return;
  if (reading_ == Reading::kOn) EventLoop::Enable(readable_);
}

void Connection::TakeTurn() {
  if (closing_ || broken_) return;
  if (std::exchange(unread_, false) && reading_ == Reading::kOn)
    return Receive(router_.BodySpace());
  if (security_ == Security::kTls && tls_ == nullptr) return ReceiveHello({});
  if (waits_ || stalled_) return;
  if (Crowded()) return server_.RunLater(*this);
  const InputResult result = router_.OnInput(input_.view());
  input_.Consume(result.bytes);
  AfterInput(result);
  GoOnReading();
}

bool Connection::Crowded() const {
  return dirty_hook.is_linked() && out_.size() >= server_.limits().output;
}

void Connection::AfterInput(const InputResult& result) {
  switch (result.next) {
    case Next::kGoOn:
    case Next::kBytes:
    case Next::kForeign:
      if (eof_) CloseWhenSent();
      break;
    case Next::kWait:
      waits_ = !run_hook.is_linked();
      break;
    case Next::kYield:
      server_.RunAgain(*this);
      break;
    case Next::kClose:
      CloseWhenSent();
      break;
  }
  // After an answer, the time limit for the next first word begins anew.
  if (!undecided() || result.bytes > 0) undecided_hook.unlink();
  if (undecided()) server_.NoteUndecided(*this);
}

// A waiting session is watched for the end of its peer; otherwise one hang-up is enough.
void Connection::PauseReading() {
  SetReading(hung_up_ && !waits_ ? Reading::kOff : Reading::kWatchClose);
}

void Connection::GoOnReading() {
  if (eof_ || closing_ || stalled_) return;
  if (input_.size() < kMaxInput) return SetReading(Reading::kOn);
  PauseReading();
}

// The peer hung up while nothing was read from it. Commands that it sent before are still read and
// run as there is room, but waits end, because no client is left to wait.
void Connection::OnHangUp() {
  server_.BeginRound();
  if (reading_ != Reading::kWatchClose) return;
  if (server_.frozen()) return server_.NoteFrozen(*this);
  hung_up_ = true;
  if (std::exchange(waits_, false)) router_.OnEof();
  PauseReading();
  server_.RunLater(*this);
}

// A half-closed connection gets its answers: waits end, the commands that were sent are run, then
// it closes.
void Connection::OnEof() {
  eof_ = true;
  SetReading(Reading::kOff);
  router_.OnEof();
  waits_ = false;
  server_.RunLater(*this);
}

void Connection::CloseWhenSent() {
  closing_ = true;
  SetReading(Reading::kOff);
  // Its jobs must not wait until the peer has read everything.
  if (!LeaveEngine()) server_.NoteLeaving(*this);
  server_.NoteDirty(*this);
}

void Connection::Break() {
  broken_ = true;
  server_.NoteDirty(*this);
}

bool Connection::Leave() {
  broken_ = true;
  SetReading(Reading::kOff);
  StopWaitingForSpace();
  SetStalled(false);
  return router_.Leave() && out_.Discard(kLeavePieces);
}

bool Connection::Flush() {
  if (broken_) return false;
  std::array<iovec, 64> pieces;
  const std::size_t most = server_.send_share();
  std::size_t sent_in_round = 0;
  while (!out_.empty()) {
    if (sent_in_round >= most) {
      // Lets other connections send first.
      WaitForSpace();
      return !LeavesTooMuchUnread();
    }
    if (!server_.MaySend()) {
      server_.NoteDirty(*this);
      return true;
    }
    const int count =
        out_.Gather(pieces.data(), static_cast<int>(pieces.size()), server_.Durable(), most);
    if (count == 0) {
      if (tls_ != nullptr) {
        if (const std::optional<bool> over = FlushTls()) return *over;
      }
      // It waits for the journal; the server returns to it when the durable position advances.
      StopWaitingForSpace();
      server_.NoteHeld(*this);
      if (server_.Behind() || out_.size() >= server_.limits().output) Stall();
      return !LeavesTooMuchUnread();
    }
    const ssize_t sent =
        tls_ == nullptr ? Send(peer_.fd, pieces.data(), count) : SendTls(pieces.data(), count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) {
      WaitForSpace();
      return !LeavesTooMuchUnread();
    }
    server_.CountSent(static_cast<std::size_t>(sent));
    out_.Consume(static_cast<std::size_t>(sent));
    sent_in_round += static_cast<std::size_t>(sent);
  }
  if (tls_ != nullptr) {
    if (const std::optional<bool> over = FlushTls()) return *over;
  }
  StopWaitingForSpace();
  if (stalled_) {
    SetStalled(false);
    GoOnReading();
    server_.RunLater(*this);
  }
  return !closing_;
}

void Connection::WaitForSpace() {
  if (writable_ == nullptr) {
    writable_ = server_.loop().OnReady(
        peer_.fd, EventLoop::Interest::kWrite,
        [](int, short, void* self) {
          auto& connection = *static_cast<Connection*>(self);
          connection.server_.BeginRound();
          if (connection.server_.frozen()) connection.StopWaitingForSpace();
          connection.active_at_ = connection.server_.Now();
          connection.server_.NoteDirty(connection);
        },
        this);
  }
  if (!writing_) EventLoop::Enable(writable_);
  writing_ = true;
  // A peer that asks for new TLS keys makes the stream answer, too.
  if (unsent() >= server_.limits().output) Stall();
}

// What its own commands answer waits as long as the peer likes. While memory is full, far fewer
// bytes of unrequested results may wait.
bool Connection::LeavesTooMuchUnread() const {
  const std::size_t unasked = out_.unasked();
  const bool wastes =
      writing_ && unasked > server_.limits().output / kUnaskedShare && server_.MemoryFull();
  if (!wastes && unasked < server_.most_unread_output()) return false;
  server_.Refuse(Refusal::kOutput, peer_);
  return true;
}

void Connection::StopWaitingForSpace() {
  if (!writing_) return;
  EventLoop::Disable(writable_);
  writing_ = false;
}

// Stops reading and running until everything is sent.
void Connection::Stall() {
  if (stalled_) return;
  SetStalled(true);
  if (unsent() >= server_.limits().output) server_.CountStall();
  if (!eof_ && !closing_) PauseReading();
}

void Connection::SetStalled(bool stalled) {
  if (std::exchange(stalled_, stalled) != stalled) server_.NoteStalled(stalled);
}

}  // namespace gearstalk
