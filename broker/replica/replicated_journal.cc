#include "broker/replica/replicated_journal.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/status.h"

namespace gearstalk {
namespace {

constexpr int kMostDoublings = 3;                 // doublings of a watch's patience
constexpr std::uint64_t kReadAhead = 16 << 20;    // bytes read and not applied
constexpr Time kSlice = 2 * kMillisecond;         // of a round, for applying
constexpr Time kWatchPause = 100 * kMillisecond;  // before a watch that ended is opened again
constexpr Time kJitter = 20 * kMillisecond;       // before a vacant shard is acquired
constexpr Time kSkewWarning = kSecond;
constexpr Time kLookPause = kSecond / 2;  // between looks at how far the log goes
constexpr Time kAnnouncePause = 3 * kSecond;
constexpr Time kFoundPause = kSecond;  // before a shard is founded that had no space

}  // namespace

Reign NewReign(const ReplicaOptions& options) {
  Reign reign;
  reign.broker = options.name;
  reign.address = options.address;
  for (int half = 0; half < 2; ++half) {
    absl::StrAppend(&reign.id, absl::Hex(options.random(), absl::kZeroPad16));
  }
  reign.lease = options.lease;
  return reign;
}

ShardMeta NewShard(const ReplicaOptions& options) {
  const absl::Time now = absl::FromUnixNanos(options.wall());
  return {kReplicaFormat, 0, options.server_name,
          absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone())};
}

// Of a journal that was there: nobody deletes these keys.
Status CheckKeys(const LogView& view, bool had_leader, bool had_parts, const StoreWords& words) {
  const char* const missing = view.meta_at == 0                   ? "meta"
                              : had_leader && view.leader_at == 0 ? "leader"
                              : had_parts && view.tail_at == 0    ? "tail"
                                                                  : nullptr;
  return missing == nullptr ? Status() : KeyIsMissing(missing, words);
}

Status NoSpace(const Status& why, const StoreWords& words) {
  return {Code::kJournal, words.name + " has no space: " + why.message() + "; " + words.make_room +
                              " (docs/replication.md)"};
}

ReplicatedJournal::ReplicatedJournal(ReplicaOptions options, std::unique_ptr<LogStore> store)
    : options_(std::move(options)), store_(std::move(store)), reign_(NewReign(options_)) {}

Status ReplicatedJournal::Start(LiveState& state, JournalEvents& events) {
  GS_CHECK(state_ == nullptr);
  state_ = &state;
  log_.SetState(state);
  events_ = &events;
  store_->Open([this](const StoreResult& result) { result.done() ? FirstLook() : Fail(result); });
  return {};
}

void ReplicatedJournal::FirstLook() {
  store_->Look([this](const StoreResult& result, const LogView& view) {
    if (role_ != Role::kStarting) return;
    if (!result.done()) return Fail(result);
    if (view.meta_at != 0) return LookAtEnd(view);
    if (Status status = CheckImport(view, words()); !status.ok()) return Over(status, 1);
    LookForRemains(view);
  });
}

void ReplicatedJournal::LookForRemains(const LogView& view) {
  store_->Read(1, 1, view.at, [this](const StoreResult& result, const std::vector<LogPart>& parts) {
    if (role_ != Role::kStarting) return;
    if (result.answer == StoreAnswer::kTrimmed) return FirstLook();
    if (!result.done()) return Fail(result);
    if (Status status = CheckRemains(parts, words()); !status.ok()) return Over(status, 1);
    Found();
  });
}

void ReplicatedJournal::Found() {
  store_->Found(NewShard(options_), [this](const StoreResult& result) {
    if (role_ != Role::kStarting) return;
    if (result.answer == StoreAnswer::kFull) {
      no_lead_ = NoSpace(result.why, words());
      found_again_ = boot() + kFoundPause;
      return;
    }
    no_lead_ = {};
    if (result.done()) {
      Log(LogLevel::kInfo, "there was no journal " + words().within + " the " + words().shard +
                               ": this broker has founded one");
    }
    // kFenced: another broker founded it first.
    if (result.done() || result.answer == StoreAnswer::kFenced) return FirstLook();
    Fail(result);
  });
}

Status ReplicatedJournal::CheckMeta(const ShardMeta& meta) const {
  GS_TRY(CheckFormat(meta.format));
  if (meta.server_name != options_.server_name) {
    return {Code::kInvalid, "server_name: this shard belongs to '" + meta.server_name +
                                "', not to '" + options_.server_name +
                                "'; all brokers of a shard have the same server_name"};
  }
  return {};
}

// A tail that was set back hides acknowledged batches, so it is compared with the last parts.
void ReplicatedJournal::LookAtEnd(const LogView& view) {
  if (Status status = CheckMeta(view.meta); !status.ok()) {
    return Over(status, status.code() == Code::kInvalid ? 2 : 1);
  }
  store_->Read(std::max<std::uint64_t>(view.last, 1), 2, view.at,
               [this, view](const StoreResult& result, const std::vector<LogPart>& end) {
                 if (role_ != Role::kStarting) return;
                 if (result.answer == StoreAnswer::kTrimmed) return FirstLook();
                 if (!result.done()) return Fail(result);
                 if (Status status = CheckTail(view, end); !status.ok()) return Over(status, 1);
                 OnFirstLook(view);
               });
}

void ReplicatedJournal::OnFirstLook(const LogView& view) {
  const Time now = boot();
  role_ = Role::kReading;
  answered_ = now;
  follower_.Begin(view.oldest);
  space_.OnOldest(view.oldest);
  read_at_ = seen_at_ = view.at;
  read_to_ = view.last;
  last_event_ = now;
  NoteReign(view.leader, view.leader_at);
  NoteBeat(view.beat_at, view.at);
  seen_ = view;
  ahead_ = sight_ = {now, options_.wall(), view.last};
  silence_.OnLook(now);
  ReadPage();
}

// Asks for the next page, unless there is enough to do.
void ReplicatedJournal::ReadPage() {
  if (page_asked_ || read_again_ || !reading() || follower_.next() > read_to_) return;
  // A batch that is not whole yet, however large, is not waiting to be applied.
  if (follower_.waiting_bytes() - follower_.open_bytes() > kReadAhead) return;
  page_asked_ = true;
  store_->Read(follower_.next(), page_.parts(), read_at_,
               [this](const StoreResult& result, const std::vector<LogPart>& parts) {
                 OnPage(result, parts);
               });
}

void ReplicatedJournal::OnPage(const StoreResult& result, const std::vector<LogPart>& parts) {
  page_asked_ = false;
  answered_ = boot();
  if (!reading()) return;
  if (result.answer == StoreAnswer::kTrimmed && role_ == Role::kReading) return ReadAgain();
  if (!result.done()) return Fail(result);
  if (parts.empty()) {
    return Over({Code::kCorrupt, PartName(follower_.next()) + ": is missing"}, 1);
  }
  std::uint64_t bytes = 0;
  for (const LogPart& part : parts) {
    bytes += part.bytes.size();
    Take(part);
  }
  page_.OnPage(bytes);
  ReadPage();
}

// The revision at which this broker reads was compacted. Reads on at a later one if the next part
// is still there: otherwise a long journal under load would never be read to its end.
void ReplicatedJournal::ReadAgain() {
  read_again_ = must_look_ = true;
  watch_again_ = kNever;
}

void ReplicatedJournal::ReadOn(const LogView& view) {
  read_again_ = false;
  if (view.oldest > follower_.next()) return Fail({StoreAnswer::kTrimmed, {}});
  role_ = Role::kReading;
  read_at_ = seen_at_ = view.at;
  read_to_ = view.last;
  ReadPage();
}

void ReplicatedJournal::Take(const LogPart& part) {
  if (role_ == Role::kOver) return;
  if (Status status = follower_.Take(part); !status.ok()) Over(status, 1);
}

// Applies for a bounded time; true: there is more to apply.
bool ReplicatedJournal::ApplySlice(Time now) {
  const Status status = follower_.Apply([&] { return boot() >= now + kSlice; });
  if (!status.ok()) {
    Over(status, 1);
    return false;
  }
  if (!reading()) return !follower_.idle();
  ReadPage();
  if (!follower_.idle()) return true;
  if (follower_.next() <= read_to_) return false;
  if (role_ == Role::kCatchingUp) {
    if (!AwaitsBodies()) BecomeActive();
  } else {
    role_ = Role::kFollowing;
    OpenWatch();
  }
  return false;
}

Status ReplicatedJournal::OnBatch(const PartHeader& first, std::uint64_t bytes,
                                  const std::vector<std::uint32_t>& pieces) {
  if (first.segment != space_.segment()) space_.Begin(first.segment);
  space_.OnStored(first.segment, first.seq, bytes, pieces);
  space_.OnOldest(first.oldest);
  return {};
}

Status ReplicatedJournal::OnRecord(const Record& record, std::size_t size) {
  log_.compactor().OnRecord(record, space_.OnFrame(record, size));
  return Apply(record);
}

void ReplicatedJournal::OpenWatch() {
  watching_ = true;
  watch_again_ = kNever;
  last_event_ = boot();
  ++silent_watches_;
  store_->Follow(seen_at_ + 1, *this);
}

void ReplicatedJournal::NoteEvent() {
  answered_ = last_event_ = boot();
  followed_ = true;
  silent_watches_ = 0;
}

// The time at which a silent watch is opened at another endpoint. Each further watch gets more
// time, for machines that are slower than that.
Time ReplicatedJournal::silent_at() const {
  return last_event_ + (silence_.lease() / 2 << std::clamp(silent_watches_ - 1, 0, kMostDoublings));
}

void ReplicatedJournal::OnPart(LogPart part) {
  NoteEvent();
  const std::uint64_t seq = part.seq;
  Take(part);
  // It was written after the look that did not show it.
  std::optional<Time> at_most;
  if (seq > sight_.last) at_most = follower_.wall() - sight_.wall;
  skew_.OnPart(follower_.wall() - options_.wall(), at_most, boot());
  const Time skew = skew_.ahead();
  const bool was_large = std::abs(std::exchange(replica_.clock_skew, skew)) > kSkewWarning;
  if (std::abs(skew) > kSkewWarning && !was_large) {
    Log(LogLevel::kWarning, "the clock of the active broker differs from this host's",
        {{"milliseconds", std::to_string(skew / kMillisecond)}, {"leader", seen_.leader.broker}});
  }
}

void ReplicatedJournal::OnReign(const Reign& reign, Revision at) {
  NoteEvent();
  NoteReign(reign, at);
}

void ReplicatedJournal::OnBeat(Revision beat, Revision at) {
  NoteEvent();
  NoteBeat(beat, at);
}

void ReplicatedJournal::OnWatchEnd(const StoreResult& result) {
  watching_ = false;
  if (result.answer == StoreAnswer::kTrimmed && !followed_) return ReadAgain();
  if (!result.done()) return Fail(result);
  watch_again_ = boot() + kWatchPause;
}

void ReplicatedJournal::NoteReign(const Reign& reign, Revision at) {
  if (at < seen_.leader_at || (at == seen_.leader_at && at != 0)) return;
  if (reign.id != seen_.leader.id) skew_.Forget();
  seen_.leader = reign;
  seen_.leader_at = at;
  no_lead_ = {};
  const Time now = boot();
  const bool none = at == 0 || reign.vacant;
  silence_.OnReign(none, none ? options_.lease : reign.lease, now);
  acquire_from_ = now + static_cast<Time>(options_.random() % static_cast<std::uint64_t>(kJitter));
}

void ReplicatedJournal::NoteBeat(Revision beat, Revision at) {
  if (at < beat_as_of_) return;
  beat_as_of_ = at;
  if (beat == seen_.beat_at) return;
  seen_.beat_at = beat;
  if (beat != 0) no_lead_ = {};
  silence_.OnBeat(boot());
}

Time ReplicatedJournal::Tick(Time now) {
  const Time begun = boot();
  wall_now_ = now;
  bool busy = false;
  Time next = store_->Tick(begun);
  if (role_ == Role::kReading || role_ == Role::kFollowing || role_ == Role::kCatchingUp) {
    busy = ApplySlice(begun);
  }
  if (role_ == Role::kStarting) {
    if (begun >= found_again_) {
      found_again_ = kNever;
      FirstLook();
    }
    next = std::min(next, found_again_);
  }
  if (role_ == Role::kReading || role_ == Role::kFollowing) {
    FollowTick(begun);
    next = std::min(next, NextFollowTick(begun));
  } else if (leads()) {
    ActiveTick(begun);
    next = std::min(next, NextActiveTick());
  }
  if (role_ != Role::kActive && role_ != Role::kOver) {
    TellProgress(begun);
    next = std::min(next, tell_again_);
  }
  TellOfStore(begun);
  if (busy) return now;
  return next == kNever ? kNever : now + std::max<Time>(next - begun, 0);
}

void ReplicatedJournal::FollowTick(Time now) {
  if (role_ == Role::kFollowing) {
    bodies_.Send(0);
    const bool silent = watching_ && !silence_.vacant() && now >= silent_at();
    if (silent || now >= watch_again_) OpenWatch();
  }
  NoteApplied();
  if (CaughtUp(now) && now >= announce_again_ && !announcing_) Announce(now);
  const bool must = silence_.MustLook(now) || must_look_ || now >= sight_.boot + kLookPause;
  if (must && !looking_ && now >= next_look_) Look(now);
  if (silence_.MayAcquire(now) && !must_look_ && now >= acquire_from_) Acquire();
}

Time ReplicatedJournal::NextFollowTick(Time now) const {
  if (role_ != Role::kReading && role_ != Role::kFollowing) return kNever;
  Time next = watch_again_;
  if (!silence_.vacant()) {
    if (watching_) next = std::min(next, silent_at());
    if (!looking_) next = std::min(next, std::max(silence_.look_at(), next_look_));
    next = std::min(next, std::max(now + silence_.Pace(), silence_.beat() + silence_.lease()));
  } else {
    next = std::min(next, std::max(acquire_from_, now + kMillisecond));
  }
  if (looking_) return next;
  return std::min(next, must_look_ ? next_look_ : std::max(next_look_, sight_.boot + kLookPause));
}

// What a standby writes shows others that it has caught up, and itself that it may write.
void ReplicatedJournal::Announce(Time now) {
  announcing_ = true;
  announce_again_ = now + kAnnouncePause;
  store_->Announce(reign_, [this](const StoreResult& result) {
    announcing_ = false;
    const bool refused = result.answer == StoreAnswer::kRefused;
    if (refused && may_not_write_.message() != result.why.message()) {
      Log(LogLevel::kError, "this broker cannot lead", {{"error", result.why.message()}});
    }
    may_not_write_ = refused ? result.why : Status();
  });
}

// Notes whether what a look has shown is applied now.
void ReplicatedJournal::NoteApplied() {
  if (!ahead_ || !follower_.HasApplied(ahead_->last)) return;
  fresh_ = boot() < ahead_->boot + kBehind;
  ahead_.reset();
}

void ReplicatedJournal::Look(Time now) {
  looking_ = true;
  next_look_ = now + silence_.Pace();
  // The look must show at least what the watch has shown so far.
  store_->Look([this, leader_at = seen_.leader_at, next = follower_.next(),
                asked = Sight{now, options_.wall(), 0}](const StoreResult& result,
                                                        const LogView& view) {
    looking_ = false;
    if (role_ != Role::kReading && role_ != Role::kFollowing) return;
    if (!result.done()) return Fail(result);
    if (Status status = CheckKeys(view, leader_at != 0, next > 1, words()); !status.ok()) {
      return Over(status, 1);
    }
    if (view.leader_at < leader_at || view.last + 1 < next) {
      return Over(
          {Code::kJournal, "the journal in " + words().name + " was replaced by another one"}, 3);
    }
    sight_ = {asked.boot, asked.wall, view.last};
    if (!ahead_) ahead_ = sight_;
    OnLook(view);
  });
}

void ReplicatedJournal::OnLook(const LogView& view) {
  must_look_ = false;
  answered_ = boot();
  if (Status status = CheckFormat(view.meta.format); !status.ok()) return Over(status, 1);
  NoteReign(view.leader, view.leader_at);
  NoteBeat(view.beat_at, view.at);
  silence_.OnLook(boot());
  if (read_again_) ReadOn(view);
}

void ReplicatedJournal::Fail(const StoreResult& result) {
  if (role_ == Role::kOver) return;
  switch (result.answer) {
    case StoreAnswer::kDone:
    case StoreAnswer::kFull:
    case StoreAnswer::kRefused:
      return;
    case StoreAnswer::kFenced:
      if (releasing_) return;  // by its own release, whose answer ends it
      return Over({Code::kJournal, "another broker leads"}, 3);
    case StoreAnswer::kTrimmed:
      return Over({Code::kJournal, "what is to be read next has been trimmed"}, 3);
    case StoreAnswer::kFailed: {
      const bool usage = role_ == Role::kStarting && result.why.code() == Code::kInvalid;
      return Over(result.why, usage ? 2 : result.why.code() == Code::kJournal ? 3 : 1);
    }
  }
}

void ReplicatedJournal::Over(Status why, int exit_code) {
  if (role_ == Role::kOver) return;
  role_ = Role::kOver;
  store_->StopFollowing();
  events_->OnOver(std::move(why), exit_code);
}

}  // namespace gearstalk
