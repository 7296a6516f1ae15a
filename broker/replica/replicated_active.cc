// The part of a reign's life in which this broker leads: from the acquire to the end.

#include <algorithm>
#include <optional>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/threads.h"
#include "broker/replica/replicated_journal.h"

namespace gearstalk {
namespace {

constexpr Time kFullPause = kSecond;            // before a batch is sent again
constexpr Time kTrimPause = 50 * kMillisecond;  // between deletions
constexpr Time kIdleTrimPause = 300 * kSecond;  // beats make history, too
constexpr Time kRefusedPause = kSecond;
constexpr Time kStandbyLookPause = kSecond;

}  // namespace

void ReplicatedJournal::Acquire() {
  was_ = std::exchange(role_, Role::kAcquiring);
  ++reign_.attempt;
  reign_.epoch = std::max(seen_.leader.epoch, follower_.epoch()) + 1;
  // One that is refused is tried each second.
  if (no_lead_.ok()) {
    Log(LogLevel::kInfo, "acquiring the shard",
        {{"epoch", reign_.epoch},
         {"last_leader", seen_.leader_at == 0 ? "-" : seen_.leader.broker}});
  }
  // A leader that held on without beats may act for its whole lease, because nobody has watched its
  // beats.
  const bool held = seen_.leader_at != 0 && !seen_.leader.vacant && seen_.beat_at == 0;
  const Time wait = held ? seen_.leader.lease : 0;
  store_->Acquire(seen_, reign_,
                  [this, wait](const StoreResult& result, const LogStore::Acquired& acquired) {
                    OnAcquired(result, acquired, wait);
                  });
}

void ReplicatedJournal::OnAcquired(const StoreResult& result, const LogStore::Acquired& acquired,
                                   Time wait) {
  if (role_ == Role::kOver) return;
  if (!result.done()) {
    role_ = was_;
    must_look_ = true;
    if (result.answer == StoreAnswer::kFull) {
      silence_.OnRefused(boot());
      no_lead_ = NoSpace(result.why, words());
      Log(LogLevel::kError, words().name + " has no space for a new leader",
          {{"error", result.why.message()}});
    } else if (result.answer == StoreAnswer::kRefused) {
      acquire_from_ = boot() + kRefusedPause;
      if (no_lead_.message() != result.why.message()) {
        Log(LogLevel::kError, "this broker cannot lead", {{"error", result.why.message()}});
      }
      no_lead_ = result.why;
    } else if (result.answer != StoreAnswer::kFenced) {
      Fail(result);
    }
    if (leave_done_) FinishLeaving();
    return;
  }
  store_->StopFollowing();
  watching_ = false;
  watch_again_ = kNever;
  fence_ = acquired.fence;
  serve_from_ = boot() + wait;
  tenure_ = Tenure(reign_.lease, acquired.sent);
  read_again_ = false;
  read_at_ = acquired.at;
  read_to_ = acquired.last;
  role_ = Role::kCatchingUp;
  no_lead_ = may_not_write_ = {};
  ++replica_.takeovers;
  Log(LogLevel::kInfo, "this broker leads; reading the rest of the journal",
      {{"epoch", reign_.epoch},
       {"parts", acquired.last + 1 - std::min(acquired.last + 1, follower_.next())}});
  if (leave_done_) return FinishLeaving();
  ReadPage();
}

// The state is complete. The first batch of the reign tells other brokers which ids are taken and,
// by its epoch, that an unfinished batch before it is void.
void ReplicatedJournal::BecomeActive() {
  role_ = Role::kActive;
  standby_seen_ = boot();  // so that a standby has time to show itself
  writer_.Begin(reign_.epoch, follower_.next(), follower_.chain(), follower_.last());
  BeginSegment(true);
  events_->OnActive();
  log_.AppendSettings();
  log_.compactor().EarnFromStart();
  barrier_ = writer_.last();
}

void ReplicatedJournal::BeginSegment(bool barrier) {
  const std::uint64_t segment = space_.segment() + 1;
  writer_.BeginSegment(segment, barrier);
  space_.Begin(segment);
}

Lsn ReplicatedJournal::Append(const Record& record) {
  GS_DCHECK(OnLoop());
  // The batch in flight may already say that it is the last one.
  if (role_ != Role::kActive || leave_done_) return writer_.last() + 1;  // never durable
  ++stats_.appends;
  stats_.appended_bytes += log_.Append(record).bytes;
  return writer_.last();
}

Compactor::Frame ReplicatedJournal::Write(const Record& record) {
  return space_.OnFrame(record, writer_.Append(record));
}

std::optional<std::uint64_t> ReplicatedJournal::RoomIfFull() const {
  const std::uint64_t used = space_.bytes() + writer_.waiting_bytes();
  if (used < options_.max_bytes / 8 * 7) return std::nullopt;
  return options_.max_bytes - std::min(options_.max_bytes, used);
}

bool ReplicatedJournal::Accepts(Record::Kind kind) const {
  if (role_ != Role::kActive || releasing_ || !full_.ok()) return false;
  const std::uint64_t bytes = space_.bytes() + writer_.waiting_bytes();
  if (bytes < options_.max_bytes / 8 * 7) return true;
  return kind == Record::Kind::kDelete && bytes < options_.max_bytes;
}

// 2^30 for each reign, from 1.5 * 2^52 on: those below are of journals on a disk, whose jobs may
// have been imported.
std::uint64_t ReplicatedJournal::SpareIds() const {
  constexpr std::uint64_t kFirst = kFirstSpareId + kFirstSpareId / 2;
  const bool needed = role_ == Role::kActive && !Accepts(Record::Kind::kDelete);
  return needed ? kFirst + (reign_.epoch << 30U) : 0;
}

Status ReplicatedJournal::Health() const {
  if (role_ == Role::kOver) return {Code::kJournal, "this broker does not lead any more"};
  if (!full_.ok()) return full_;
  if (role_ == Role::kActive && !releasing_ && !Accepts(Record::Kind::kPut)) {
    return {Code::kJournal, "replica.max_bytes is reached"};
  }
  return {};
}

bool ReplicatedJournal::MayServe() const {
  return role_ == Role::kActive && serving_ && !releasing_ &&
         tenure_.At(boot()) == Tenure::State::kActive;
}

void ReplicatedJournal::ActiveTick(Time now) {
  if (now >= tenure_.next_beat() && !beating_ && !releasing_) Beat(now);
  NoteTenure(now);
  if (role_ != Role::kActive) return;
  if (log_.HasUnburied() && MayServe()) log_.BuryLost();
  if (now >= send_again_) {
    send_again_ = kNever;
    SendPart();
  }
  Trim(now);
  if (now >= look_for_standby_) LookForStandby();
  if (leave_done_) FinishLeaving();
}

// A standby that has caught up writes its key every few seconds.
void ReplicatedJournal::LookForStandby() {
  look_for_standby_ = kNever;
  store_->Look([this](const StoreResult& result, const LogView& view) {
    look_for_standby_ = boot() + kStandbyLookPause;
    if (!leads() || !result.done()) return;
    if (std::exchange(standby_at_, view.standby_at) != view.standby_at) standby_seen_ = boot();
  });
}

Time ReplicatedJournal::NextActiveTick() const {
  if (!leads()) return kNever;
  Time next = send_again_;
  if (!serving_ && boot() < serve_from_) next = std::min(next, serve_from_);
  if (!beating_ && !releasing_) next = std::min(next, tenure_.next_beat());
  if (role_ != Role::kActive) return next;
  if (!trimming_ && !releasing_) next = std::min(next, next_trim());
  next = std::min(next, look_for_standby_);
  if (told_ == Tenure::State::kActive) next = std::min(next, tenure_.deadline());
  if (told_ == Tenure::State::kSuspended) next = std::min(next, tenure_.isolated_at());
  return next;
}

void ReplicatedJournal::Beat(Time now) {
  beating_ = true;
  tenure_.NoteBeat(now);
  store_->Beat(fence_, reign_.epoch,
               [this](const StoreResult& result, Time sent) { OnBeatAnswer(result, sent); });
}

void ReplicatedJournal::OnBeatAnswer(const StoreResult& result, Time sent) {
  beating_ = false;
  if (!leads()) return;
  if (!result.done()) return Fail(result);
  answered_ = boot();
  tenure_.Confirm(sent);
  NoteTenure(boot());
}

// Serves clients once the first batch of the reign is durable. Not while leaving: another broker
// may lead already when the last beat is confirmed.
void ReplicatedJournal::ServeIfReady(Time now) {
  told_ = tenure_.At(now);
  if (leave_done_ || releasing_) return;
  if (told_ != Tenure::State::kActive || now < serve_from_ || writer_.durable() < barrier_) return;
  serving_ = true;
  events_->OnServing();
}

// Reports deadlines that have passed, and those that were moved.
void ReplicatedJournal::NoteTenure(Time now) {
  if (role_ != Role::kActive) return;
  if (!serving_) return ServeIfReady(now);
  const Tenure::State state = tenure_.At(now);
  if (state == told_) return;
  if (told_ == Tenure::State::kActive) {
    ++replica_.suspensions;
    suspended_at_ = tenure_.deadline();
    Log(LogLevel::kWarning, "suspended: no beat was confirmed in time",
        {{"error", store_->Stats().trouble}});
  }
  if (state == Tenure::State::kIsolated) {
    Log(LogLevel::kError, "isolated from " + words().name + ": closing all connections");
  }
  if (state == Tenure::State::kActive) {
    past_suspended_ += now - suspended_at_;
    suspended_at_ = 0;
    Log(LogLevel::kInfo, "active again");
  }
  told_ = state;
  state == Tenure::State::kActive ? events_->OnResumed()
                                  : events_->OnSuspended(state == Tenure::State::kIsolated);
}

void ReplicatedJournal::Flush(Time now) {
  wall_now_ = now;
  if (role_ != Role::kActive || releasing_) return;
  if (!leave_done_) Compact();
  writer_.EndRound();
  if (!writer_.in_flight()) Send();
  bodies_.Send(fence_);
  if (leave_done_ || !space_.SegmentIsFull(log_.settings_bytes(), options_.max_bytes)) return;
  BeginSegment(false);
  log_.AppendSettings();
}

void ReplicatedJournal::Compact() {
  if (full_.ok()) log_.CarryForward();
  if (log_.DropDone() > 0) space_.Drop(writer_.last());
  if (space_.Declare(writer_.durable())) writer_.WantHeader();
}

void ReplicatedJournal::Send() {
  if (!writer_.Ready() || send_again_ != kNever) return;
  writer_.NextPart(wall_now_, space_.oldest(), leave_done_ != nullptr);
  SendPart();
}

void ReplicatedJournal::SendPart() {
  part_sent_ = boot();
  store_->Append(fence_, writer_.seq(), writer_.part(), writer_.header().oldest,
                 [this](const StoreResult& result) { OnAppended(result); });
}

void ReplicatedJournal::OnAppended(const StoreResult& result) {
  if (role_ != Role::kActive) return;
  answered_ = boot();
  if (result.answer == StoreAnswer::kFull) return NoteFull(result.why);
  if (!result.done()) return Fail(result);
  if (!full_.ok()) {
    full_ = {};
    Log(LogLevel::kInfo, words().name + " has space again");
  }
  OnPartCommitted();
}

void ReplicatedJournal::OnPartCommitted() {
  ++stats_.syncs;
  stats_.sync_times.Add(boot() - part_sent_);
  const PartHeader header = writer_.header();
  const std::size_t size = writer_.part().size();
  space_.OnStored(header.segment, header.seq, size,
                  {static_cast<std::uint32_t>(size - kPartHeaderSize)});
  space_.OnDeclared(header.oldest);
  writer_.OnCommitted();
  const bool whole = !writer_.InBatch();
  // The store works on the next part while the replies that waited for this one are sent.
  if (!whole || !writer_.InRound()) Send();
  if (!whole) return;
  ++stats_.batches;
  if (!serving_) ServeIfReady(boot());
  if (on_durable_) on_durable_(writer_.durable());
}

// The part in flight is not in the store: keeps it, and sends it again later.
void ReplicatedJournal::NoteFull(const Status& why) {
  send_again_ = boot() + kFullPause;
  if (!full_.ok()) return;
  full_ = NoSpace(why, words());
  Log(LogLevel::kError, full_.message());
  if (on_stuck_) on_stuck_(false);
}

// Beats may add to the store's history, which is compacted even when there is nothing to delete.
Time ReplicatedJournal::next_trim() const {
  return last_trim_ + (space_.declared() > trimmed_ ? kTrimPause : kIdleTrimPause);
}

// Runs one deletion at a time, concurrently with appends.
void ReplicatedJournal::Trim(Time now) {
  if (trimming_ || releasing_ || now < next_trim()) return;
  trimming_ = true;
  const std::uint64_t below = std::min(space_.declared(), OldestNeeded());
  store_->Trim(fence_, below, [this, below](const StoreResult& result, bool more) {
    OnTrimmed(result, more, below);
  });
}

void ReplicatedJournal::OnTrimmed(const StoreResult& result, bool more, std::uint64_t below) {
  trimming_ = false;
  if (role_ != Role::kActive) return;
  if (!result.done()) return Fail(result);
  last_trim_ = boot();
  if (more) return;
  trimmed_ = below;
  space_.OnTrimmed(below);
}

// From here on nothing is appended; releases the shard when everything is durable.
void ReplicatedJournal::Leave(std::function<void()> done) {
  leave_done_ = std::move(done);
  FinishLeaving();
}

void ReplicatedJournal::FinishLeaving() {
  if (releasing_ || role_ == Role::kAcquiring) return;
  if (!leads()) return std::exchange(leave_done_, nullptr)();
  if (role_ == Role::kActive) {
    if (!writer_.in_flight()) Send();
    if (writer_.in_flight() || writer_.durable() < writer_.last()) return;
  }
  releasing_ = true;
  if (boot() < serve_from_) {
    // A release would let another broker acquire the shard at once, while the broker before this
    // one may still act.
    role_ = Role::kOver;
    return std::exchange(leave_done_, nullptr)();
  }
  store_->Release(fence_, reign_, [this](const StoreResult&) {
    role_ = Role::kOver;
    std::exchange(leave_done_, nullptr)();
  });
}

}  // namespace gearstalk
