// Log lines, events and metrics of a broker that shares its journal.

#include <algorithm>
#include <utility>

#include "broker/base/log.h"
#include "broker/replica/replicated_journal.h"

namespace gearstalk {
namespace {

constexpr Time kTellPause = kSecond;
constexpr Time kTellTroublePause = 10 * kSecond;
constexpr char kAppendWaits[] = "an append is not answered";

}  // namespace

// Warns once; a node reports the size of its file when it is first reached.
void ReplicatedJournal::WarnOfLargeFile(const StoreStats& store) {
  if (large_told_) return;
  for (const EndpointStats& each : store.endpoints) {
    if (each.db_bytes <= options_.max_bytes) continue;
    large_told_ = true;
    Log(LogLevel::kWarning,
        "the file of " + words().name +
            " is larger than replica.max_bytes: its quota should be twice that and 1 GiB; "
            "defragmenting makes the file smaller",
        {{"endpoint", each.name}, {"bytes", each.db_bytes}, {"max_bytes", options_.max_bytes}});
  }
}

void ReplicatedJournal::TellProgress(Time now) {
  const bool caught_up = CaughtUp(now);
  const bool changed = caught_up != std::exchange(told_caught_up_, caught_up);
  if (!changed && now < tell_again_) return;
  tell_again_ = now + kTellPause;
  events_->OnFollowing(caught_up);
}

// Logs a line each 10 s while the store does not answer, and one about its files.
void ReplicatedJournal::TellOfStore(Time now) {
  if (now < tell_of_store_) return;
  tell_of_store_ = now + kTellPause;
  const StoreStats store = store_->Stats();
  WarnOfLargeFile(store);
  const std::string trouble = store.trouble.empty() && IsStuck(now) ? kAppendWaits : store.trouble;
  if (trouble.empty()) {
    trouble_since_ = 0;
  } else if (trouble_since_ == 0) {
    trouble_since_ = now - kTellTroublePause + kTellPause;
  } else if (now >= trouble_since_ + kTellTroublePause) {
    trouble_since_ = now;
    Log(LogLevel::kWarning, "no answer from " + words().name, {{"error", trouble}});
  }
}

// Beats may be answered although nothing can be written.
bool ReplicatedJournal::IsStuck(Time now) const {
  return role_ == Role::kActive && writer_.in_flight() && send_again_ == kNever &&
         now > part_sent_ + reign_.lease;
}

// Why this broker cannot lead or follow; empty: it can.
std::string ReplicatedJournal::Trouble(const StoreStats& store, Time now) const {
  const bool unanswered = now > answered_ + std::max(silence_.lease(), options_.lease) / 2;
  const Status& no_lead = no_lead_.ok() ? may_not_write_ : no_lead_;
  if (!no_lead.ok() && (!unanswered || role_ == Role::kStarting)) {
    return "this broker cannot lead: " + no_lead.message();
  }
  if (!unanswered && !IsStuck(now)) return "";
  return "no answer from " + words().name + ": " +
         (!store.trouble.empty() ? store.trouble
          : unanswered           ? "no call is answered"
                                 : kAppendWaits);
}

const ReplicaStats& ReplicatedJournal::Replica() const {
  const StoreStats store = store_->Stats();
  const Time now = boot();
  replica_.store = words().name;
  replica_.role = role_;
  replica_.suspended =
      role_ == Role::kActive && serving_ && tenure_.At(now) != Tenure::State::kActive;
  replica_.stuck = IsStuck(now);
  replica_.isolated = replica_.suspended && tenure_.At(now) == Tenure::State::kIsolated;
  replica_.caught_up = leads() ? now < standby_seen_ + kStandbyAway : CaughtUp(now);
  replica_.leader = leads() ? options_.name : seen_.leader.broker;
  replica_.leader_address = leads() ? options_.address : seen_.leader.address;
  replica_.leader_known = leads() || (seen_.leader_at != 0 && !seen_.leader.vacant);
  replica_.epoch = leads() ? reign_.epoch : seen_.leader.epoch;
  if (leads()) replica_.clock_skew = 0;
  replica_.lease_left = leads() ? std::max<Time>(0, tenure_.deadline() - now) : 0;
  const std::uint64_t unread = sight_.last + 1 - std::min(sight_.last + 1, follower_.next());
  replica_.behind_batches = leads() ? 0 : follower_.behind() + unread;
  replica_.append_retries = store.append_retries;
  replica_.log_bytes = space_.bytes();
  replica_.max_bytes = options_.max_bytes;
  replica_.trouble = Trouble(store, now);
  replica_.suspended_time = past_suspended_ + (suspended_at_ != 0 ? now - suspended_at_ : 0);
  replica_.endpoints = store.endpoints;
  replica_.server = store.server;
  return replica_;
}

JournalStats ReplicatedJournal::Stats() const {
  JournalStats stats = stats_;
  stats.failed = role_ == Role::kOver;
  stats.full = !Health().ok() && !stats.failed;
  return stats;
}

SegmentStats ReplicatedJournal::Segments() const {
  SegmentStats stats;
  log_.compactor().Describe(stats);
  stats.size = LogSpace::kSegmentBytes;
  stats.stored_bytes = space_.bytes();
  return stats;
}

}  // namespace gearstalk
