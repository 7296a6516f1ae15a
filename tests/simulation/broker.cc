#include "tests/simulation/broker.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "broker/base/check.h"
#include "tests/support/identity.h"

namespace gearstalk::simulation {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

Peer PeerOf(std::uint64_t id, Time now) {
  return {.fd = static_cast<int>(id),
          .address = "127.0.0.1",
          .local = true,
          .id = id,
          .port = 1,
          .connected_at = now};
}

gearman::Options GearmanOptionsOf(const Broker::Options& options) {
  gearman::Options gearman;
  gearman.server_name = "simulated";
  gearman.version = "1";
  gearman.max_workload = options.max_job_size;
  return gearman;
}

}  // namespace

Connection::Connection(Broker& broker, std::uint64_t id, Ear& ear)
    : broker_(broker),
      peer_(PeerOf(id, broker.Now())),
      ear_(&ear),
      switch_(broker.protocols(), *this) {}

Time Connection::Now() const { return broker_.Now(); }

void Connection::Resume() {
  waits_ = false;
  if (!input_.empty() || eof_) runnable_ = true;
}

void Connection::RunSoon() {
  waits_ = false;
  runnable_ = true;
}

void Connection::Receive(std::string_view bytes) {
  if (closing_ || broken_ || eof_) return;
  if (!broker_.MayServe()) {
    input_.Append(bytes);
    runnable_ = runnable_ || !waits_;
    return;
  }
  if (!waits_ && !runnable_ && input_.empty()) {
    const std::span<char> space = switch_.BodySpace();
    const std::size_t size = std::min(space.size(), bytes.size());
    if (size > 0) {
      std::copy_n(bytes.begin(), size, space.begin());
      switch_.OnBody(size);
      bytes.remove_prefix(size);
    }
  }
  input_.Append(bytes);
  if (!waits_ && !runnable_) OnInput();
}

// The rest of what was sent is run before the connection closes.
void Connection::ReceiveEof() {
  if (closing_ || broken_ || eof_) return;
  eof_ = true;
  switch_.OnEof();
  waits_ = false;
  runnable_ = true;
}

void Connection::Run() {
  if (!std::exchange(runnable_, false)) return;
  if (closing_ || broken_ || waits_) return;
  OnInput();
}

void Connection::OnInput() {
  const InputResult result = switch_.OnInput(input_.view());
  GS_CHECK(result.bytes <= input_.size());
  input_.Consume(result.bytes);
  AfterInput(result.next);
}

void Connection::AfterInput(Next next) {
  switch (next) {
    case Next::kGoOn:
    case Next::kBytes:
    case Next::kForeign:
      if (eof_) closing_ = true;
      break;
    case Next::kWait:
      waits_ = !runnable_;
      break;
    case Next::kYield:
      runnable_ = true;
      break;
    case Next::kClose:
      closing_ = true;
      break;
  }
}

bool Connection::Flush() {
  if (broken_) return false;
  if (!broker_.MayServe()) return true;
  held_ = false;
  std::array<iovec, 64> pieces;
  while (!out_.empty() && !stalled_) {
    const int count =
        out_.Gather(pieces.data(), static_cast<int>(pieces.size()), broker_.Durable());
    if (count == 0) {
      held_ = true;
      return true;
    }
    std::string bytes;
    for (int i = 0; i < count; ++i) {
      const iovec& piece = pieces[static_cast<std::size_t>(i)];
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    out_.Consume(bytes.size());
    broker_.NoteAnswered();
    if (ear_ != nullptr) ear_->OnBytes(bytes);
  }
  if (!out_.empty()) return true;
  return !closing_;
}

Broker::Broker(const FakeClock& clock, std::unique_ptr<Journal> journal, const Options& options)
    : clock_(clock),
      journal_(std::move(journal)),
      engine_(options.engine, *journal_),
      beanstalk_({options.max_job_size}, beanstalk::TestIdentity(clock.Now()), engine_, *this),
      gearman_(GearmanOptionsOf(options), engine_, *this),
      transfer_(engine_),
      protocols_{&beanstalk_, &gearman_, &transfer_} {
  engine_.SetLimits(options.limits);
  engine_.SetRules(clock.Now(), options.rules);
  GS_CHECK(engine_.schedules().Set(clock.Now(), options.schedules, "UTC").ok());
  journal_->SetOnStuck([this](bool for_good) {
    if (for_good) engine_.DropUndurable();
    if (abandon_ != Abandon::kAlways) abandon_ = for_good ? Abandon::kAlways : Abandon::kOnce;
  });
}

Broker::~Broker() {
  leaving_.clear();
  connections_.clear();
}

Status Broker::Start() { return journal_->Start(engine_.records(), *this); }

Connection* Broker::Accept(Ear& ear) {
  return connections_.emplace_back(std::make_unique<Connection>(*this, ++accepted_, ear)).get();
}

void Broker::Break(std::uint64_t id) {
  for (const auto& each : connections_) {
    if (each->peer().id == id) each->Break();
  }
}

ConnectionList::Entry Broker::Next(int fd) const {
  for (const auto& each : connections_) {
    if (each->peer().fd >= fd) return {.peer = &each->peer()};
  }
  return {};
}

bool Broker::HasNotice() const {
  if (journal_->NotifyFd() < 0) return false;
  pollfd ready{.fd = journal_->NotifyFd(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

void Broker::TakeNotice() {
  if (HasNotice()) journal_->OnNotify();
}

void Broker::SetWriter(std::function<Time()> work, std::function<Time()> after) {
  write_ = std::move(work);
  write_after_ = std::move(after);
  write_at_ = Now();
}

void Broker::HandOver() {
  journal_->Flush(Now());
  if (write_ && journal_->WaitingBytes() > 0) {
    write_at_ = std::min(write_at_, Now() + write_after_());
  }
}

// It works beside the loop: what it has done is seen when the loop looks.
void Broker::RunWriter() {
  if (write_at_ > Now()) return;
  const Time due = write_();
  write_at_ = due == kNever ? kNever : Now() + std::max<Time>(due, 0);
}

bool Broker::CloseLeaving() {
  std::erase_if(leaving_, [](const auto& each) { return each->Leave(); });
  return !leaving_.empty();
}

void Broker::FlushAll() {
  for (std::size_t i = 0; i < connections_.size();) {
    if (!alive_()) return;
    const bool given_up = abandon_ != Abandon::kNone && connections_[i]->held();
    if (!given_up && connections_[i]->Flush()) {
      ++i;
      continue;
    }
    std::unique_ptr<Connection> last = std::move(connections_[i]);
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    if (last->ear() != nullptr) last->ear()->OnClosed();
    last->SetEar(nullptr);
    if (!last->Leave()) leaving_.push_back(std::move(last));
  }
  if (abandon_ == Abandon::kOnce) abandon_ = Abandon::kNone;
}

void Broker::Round() {
  answered_ = false;
  RunWriter();
  if (!alive_()) return;
  TakeNotice();
  const bool runs = MayServe() && !leaves_;
  for (std::size_t i = 0; runs && i < connections_.size(); ++i) connections_[i]->Run();
  bool more = CloseLeaving();
  next_due_ = journal_->Tick(Now());
  if (over_) return;
  if (MayServe() && !leaves_) next_due_ = std::min(next_due_, engine_.Tick(Now()));
  HandOver();
  if (!alive_() || over_) return;
  FlushAll();
  // Those that were closed have left jobs behind.
  HandOver();
  for (const auto& each : connections_) more = more || (runs && each->runnable());
  next_due_ = std::min(next_due_, write_at_);
  if (more || HasNotice() || !leaving_.empty()) next_due_ = Now();
}

Time Broker::NextDue(Time now, std::int64_t drift) const {
  if (next_due_ == kNever) return kNever;
  const Time left = std::max<Time>(next_due_ - Now(), 0);
  return now + left - (drift == 0 ? 0 : left / (kMillion + drift) * drift);
}

void Broker::OnServing() {
  serving_ = true;
  engine_.Tick(Now());
}

void Broker::OnSuspended(bool isolated) {
  frozen_ = true;
  if (!isolated) return;
  for (const auto& each : connections_) each->Break();
}

void Broker::Leave() {
  leaves_ = true;
  HangUp();
  journal_->Leave([this] { has_left_ = true; });
}

void Broker::HangUp() {
  for (const auto& each : connections_) {
    if (each->ear() != nullptr) each->ear()->OnClosed();
    each->SetEar(nullptr);
  }
  engine_.Stop();
  connections_.clear();
  leaving_.clear();
}

Status Broker::Stop() {
  engine_.Stop();
  connections_.clear();
  leaving_.clear();
  return journal_->Close();
}

std::string Broker::CheckInvariants() const {
  std::vector<const Consumer*> consumers;
  for (const auto* list : {&connections_, &leaving_}) {
    for (const auto& each : *list) {
      const auto* consumer = dynamic_cast<const Consumer*>(each->session());
      if (consumer != nullptr) consumers.push_back(consumer);
    }
  }
  return engine_.CheckInvariants(consumers);
}

bool Broker::AnyUnsent() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each->unsent(); });
}

}  // namespace gearstalk::simulation
