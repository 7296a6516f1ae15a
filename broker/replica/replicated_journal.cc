#include "broker/replica/replicated_journal.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/log.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kPage = 16;               // keys
constexpr std::uint64_t kReadAhead = 16 << 20;    // bytes read and not applied
constexpr Time kSlice = 2 * kMillisecond;         // of a round, for applying
constexpr Time kWatchPause = 100 * kMillisecond;  // before a watch that ended is opened again
constexpr Time kJitter = 20 * kMillisecond;       // before a vacant shard is acquired
constexpr Time kTellPause = kSecond;
constexpr Time kTellTroublePause = 10 * kSecond;
constexpr Time kSkewWarning = kSecond;

std::string TimeText(Time wall) {
  const auto seconds = static_cast<std::time_t>(wall / kSecond);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string RandomId(const std::function<std::uint64_t()>& random) {
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(random()),
                static_cast<unsigned long long>(random()));
  return text;
}

}  // namespace

ReplicatedJournal::ReplicatedJournal(ReplicaOptions options, std::unique_ptr<LogStore> store)
    : options_(std::move(options)), store_(std::move(store)) {
  reign_.broker = options_.name;
  reign_.address = options_.address;
  reign_.id = RandomId(options_.random);
  reign_.lease = options_.lease;
}

ReplicatedJournal::~ReplicatedJournal() = default;

Status ReplicatedJournal::Start(LiveState& state, JournalEvents& events) {
  GS_CHECK(state_ == nullptr);
  state_ = &state;
  events_ = &events;
  store_->Open([this](const StoreResult& result) { OnOpened(result); });
  return {};
}

void ReplicatedJournal::OnOpened(const StoreResult& result) {
  if (!result.done()) return Fail(result);
  FirstLook();
}

void ReplicatedJournal::FirstLook() {
  store_->Look([this](const StoreResult& result, const LogView& view) {
    if (role_ != Role::kStarting) return;
    if (!result.done()) return Fail(result);
    if (view.meta_at != 0) return OnFirstLook(view);
    const ShardMeta meta{kReplicaFormat, 0, options_.server_name, TimeText(options_.wall())};
    store_->Found(meta, [this](const StoreResult& founded) {
      // Another broker may have been faster.
      if (founded.done() || founded.answer == StoreAnswer::kFenced) return FirstLook();
      Fail(founded);
    });
  });
}

Status ReplicatedJournal::CheckMeta(const ShardMeta& meta) const {
  if (meta.format > kReplicaFormat) {
    return {Code::kCorrupt, "the replicated journal has format " + std::to_string(meta.format) +
                                "; this gearstalkd knows formats up to " +
                                std::to_string(kReplicaFormat) + ": upgrade it"};
  }
  if (meta.server_name != options_.server_name) {
    return {Code::kInvalid, "server_name: this shard belongs to '" + meta.server_name +
                                "', not to '" + options_.server_name +
                                "'; all brokers of a shard have the same server_name"};
  }
  return {};
}

void ReplicatedJournal::OnFirstLook(const LogView& view) {
  if (Status status = CheckMeta(view.meta); !status.ok()) {
    return Over(status, status.code() == Code::kInvalid ? 2 : 1);
  }
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
  silence_.OnLook(now);
  ReadPage();
}

// Once; a node tells the size of its file as soon as it is reached.
void ReplicatedJournal::WarnOfLargeFile(const StoreStats& store) {
  if (large_told_) return;
  for (const EndpointStats& each : store.endpoints) {
    if (each.db_bytes <= options_.max_bytes) continue;
    large_told_ = true;
    Log(LogLevel::kWarning,
        "the file of etcd is larger than replica.max_bytes: its quota should be twice that and "
        "1 GiB; defragmenting makes the file smaller",
        {{"endpoint", each.name}, {"bytes", each.db_bytes}, {"max_bytes", options_.max_bytes}});
  }
}

// Asks for the next page, unless there is enough to do.
void ReplicatedJournal::ReadPage() {
  if (page_asked_ || !reading() || follower_.next() > read_to_) return;
  if (follower_.waiting_bytes() > kReadAhead) return;
  page_asked_ = true;
  store_->Read(follower_.next(), kPage, read_at_,
               [this](const StoreResult& result, std::vector<LogPart> parts) {
                 page_asked_ = false;
                 OnPage(result, std::move(parts));
               });
}

void ReplicatedJournal::OnPage(const StoreResult& result, std::vector<LogPart> parts) {
  answered_ = boot();
  if (!reading()) return;
  if (!result.done()) return Fail(result);
  if (parts.empty()) {
    return Over({Code::kCorrupt, PartName(follower_.next()) + ": is missing"}, 1);
  }
  for (LogPart& part : parts) Take(std::move(part));
  ReadPage();
}

void ReplicatedJournal::Take(LogPart part) {
  if (role_ == Role::kOver) return;
  if (Status status = follower_.Take(std::move(part)); !status.ok()) Over(status, 1);
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
    BecomeActive();
  } else {
    role_ = Role::kFollowing;
    OpenWatch();
  }
  return false;
}

Status ReplicatedJournal::OnBatch(const PartHeader& first, std::uint64_t bytes) {
  if (first.segment != space_.segment()) space_.Begin(first.segment);
  space_.OnStored(first.segment, first.seq, bytes);
  space_.OnOldest(first.oldest);
  return {};
}

Status ReplicatedJournal::OnRecord(const Record& record, std::size_t size) {
  space_.OnRecord(record, size);
  return state_->Apply(record);
}

void ReplicatedJournal::OpenWatch() {
  watching_ = true;
  watch_again_ = kNever;
  last_event_ = boot();
  store_->Follow(seen_at_ + 1, *this);
}

void ReplicatedJournal::OnPart(LogPart part) {
  answered_ = boot();
  last_event_ = boot();
  Take(std::move(part));
  const Time skew = follower_.wall() - options_.wall();
  const bool was_large = std::abs(replica_.clock_skew) > kSkewWarning;
  replica_.clock_skew = skew;
  if (std::abs(skew) > kSkewWarning && !was_large) {
    Log(LogLevel::kWarning, "the clock of the active broker differs from this host's",
        {{"milliseconds", std::to_string(skew / kMillisecond)}, {"leader", seen_.leader.broker}});
  }
}

void ReplicatedJournal::OnReign(const Reign& reign, Revision at) {
  answered_ = boot();
  last_event_ = boot();
  NoteReign(reign, at);
}

void ReplicatedJournal::OnBeat(Revision beat, Revision at) {
  answered_ = boot();
  last_event_ = boot();
  NoteBeat(beat, at);
}

void ReplicatedJournal::OnWatchEnd(const StoreResult& result) {
  watching_ = false;
  if (!result.done()) return Fail(result);
  watch_again_ = boot() + kWatchPause;
}

void ReplicatedJournal::NoteReign(const Reign& reign, Revision at) {
  if (at < seen_.leader_at || (at == seen_.leader_at && at != 0)) return;
  seen_.leader = reign;
  seen_.leader_at = at;
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
  const Time lease = silence_.lease();
  if (role_ == Role::kFollowing) {
    const bool silent = watching_ && !silence_.vacant() && now >= last_event_ + lease / 2;
    if (silent || now >= watch_again_) OpenWatch();
  }
  if ((silence_.MustLook(now) || must_look_) && !looking_ && now >= next_look_) Look(now);
  if (silence_.MayAcquire(now) && !must_look_ && now >= acquire_from_) Acquire();
}

Time ReplicatedJournal::NextFollowTick(Time now) const {
  if (role_ != Role::kReading && role_ != Role::kFollowing) return kNever;
  Time next = watch_again_;
  if (!silence_.vacant()) {
    if (watching_) next = std::min(next, last_event_ + silence_.lease() / 2);
    if (!looking_) next = std::min(next, std::max(silence_.look_at(), next_look_));
    next = std::min(next, std::max(now + silence_.Pace(), silence_.beat() + silence_.lease()));
  } else {
    next = std::min(next, std::max(acquire_from_, now + kMillisecond));
  }
  return must_look_ && !looking_ ? std::min(next, next_look_) : next;
}

void ReplicatedJournal::Look(Time now) {
  looking_ = true;
  next_look_ = now + silence_.Pace();
  // What is seen now is seen by the look, too.
  store_->Look([this, leader_at = seen_.leader_at, next = follower_.next()](
                   const StoreResult& result, const LogView& view) {
    looking_ = false;
    if (role_ != Role::kReading && role_ != Role::kFollowing) return;
    if (!result.done()) return Fail(result);
    if (view.leader_at < leader_at || view.last + 1 < next) {
      return Over({Code::kJournal, "the journal in etcd was replaced by another one"}, 3);
    }
    OnLook(view);
  });
}

void ReplicatedJournal::OnLook(const LogView& view) {
  must_look_ = false;
  answered_ = boot();
  if (view.meta.format > kReplicaFormat) return Over(CheckMeta(view.meta), 1);
  NoteReign(view.leader, view.leader_at);
  NoteBeat(view.beat_at, view.at);
  silence_.OnLook(boot());
}

void ReplicatedJournal::TellProgress(Time now) {
  const bool caught_up = role_ == Role::kFollowing && follower_.idle();
  const bool first = caught_up && !std::exchange(caught_up_, caught_up_ || caught_up);
  if (!first && now < tell_again_) return;
  tell_again_ = now + kTellPause;
  events_->OnFollowing({.records = follower_.last(),
                        .bytes = follower_.stored_bytes(),
                        .total_bytes = 0,
                        .caught_up = caught_up_});
}

// A line each 10 s while etcd does not answer, and one about its files.
void ReplicatedJournal::TellOfStore(Time now) {
  if (now < tell_of_store_) return;
  tell_of_store_ = now + kTellPause;
  const StoreStats store = store_->Stats();
  WarnOfLargeFile(store);
  const std::string& trouble = store.trouble;
  if (trouble.empty()) {
    trouble_since_ = 0;
  } else if (trouble_since_ == 0) {
    trouble_since_ = now - kTellTroublePause + kTellPause;
  } else if (now >= trouble_since_ + kTellTroublePause) {
    trouble_since_ = now;
    Log(LogLevel::kWarning, "no answer from etcd", {{"error", trouble}});
  }
}

void ReplicatedJournal::Fail(const StoreResult& result) {
  if (role_ == Role::kOver) return;
  switch (result.answer) {
    case StoreAnswer::kDone:
    case StoreAnswer::kFull:
      return;
    case StoreAnswer::kFenced:
      return Over({Code::kJournal, "another broker leads"}, 3);
    case StoreAnswer::kTrimmed:
      return Over({Code::kJournal, "what is to be read next has been trimmed"}, 3);
    case StoreAnswer::kFailed: {
      const bool usage = role_ == Role::kStarting && result.why.code() == Code::kInvalid;
      return Over(result.why, usage ? 2 : 1);
    }
  }
}

void ReplicatedJournal::Over(Status why, int exit_code) {
  if (role_ == Role::kOver) return;
  role_ = Role::kOver;
  store_->StopFollowing();
  events_->OnOver(std::move(why), exit_code);
}

const ReplicaStats* ReplicatedJournal::Replica() const {
  const StoreStats store = store_->Stats();
  const Time now = boot();
  replica_.role = role_;
  replica_.suspended =
      role_ == Role::kActive && serving_ && tenure_.At(now) != Tenure::State::kActive;
  replica_.isolated = replica_.suspended && tenure_.At(now) == Tenure::State::kIsolated;
  replica_.caught_up = caught_up_;
  replica_.leader = leads() ? options_.name : seen_.leader.broker;
  replica_.leader_address = leads() ? options_.address : seen_.leader.address;
  replica_.leader_known = leads() || (seen_.leader_at != 0 && !seen_.leader.vacant);
  replica_.epoch = leads() ? reign_.epoch : seen_.leader.epoch;
  replica_.lease_left = leads() ? std::max<Time>(0, tenure_.deadline() - now) : 0;
  replica_.behind_batches = follower_.behind();
  replica_.append_retries = store.append_retries;
  replica_.log_bytes = space_.bytes();
  replica_.max_bytes = options_.max_bytes;
  const bool unanswered = now > answered_ + std::max(silence_.lease(), options_.lease) / 2;
  replica_.trouble = !unanswered             ? ""
                     : store.trouble.empty() ? "no call is answered"
                                             : store.trouble;
  replica_.suspended_time = past_suspended_ + (suspended_at_ != 0 ? now - suspended_at_ : 0);
  replica_.endpoints.clear();
  for (const EndpointStats& each : store.endpoints) {
    replica_.endpoints.push_back({each.name, each.in_use, each.db_bytes});
  }
  return &replica_;
}

}  // namespace gearstalk
