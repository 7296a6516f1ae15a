#include "broker/server/connection.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/base/log.h"
#include "broker/server/connection_host.h"

namespace gearstalk {
namespace {

// The part of limits.output that unrequested results may take while memory is full.
constexpr std::size_t kUnaskedShare = 16;

// Pieces of output that one call of Leave gives up.
constexpr std::size_t kLeavePieces = 256;

}  // namespace

Connection::Connection(ConnectionHost& host, Peer peer, std::span<Protocol* const> protocols)
    : host_(host), peer_(std::move(peer)), switch_(protocols, *this), active_at_(host.Now()) {}

Connection::~Connection() {
  transport_->SetReading(Transport::Reading::kOff);
  if (!broken_) transport_->End();
}

void Connection::Attach(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  transport_->SetReading(Transport::Reading::kOn);
  if (transport_->handshaking()) host_.NoteUndecided(*this);
}

Output& Connection::out() {
  if (!dirty_hook.is_linked()) host_.NoteDirty(*this);
  return out_;
}

Time Connection::Now() const { return host_.Now(); }

std::size_t Connection::MostUnasked() const {
  return host_.most_unread_output() + 2 * Output::kMaxGather;
}

TurnShare Connection::share() const { return host_.share(); }

void Connection::Resume() {
  waits_ = false;
  if (!input_.empty() || eof_) host_.RunLater(*this);
}

void Connection::RunSoon() {
  waits_ = false;
  host_.RunLater(*this);
}

void Connection::OnRefused(Refusal why, const Refused& what) { host_.Refuse(why, peer_, what); }

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

void Connection::OnOperatorAct(const OperatorAct& act) { host_.NoteOperatorAct(peer_, act); }

void Connection::OnReadable() {
  host_.BeginRound();
  Hear();
}

void Connection::Hear() {
  if (closing_ || broken_ || Crowded()) return;
  if (host_.frozen()) {
    transport_->Mute(true);
    return host_.NoteFrozen(*this);
  }
  if (run_hook.is_linked()) {
    // Input that was read before is run first, which takes a while unless its turn is the next.
    if (!unread_) transport_->Mute(true);
    unwatched_ = !unread_;
    return;
  }
  if (!host_.TakeTurn()) {
    unread_ = true;
    return host_.RunLater(*this);
  }
  Receive(switch_.BodySpace());
}

// Reads once. The body of a job under way is read into its place; everything else goes through the
// server's buffer, behind what was left over from the last time.
void Connection::Receive(std::span<char> body) {
  if (transport_->shakes() && !host_.TakeHandshake()) {
    unread_ = true;
    return host_.RunLater(*this);
  }
  const std::span<char> buffer = host_.read_buffer();
  const std::size_t left = body.empty() ? input_.size() : 0;
  std::memcpy(buffer.data(), input_.view().data(), left);
  const Transport::Received got = transport_->Read(body, buffer.subspan(left), host_.read_share());
  if (got.network > 0) {
    host_.CountReceived(got.network);
    active_at_ = host_.Now();
  }
  if (got.answers) host_.NoteDirty(*this);
  if (got.then == Transport::Received::Then::kBroken) return Break();
  if (got.then == Transport::Received::Then::kFailed) return OnFailed();
  if (got.body > 0) switch_.OnBody(got.body);
  if (got.body + got.rest > 0) {
    OnReceived({buffer.data(), left + got.rest});
  } else if (transport_->handshaking()) {
    host_.NoteUndecided(*this);
    if (transport_->waits_to_shake()) {
      unread_ = true;
      return host_.RunLater(*this);
    }
  }
  if (got.then == Transport::Received::Then::kEnd && !closing_ && !broken_) OnEof();
}

// Its handshake failed, or was none, or TLS failed later.
void Connection::OnFailed() {
  const Transport::Failure failure = transport_->failure();
  if (failure.refusal) {
    host_.Refuse(*failure.refusal, peer_, {.error = failure.error});
  } else {
    LogOfClient(LogLevel::kInfo, "TLS failed",
                {{"error", failure.error}, {"client", peer_.Name()}, {"connection", peer_.id}});
  }
  CloseWhenSent();
}

void Connection::OnSecured(std::string certificate) {
  peer_.tls = true;
  peer_.certificate = std::move(certificate);
  host_.UpdateAccess(*this);
}

void Connection::OnReceived(std::string_view bytes) {
  if (waits_ || run_hook.is_linked()) {
    input_.Assign(bytes);
    if (input_.size() >= kMaxInput) PauseReading();
    return;
  }
  const InputResult result = switch_.OnInput(bytes);
  input_.Assign(bytes.substr(result.bytes));
  AfterInput(result);
}

void Connection::Run() {
  TakeTurn();
  if (run_hook.is_linked() || !std::exchange(unwatched_, false)) return;
  if (transport_->reading() == Transport::Reading::kOn) transport_->Mute(false);
}

void Connection::TakeTurn() {
  if (closing_ || broken_) return;
  if (std::exchange(unread_, false) && transport_->reading() == Transport::Reading::kOn)
    return Receive(switch_.BodySpace());
  if (waits_ || stalled_) return;
  if (Crowded()) return host_.RunLater(*this);
  const InputResult result = switch_.OnInput(input_.view());
  input_.Consume(result.bytes);
  AfterInput(result);
  GoOnReading();
}

bool Connection::Crowded() const {
  return dirty_hook.is_linked() && out_.size() >= host_.limits().output;
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
      host_.RunAgain(*this);
      break;
    case Next::kClose:
      CloseWhenSent();
      break;
  }
  // After an answer, the time limit for the next first word begins anew.
  if (!undecided() || result.bytes > 0) undecided_hook.unlink();
  if (undecided()) host_.NoteUndecided(*this);
}

// A waiting session is watched for the end of its peer; otherwise one hang-up is enough.
void Connection::PauseReading() {
  transport_->SetReading(hung_up_ && !waits_ ? Transport::Reading::kOff
                                             : Transport::Reading::kWatchClose);
}

void Connection::GoOnReading() {
  if (eof_ || closing_ || stalled_) return;
  if (input_.size() < kMaxInput) return transport_->SetReading(Transport::Reading::kOn);
  PauseReading();
}

// The peer hung up while nothing was read from it. Commands that it sent before are still read and
// run as there is room, but waits end, because no client is left to wait.
void Connection::OnHangUp() {
  host_.BeginRound();
  if (transport_->reading() != Transport::Reading::kWatchClose) return;
  if (host_.frozen()) return host_.NoteFrozen(*this);
  hung_up_ = true;
  if (std::exchange(waits_, false)) switch_.OnEof();
  PauseReading();
  host_.RunLater(*this);
}

// A half-closed connection gets its answers: waits end, the commands that were sent are run, then
// it closes.
void Connection::OnEof() {
  eof_ = true;
  transport_->SetReading(Transport::Reading::kOff);
  switch_.OnEof();
  waits_ = false;
  host_.RunLater(*this);
}

void Connection::CloseWhenSent() {
  closing_ = true;
  transport_->SetReading(Transport::Reading::kOff);
  // Its jobs must not wait until the peer has read everything.
  if (!LeaveEngine()) host_.NoteLeaving(*this);
  host_.NoteDirty(*this);
}

void Connection::Break() {
  broken_ = true;
  host_.NoteDirty(*this);
}

bool Connection::Leave() {
  broken_ = true;
  transport_->SetReading(Transport::Reading::kOff);
  StopWaitingForSpace();
  SetStalled(false);
  return switch_.Leave() && out_.Discard(kLeavePieces);
}

bool Connection::Flush() {
  if (broken_) return false;
  std::array<iovec, 64> pieces;
  const std::size_t most = host_.send_share();
  std::size_t sent_in_round = 0;
  while (!out_.empty()) {
    if (sent_in_round >= most) {
      // Lets other connections send first.
      WaitForSpace();
      return !LeavesTooMuchUnread();
    }
    if (!host_.MaySend()) {
      host_.NoteDirty(*this);
      return true;
    }
    const int count =
        out_.Gather(pieces.data(), static_cast<int>(pieces.size()), host_.Durable(), most);
    if (count == 0) {
      if (const std::optional<bool> over = FlushTransport()) return *over;
      // It waits for the journal; the server returns to it when the durable position advances.
      StopWaitingForSpace();
      host_.NoteHeld(*this);
      if (host_.Behind() || out_.size() >= host_.limits().output) Stall();
      return !LeavesTooMuchUnread();
    }
    const ssize_t sent = transport_->Write(pieces.data(), count);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) {
      WaitForSpace();
      return !LeavesTooMuchUnread();
    }
    host_.CountSent(static_cast<std::size_t>(sent));
    out_.Consume(static_cast<std::size_t>(sent));
    sent_in_round += static_cast<std::size_t>(sent);
  }
  if (const std::optional<bool> over = FlushTransport()) return *over;
  StopWaitingForSpace();
  if (stalled_) {
    SetStalled(false);
    GoOnReading();
    host_.RunLater(*this);
  }
  return !closing_;
}

std::optional<bool> Connection::FlushTransport() {
  switch (transport_->Flush(closing_ && out_.empty())) {
    case Transport::Flushed::kAll:
      return std::nullopt;
    case Transport::Flushed::kSome:
      WaitForSpace();
      return true;
    case Transport::Flushed::kBroken:
      break;
  }
  return false;
}

void Connection::OnWritable() {
  host_.BeginRound();
  if (host_.frozen()) StopWaitingForSpace();
  active_at_ = host_.Now();
  host_.NoteDirty(*this);
}

void Connection::WaitForSpace() {
  if (!std::exchange(writing_, true)) transport_->WatchWriting(true);
  // A peer that asks for new TLS keys makes the transport answer, too.
  if (unsent() >= host_.limits().output) Stall();
}

// What its own commands answer waits as long as the peer likes. While memory is full, far fewer
// bytes of unrequested results may wait.
bool Connection::LeavesTooMuchUnread() const {
  const std::size_t unasked = out_.unasked();
  const bool wastes =
      writing_ && unasked > host_.limits().output / kUnaskedShare && host_.MemoryFull();
  if (!wastes && unasked < host_.most_unread_output()) return false;
  host_.Refuse(Refusal::kOutput, peer_);
  return true;
}

void Connection::StopWaitingForSpace() {
  if (std::exchange(writing_, false)) transport_->WatchWriting(false);
}

// Stops reading and running until everything is sent.
void Connection::Stall() {
  if (stalled_) return;
  SetStalled(true);
  if (unsent() >= host_.limits().output) host_.CountStall();
  if (!eof_ && !closing_) PauseReading();
}

void Connection::SetStalled(bool stalled) {
  if (std::exchange(stalled_, stalled) != stalled) host_.NoteStalled(stalled);
}

}  // namespace gearstalk
