#include "admin/metrics/attention.h"

#include <algorithm>

#include "admin/metrics/job_metrics.h"
#include "broker/engine/groups.h"
#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

constexpr Time kMinute = 60 * kSecond;
constexpr Time kHour = 60 * kMinute;
constexpr Time kDay = 24 * kHour;
constexpr std::uint32_t kRises = 5;         // minutes
constexpr std::size_t kSamples = 61;        // minutes
constexpr Time kLeastTrend = 10 * kMinute;  // that a forecast is made of
constexpr Time kRefusedLately = 10 * kMinute;
constexpr double kAlmostFull = 0.95;
constexpr std::size_t kSchedulesAtOnce = 64;

// Refusals that clients bring about themselves.
bool IsUsual(std::string_view reason) {
  return reason == "idle_timeout" || reason == "handshake_timeout" || reason == "rights";
}

bool Waits(const Tube& tube) { return tube.ready() > 0; }

// By a policy of the tube, or each of its groups that has a ready job by one of groups.
bool IsHeldBack(const Tube& tube) {
  const Groups* const groups = tube.groups();
  return tube.held_back != HeldBack::kNone ||
         (groups != nullptr && groups->gives() == 0 && groups->counts().held_back > 0);
}

bool HandsOut(const Tube& tube) { return !tube.paused() && !IsHeldBack(tube); }

// The first finding at or behind `place` that is not of an earlier tube.
template <typename List>
void Pass(const List& list, std::size_t& place, std::uint64_t tube) {
  while (place < list.size() && list[place].tube < tube) ++place;
}

}  // namespace

bool Concerns::Has(Concern kind, std::uint64_t tube) const {
  const auto& found = Of(kind);
  const auto before = [](const Finding& finding, std::uint64_t id) { return finding.tube < id; };
  const auto place = std::lower_bound(found.begin(), found.end(), tube, before);
  return place != found.end() && place->tube == tube;
}

bool Attention::StillHolds(Concern kind, const Engine& engine, const Tube& tube) {
  switch (kind) {
    case Concern::kUnserved:
      return Waits(tube) && tube.workers == 0 && HandsOut(tube) && engine.Waiting(tube) == 0;
    case Concern::kFallsBehind:
    case Concern::kSilentWorkers:
      return Waits(tube) && tube.workers > 0 && HandsOut(tube);
    case Concern::kHeldBack:
      return Waits(tube) && !tube.paused() && IsHeldBack(tube);
    case Concern::kPaused:
      return Waits(tube) && tube.paused();
    case Concern::kBuried:
      return tube.buried_lately > 0;
    default:
      return true;
  }
}

void Attention::Begin(Time now) {
  now_ = now;
  next_ = std::make_shared<Concerns>();
  next_->at = now;
  passed_ = {};
  watched_next_.clear();
  watched_passed_ = 0;
  schedules_begun_ = false;
}

void Attention::Find(Concern kind, std::uint64_t tube) {
  const auto which = static_cast<std::size_t>(kind);
  const auto& before = concerns_->by_kind[which];
  std::size_t& place = passed_[which];
  Pass(before, place, tube);
  const bool known = place < before.size() && before[place].tube == tube;
  next_->by_kind[which].push_back({tube, known ? before[place].since : now_});
}

void Attention::Look(const Tube& tube) {
  const Engine& engine = sources_.engine;
  // A standby has the jobs and no clients.
  if (!engine.journal().MayServe()) return;
  const std::uint64_t id = tube.id();
  if (StillHolds(Concern::kBuried, engine, tube)) Find(Concern::kBuried, id);
  if (!Waits(tube)) return;
  for (const Concern kind : {Concern::kUnserved, Concern::kHeldBack, Concern::kPaused}) {
    if (StillHolds(kind, engine, tube)) Find(kind, id);
  }
  if (!StillHolds(Concern::kSilentWorkers, engine, tube)) return;
  const Watched watched = Watch(tube);
  if (watched.rises >= kRises) Find(Concern::kFallsBehind, id);
  if (now_ - watched.taken_at >= kMinute) Find(Concern::kSilentWorkers, id);
  watched_next_.push_back(watched);
}

Attention::Watched Attention::Watch(const Tube& tube) {
  Pass(watched_, watched_passed_, tube.id());
  const bool known =
      watched_passed_ < watched_.size() && watched_[watched_passed_].tube == tube.id();
  Watched watched = known ? watched_[watched_passed_]
                          : Watched{.tube = tube.id(),
                                    .reserves = tube.reserves,
                                    .taken_at = now_,
                                    .minute_at = now_,
                                    .minute_ready = tube.ready(),
                                    .minute_reserves = tube.reserves,
                                    .rises = 0};
  if (tube.reserves != watched.reserves) watched.taken_at = now_;
  watched.reserves = tube.reserves;
  if (now_ - watched.minute_at < kMinute) return watched;
  const bool rises = tube.ready() > watched.minute_ready && tube.reserves > watched.minute_reserves;
  watched.rises = rises ? watched.rises + 1 : 0;
  watched.minute_at = now_;
  watched.minute_ready = tube.ready();
  watched.minute_reserves = tube.reserves;
  return watched;
}

bool Attention::LookAtSchedules() {
  const Schedules::Map& all = sources_.engine.schedules().all();
  auto at = schedules_begun_ ? all.upper_bound(last_schedule_) : all.begin();
  schedules_begun_ = true;
  for (std::size_t i = 0; i < kSchedulesAtOnce && at != all.end(); ++i, ++at) {
    const RunningSchedule& schedule = *at->second;
    last_schedule_ = at->first;
    const bool runs = schedule.configured && !schedule.off;
    if (runs && schedule.left_out) next_->schedules.push_back(at->first);
  }
  if (at != all.end()) return true;
  LookAtServer();
  watched_.swap(watched_next_);
  concerns_ = std::move(next_);
  return false;
}

// The end of a survey.
void Attention::LookAtServer() {
  const Engine& engine = sources_.engine;
  if (!next_->schedules.empty()) Find(Concern::kSchedules, 0);
  if (engine.draining()) Find(Concern::kDraining, 0);
  const JournalStats journal = engine.journal().Stats();
  const ReplicaStats& replica = engine.journal().Replica();
  // Of an active broker: no standby is close behind.
  if (replica.shared && (!replica.caught_up || !replica.trouble.empty())) {
    Find(Concern::kStandby, 0);
  }
  const std::optional<std::uint64_t> left = sources_.disk_left();
  Sample sample{now_, JobMemory() + TableMemory(), engine.journal().Segments().stored_bytes, {}};
  // New jobs are refused when no more than limits.free_disk is left.
  const DiskSpace space = engine.journal().Disk();
  std::uint64_t disk_limit = left ? sample.disk + *left - std::min(*left, space.limit) : 0;
  if (replica.shared) {
    sample.disk = replica.log_bytes;
    disk_limit = replica.max_bytes;
  }
  ForEachRefusal(engine.Stats(), sources_.facts(),
                 [&](std::string_view reason, std::uint64_t count) {
                   sample.refused.emplace_back(reason, count);
                 });
  next_->memory = Forecast(&Sample::memory, sample, engine.limits().memory);
  next_->disk = Forecast(&Sample::disk, sample, disk_limit);
  if (next_->memory.ends_in < kDay || engine.MemoryFull()) Find(Concern::kMemory, 0);
  if (next_->disk.ends_in < kDay || space.low || journal.full || journal.failed)
    Find(Concern::kDisk, 0);
  LookAtRefusals(sample);
  Keep(std::move(sample));
}

void Attention::LookAtRefusals(const Sample& sample) {
  // Before the first sample all counters were 0.
  const Sample* before = nullptr;
  for (const Sample& each : samples_) {
    if (each.at <= now_ - kRefusedLately) before = &each;
  }
  for (std::size_t i = 0; i < sample.refused.size(); ++i) {
    const auto& [reason, count] = sample.refused[i];
    const std::uint64_t earlier = before == nullptr ? 0 : before->refused[i].second;
    if (count > earlier && !IsUsual(reason)) next_->refused.emplace_back(reason, count - earlier);
  }
  if (!next_->refused.empty()) Find(Concern::kRefused, 0);
}

SpaceLeft Attention::Forecast(std::uint64_t Sample::*used, const Sample& sample,
                              std::uint64_t limit) const {
  SpaceLeft space{.used = sample.*used, .limit = limit};
  if (limit == 0) return space;
  if (static_cast<double>(space.used) >= kAlmostFull * static_cast<double>(limit)) {
    space.ends_in = 0;
    return space;
  }
  if (samples_.empty() || now_ - samples_.front().at < kLeastTrend) return space;
  const Sample& first = samples_.front();
  if (sample.*used <= first.*used) return space;
  const double pace =
      static_cast<double>(sample.*used - first.*used) / static_cast<double>(now_ - first.at);
  const double left = static_cast<double>(limit - space.used) / pace;
  if (left < static_cast<double>(kDay)) space.ends_in = static_cast<Time>(left);
  return space;
}

void Attention::Keep(Sample sample) {
  if (!samples_.empty() && now_ - samples_.back().at < kMinute) return;
  samples_.push_back(std::move(sample));
  if (samples_.size() > kSamples) samples_.pop_front();
}

}  // namespace gearstalk
