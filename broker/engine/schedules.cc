// Jobs that come by the calendar.
//
// A schedule has one planned time after the other. `planned` is the last one that is settled: its
// job was put, or it was skipped or missed. The record of a scheduled put names schedule and
// planned time, so that the job and "has run" are one record; a time that is skipped, or missed
// when it was too late, has a record of the schedule. No planned time at or before the last one is
// ever run, so neither a restart nor a step of the clock runs one twice.
//
// A run that is refused is tried again each second, until it is too late or the next planned time
// has come: then it is missed. That alone makes no record, or schedules that are refused for days
// would fill the journal; a restart counts these times anew. The wall clock is read at least each
// minute.

#include "broker/engine/schedules.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/base/log.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/producing.h"
#include "broker/engine/store.h"

namespace gearstalk {
namespace {

constexpr Time kReadClock = 60 * kSecond;  // at least this often
constexpr std::uint64_t kRunEffort = 64;  // runs, and hundreds of missed times, in one call of Tick

Record RecordOf(const RunningSchedule& schedule) {
  return {.kind = Record::Kind::kSchedule,
          .id = schedule.last_job,
          .schedule = {.name = schedule.entry.name,
                       .planned = schedule.planned,
                       .runs = schedule.runs,
                       .skipped = schedule.skipped,
                       .missed = schedule.missed,
                       .off = schedule.off,
                       .ran = schedule.ran,
                       .left_out = schedule.left_out}};
}

JobPtr MakeJob(const RunningSchedule& schedule, Time planned) {
  const Schedule& entry = schedule.entry;
  const std::string body = ScheduledBody(entry, planned, schedule.plan.zone());
  JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
  std::memcpy(job->space().data(), body.data(), body.size());
  job->priority = entry.priority;
  job->ttr_s = std::max(entry.ttr_s, 1U);
  job->delay_s = entry.delay_s;
  return job;
}

}  // namespace

const RunningSchedule* Schedules::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second.get();
}

RunningSchedule* Schedules::FindConfigured(std::string_view name) {
  const auto found = by_name_.find(name);
  const bool configured = found != by_name_.end() && found->second->configured;
  return configured ? found->second.get() : nullptr;
}

RunningSchedule& Schedules::FindOrMake(std::string_view name) {
  std::unique_ptr<RunningSchedule>& place = by_name_[std::string(name)];
  if (place == nullptr) {
    place = std::make_unique<RunningSchedule>();
    place->entry.name = name;
  }
  return *place;
}

// The schedule is due at `time`; kNever: it is not.
void Schedules::Await(RunningSchedule& schedule, Time time) { due_.Await(time, &schedule); }

// The replay may still bring the state of a schedule, so the first Tick starts the new ones.
Status Schedules::Set(Time now, const std::vector<Schedule>& entries,
                      const std::string& default_zone) {
  std::vector<Plan> plans;
  for (const Schedule& entry : entries) {
    plans.emplace_back() = GS_TRY(Plan::Of(entry, default_zone));
  }
  for (const auto& [name, schedule] : by_name_) {
    schedule->configured = false;
    Await(*schedule, kNever);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    RunningSchedule& schedule = FindOrMake(entries[i].name);
    schedule.entry = entries[i];
    schedule.plan = plans[i];
    schedule.configured = true;
  }
  if (begun_) Begin(now);
  return {};
}

void Schedules::Begin(Time now) {
  begun_ = true;
  std::erase_if(by_name_, [](const auto& each) { return !each.second->configured; });
  const Time wall = store_.options.WallTime(now);
  for (const auto& [name, schedule] : by_name_) {
    if (schedule->planned == 0) {
      schedule->planned = wall;
      Append(*schedule);
    }
    PlanNext(*schedule);
  }
  tick_ = by_name_.empty() ? kNever : now;
}

void Schedules::PlanNext(RunningSchedule& schedule) {
  schedule.compared.reset();
  schedule.next = schedule.plan.Next(schedule.planned);
  Await(schedule, schedule.next);
}

Time Schedules::RunDue(Time now) {
  if (!begun_) {
    if (store_.records.replaying()) return kNever;
    Begin(now);
    if (tick_ > now) return tick_;
  }
  const Time wall = store_.options.WallTime(now);
  std::uint64_t effort = 0;
  while (effort < kRunEffort && due_.top_time() <= wall) effort += Settle(now, wall, *due_.top());
  const Time next = due_.top_time();
  const Time wait = next <= wall     ? 0
                    : next == kNever ? kReadClock
                                     : std::min(next - wall, kReadClock);
  tick_ = now + wait;
  return tick_;
}

// If several planned times have passed, only the latest is run. Returns what it cost.
std::uint64_t Schedules::Settle(Time now, Time wall, RunningSchedule& schedule) {
  const Plan::Passed passed = schedule.plan.PassedBy(wall, schedule.next);
  // The planned times are seconds apart at least.
  if (passed.before > 0) Miss(schedule, passed.before, passed.last - kSecond);
  schedule.next = passed.last;
  const bool late = wall - schedule.next > std::max(schedule.entry.catch_up, kSecond);
  if (!schedule.off && !late && !TryRun(now, schedule)) {
    Await(schedule, wall + kTryAgain);
  } else {
    if (late || schedule.off) Miss(schedule, 1, schedule.next);
    if (late && !schedule.off) Append(schedule);
    PlanNext(schedule);
  }
  return 1 + passed.before / 100;
}

// While it is off, planned times pass without being missed.
void Schedules::Miss(RunningSchedule& schedule, std::uint64_t times, Time last) {
  schedule.planned = last;
  schedule.left_out = !schedule.off;
  if (schedule.off) return;
  schedule.missed += times;
  schedule.unrecorded = true;
  LogOfClient(LogLevel::kWarning, "a scheduled run was missed",
              {{"schedule", schedule.entry.name},
               {"planned", static_cast<std::uint64_t>(last / kSecond)},
               {"runs", times}});
}

// Runs or skips the time that comes next; false: its job is refused.
bool Schedules::TryRun(Time now, RunningSchedule& schedule) {
  if (!schedule.entry.overlap && IsUnfinished(schedule.last_job)) {
    ++schedule.skipped;
    schedule.planned = schedule.next;
    schedule.left_out = true;
    Append(schedule);
    return true;
  }
  return Put(now, schedule, schedule.next, /*by_plan=*/true).ok() && !Waits(schedule.compared);
}

bool Schedules::IsUnfinished(JobId id) const {
  const Job* const job = store_.jobs.Find(id);
  return job != nullptr && job->state() != JobState::kBuried;
}

// A record of a job that an operator asked for must not say that a planned time has run.
Outcome Schedules::Put(Time now, RunningSchedule& schedule, Time planned, bool by_plan) {
  const Schedule& entry = schedule.entry;
  JobPtr job = MakeJob(schedule, planned);
  const JobId before = store_.ids.next();
  const Record::Schedule made_by{.name = entry.name, .planned = by_plan ? planned : 0};
  const Added added =
      producing_.PutInto(now, entry.tube, std::move(job), &schedule.compared, &made_by);
  if (added.ok() && Waits(schedule.compared)) return {};
  schedule.compared.reset();
  if (!added.ok()) return {added.code};
  schedule.last_job = added.id;
  ++schedule.runs;
  if (by_plan) {
    schedule.planned = schedule.ran = planned;
    schedule.left_out = false;
  }
  // A duplicate has no record of its own.
  const bool duplicate = added.id < before;
  return {Code::kOk, duplicate || schedule.unrecorded ? Append(schedule) : added.lsn};
}

Outcome Schedules::Run(Time now, std::string_view name) {
  RunningSchedule* const schedule = FindConfigured(name);
  if (schedule == nullptr) return {Code::kNotFound};
  if (!schedule->entry.overlap && IsUnfinished(schedule->last_job)) return {Code::kInUse};
  const Time time = std::min(store_.options.WallTime(now), schedule->planned);
  return Put(now, *schedule, time, /*by_plan=*/false);
}

Outcome Schedules::Switch(Time now, std::string_view name, bool on) {
  RunningSchedule* const schedule = FindConfigured(name);
  if (schedule == nullptr) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kSchedule)) return {Code::kJournal};
  // Planned times that passed while it was off are not made up.
  if (on && schedule->off) {
    const Time wall = store_.options.WallTime(now);
    if (schedule->next <= wall) schedule->left_out = false;
    schedule->planned = std::max(schedule->planned, wall);
  }
  schedule->off = !on;
  const Lsn lsn = Append(*schedule);
  PlanNext(*schedule);
  tick_ = now;
  return {Code::kOk, lsn};
}

Lsn Schedules::Append(RunningSchedule& schedule) {
  schedule.unrecorded = false;
  return store_.journal.Append(RecordOf(schedule));
}

void Schedules::Capture(const std::function<void(const Record&)>& emit) const {
  for (const auto& [name, schedule] : by_name_) emit(RecordOf(*schedule));
}

void Schedules::Apply(const Record& record) {
  RunningSchedule& schedule = FindOrMake(record.schedule.name);
  if (record.kind == Record::Kind::kPut) {
    if (record.id <= schedule.last_job) return;  // carried forward
    ++schedule.runs;
    schedule.ran = std::max(schedule.ran, record.schedule.planned);
    schedule.planned = std::max(schedule.planned, record.schedule.planned);
    if (record.schedule.planned > 0) schedule.left_out = false;
  } else {
    schedule.runs = record.schedule.runs;
    schedule.skipped = record.schedule.skipped;
    schedule.missed = record.schedule.missed;
    schedule.off = record.schedule.off;
    schedule.left_out = record.schedule.left_out;
    schedule.planned = record.schedule.planned;
    const Time guess = schedule.runs > 0 && schedule.ran == 0 ? schedule.planned : schedule.ran;
    schedule.ran = record.schedule.ran.value_or(guess);
  }
  schedule.last_job = std::max(schedule.last_job, record.id);
}

}  // namespace gearstalk
