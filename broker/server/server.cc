#include "broker/server/server.h"

#include <sys/resource.h>

#include <bit>

namespace gearstalk {
namespace {

// Descriptors that connections leave to the journal, the pages for operators and the logs.
constexpr std::size_t kSpareDescriptors = 64;

// What libevent asks the kernel for at first, in events.
constexpr std::size_t kFirstEvents = 32;

std::size_t DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return std::max<std::size_t>(limit.rlim_cur, 2 * kSpareDescriptors);
}

}  // namespace

Server::Server(EventLoop& loop, const Clock& clock, RoundHooks& hooks)
    : ConnectionHost(clock, hooks),
      loop_(loop),
      sockets_(loop),
      room_(DescriptorLimit() - kSpareDescriptors) {}

Server::~Server() = default;

void Server::SetLimits(const ServerLimits& limits) {
  const bool another_timeout = limits.idle_timeout != limits_.idle_timeout;
  limits_ = limits;
  if (routers_ != nullptr) routers_->SetHandshakeTimeout(limits.handshake_timeout);
  if (!another_timeout) return;
  look_for_idle_ = kNever;
  idle_.Start(Now(), limits_.idle_timeout);
  if (limits_.idle_timeout == 0) return;
  look_for_idle_ = idle_.NextLook();
  for (const auto& connection : connections_) {
    if (connection != nullptr) idle_.Put(*connection, Now() + limits_.idle_timeout);
  }
}

void Server::SetTls(std::shared_ptr<const TlsContext> tls) {
  if (routers_ != nullptr) routers_->SetTls(tls);
  sockets_.SetTls(std::move(tls));
}

void Server::SetAccess(AccessRules rules) {
  access_ = std::move(rules);
  for (const auto& connection : connections_) {
    if (connection != nullptr) UpdateAccess(*connection);
  }
}

void Server::Run() {
  while (!stopping_) Turn(kNever);
  SendRest();
}

void Server::Turn(Time until) {
  const bool busy = !leaving_.empty() || (!frozen_ && (!run_.empty() || !dirty_.empty()));
  const Time due = NextDue();
  WaitForEvents(std::min({until, due, busy ? Time{0} : kNever, accept_again_}));
  BeginRound();
  if (catch_up_ == 0 && due > 0 && due < Now() - kLate) catch_up_ = kCatchUpRounds;
  EndRound();
  in_round_ = false;
}

// libevent asks the kernel for kFirstEvents events. Whenever it gets as many as it asked for, it
// doubles the number for the next call. A connection beyond that number would wait for several
// rounds of work of the others, so the round asks again at once until libevent has seen everybody.
void Server::WaitForEvents(Time until) {
  std::size_t got = 0, got_before = 0;
  do {
    got_before = std::max(got, kFirstEvents - 1);
    events_ = 0;
    loop_.RunOnce(Now(), got == 0 ? until : 0);
    got = events_;
  } while (got > got_before && std::has_single_bit(got));
}

Time Server::NextDue() const {
  if (frozen_) return next_tick_;
  const Time due = std::min(next_tick_, look_for_idle_);
  if (undecided_.empty()) return due;
  return std::min(due, undecided_.front().undecided_since + limits_.handshake_timeout);
}

void Server::EndRound() {
  turns_ += queued_;
  if (!frozen_) RunQueued();
  if (!leaving_.empty()) CloseLeaving();
  if (CatchingUp()) {
    next_tick_ = Now();
  } else {
    next_tick_ = hooks_.Tick(Now());
    if (!frozen_) CloseUndecided();
    if (!frozen_ && look_for_idle_ <= Now()) CloseIdle();
  }
  hooks_.EndRound(Now());
  FlushDirty();
  if (abandon_ != Abandon::kNone) CloseHeld();
  if (routers_ != nullptr) routers_->EndRound(Now());
  if (accept_again_ <= Now()) {
    accept_again_ = kNever;
    UpdateAccepting();
  }
  if (hooks_.AfterRound(Now())) next_tick_ = Now();
}

// After a pause of the loop, input that has arrived is run before deadlines are checked.
bool Server::CatchingUp() {
  if (catch_up_ == 0) return false;
  catch_up_ = turns_ == 0 || frozen_ ? 0 : catch_up_ - 1;
  return catch_up_ > 0;
}

// While more connections wait for a turn than there is time for, greedy ones get a quarter of their
// time, so that a single request does not wait behind them.
void Server::RunQueued() {
  const Time left = round_began_ + kReadTime + kRunTime - hooks_.Fresh();
  RunQueued(run_.ordinary, std::max(left, kRunTime));
  RunQueued(run_.greedy, hurried() ? kRunTime / 4 : kRunTime);
}

// Runs each connection that was waiting to be run once; what they leave comes in the next round.
void Server::RunQueued(List<&Connection::run_hook>& queue, Time most) {
  if (queue.empty()) return;
  List<&Connection::run_hook> turn;
  turn.swap(queue);
  const Time began = hooks_.Fresh();
  while (!turn.empty()) {
    Connection& connection = turn.front();
    turn.pop_front();
    --queued_;
    connection.Run();
    if (hooks_.Fresh() - began >= most) break;
  }
  queue.splice(queue.begin(), turn);
}

void Server::FlushDirty() {
  const bool closed = FlushDirty(dirty_.ordinary, kSendTime);
  // Jobs that the closed connections held went back, which may have made records.
  const bool much = hurried() || !dirty_.ordinary.empty();
  if (FlushDirty(dirty_.greedy, much ? kSendTime / 4 : kSendTime) || closed) hooks_.EndRound(Now());
}

// Returns whether connections were closed.
bool Server::FlushDirty(List<&Connection::dirty_hook>& queue, Time most) {
  if (queue.empty()) return false;
  bool closed = false;
  const std::uint64_t enough = sent_ + kRoundSent / 2;
  const Time began = hooks_.Fresh();
  for (std::size_t n = 0; n < kRoundFlushes && sent_ < enough && !queue.empty() && MaySend(); ++n) {
    Connection& connection = queue.front();
    queue.pop_front();
    if (!connection.Flush()) {
      Close(connection);
      closed = true;
    }
    if (routers_ != nullptr && n % kTurnsOfALook != 0) continue;
    if (hooks_.Fresh() - began >= most) break;
  }
  return closed;
}

void Server::Freeze(bool frozen) {
  if (std::exchange(frozen_, frozen) == frozen) return;
  UpdateAccepting();
  if (frozen) return;
  while (!asleep_.empty()) {
    Connection& connection = asleep_.front();
    asleep_.pop_front();
    connection.Wake();
  }
}

void Server::OnReadable(int fd, std::function<void()> handler) {
  auto watched = std::make_unique<Watched>(Watched{*this, std::move(handler), nullptr});
  watched->readable = loop_.OnReady<&Watched::OnReadable>(fd, EventLoop::Interest::kRead, *watched);
  EventLoop::Enable(watched->readable);
  watched_.push_back(std::move(watched));
}

void Server::OnDurable() {
  while (!held_.empty()) {
    Connection& connection = held_.front();
    held_.pop_front();
    NoteDirty(connection);
  }
}

ConnectionList::Entry Server::Next(int fd) const {
  for (auto place = static_cast<std::size_t>(fd); place < connections_.size(); ++place) {
    const Connection* connection = connections_[place].get();
    if (connection != nullptr)
      return {&connection->peer(), connection->session(), connection->protocol(),
              connection->active_at()};
  }
  return {};
}

}  // namespace gearstalk
