// Jobs that come by the calendar.
//
// A schedule has one planned time after the other. `planned` is the last one that is settled: its
// job was put, or it was skipped or missed. The record of a scheduled put names schedule and
// planned time, so that the job and "has run" are one record; everything else that settles a time
// has a record of the schedule. No planned time at or before the last one is ever run, so neither a
// restart nor a step of the clock runs one twice. The wall clock is read at least each minute.

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/base/log.h"
#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

constexpr Time kReadClock = 60 * kSecond;  // at least this often
constexpr Time kTryAgain = kSecond;        // after a refusal
constexpr int kRuns = 64;                  // in one call of Tick
// Missed times that are counted one by one.
constexpr std::uint64_t kCounted = 10'000;

}  // namespace

RunningSchedule& Schedules::FindOrMake(std::string_view name) {
  std::unique_ptr<RunningSchedule>& place = by_name_[std::string(name)];
  if (place == nullptr) {
    place = std::make_unique<RunningSchedule>();
    place->entry.name = name;
  }
  return *place;
}

void Schedules::DropUnknown() {
  std::erase_if(by_name_, [](const auto& each) { return !each.second->configured; });
}

void Schedules::Await(RunningSchedule& schedule, Time time) {
  if (schedule.slot != RunningSchedule::kIdle) {
    due_.Remove(&schedule);
    schedule.slot = RunningSchedule::kIdle;
  }
  if (time != kNever) due_.Push(time, &schedule);
}

Time Engine::WallTime(Time now) const {
  return options_.wall_clock == nullptr ? now : options_.wall_clock();
}

// What the journal says of a schedule may come later: the first Tick begins with new ones.
Status Engine::SetSchedules(Time now, const std::vector<Schedule>& entries,
                            const std::string& default_zone) {
  std::vector<Plan> plans;
  for (const Schedule& entry : entries) {
    Result<Plan> plan = Plan::Of(entry, default_zone);
    if (!plan.ok()) return plan.status();
    plans.push_back(std::move(plan.value()));
  }
  for (const auto& [name, schedule] : schedules_.all()) {
    schedule->configured = false;
    schedules_.Await(*schedule, kNever);
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    RunningSchedule& schedule = schedules_.FindOrMake(entries[i].name);
    schedule.entry = entries[i];
    schedule.plan = std::move(plans[i]);
    schedule.configured = true;
  }
  if (schedules_begun_) BeginSchedules(now);
  return {};
}

void Engine::BeginSchedules(Time now) {
  schedules_begun_ = true;
  schedules_.DropUnknown();
  const Time wall = WallTime(now);
  for (const auto& [name, schedule] : schedules_.all()) {
    if (schedule->planned == 0) {
      schedule->planned = wall;
      AppendSchedule(*schedule);
    }
    PlanNext(*schedule);
  }
  schedules_due_ = schedules_.all().empty() ? kNever : now;
}

void Engine::PlanNext(RunningSchedule& schedule) {
  schedule.next = schedule.plan.Next(schedule.planned);
  schedules_.Await(schedule, schedule.next);
}

void Engine::RunSchedules(Time now) {
  if (schedules_due_ > now) return;
  const Time wall = WallTime(now);
  int runs = kRuns;
  for (; runs > 0; --runs) {
    RunningSchedule* const due = schedules_.Due(wall);
    if (due == nullptr) break;
    RunDue(now, wall, *due);
  }
  const Time next = schedules_.next();
  const Time wait = runs == 0 ? 0 : next == kNever ? kReadClock : std::min(next - wall, kReadClock);
  schedules_due_ = now + std::max<Time>(wait, 0);
}

// Of several times that passed only the latest is run.
void Engine::RunDue(Time now, Time wall, RunningSchedule& schedule) {
  const Schedule& entry = schedule.entry;
  Time planned = schedule.next;
  std::uint64_t passed = 0;
  for (Time next = schedule.plan.Next(planned); next <= wall; next = schedule.plan.Next(next)) {
    planned = next;
    if (++passed == kCounted) next = std::max(next, wall - std::max(entry.catch_up, kSecond));
  }
  const bool late = wall - planned > std::max(entry.catch_up, kSecond);
  if (!schedule.off && !late) {
    const JobId last = schedule.last_job;
    const bool overlaps = !entry.overlap && IsUnfinished(last);
    if (overlaps) {
      ++schedule.skipped;
    } else if (PutScheduled(now, schedule, planned) != Code::kOk) {
      return schedules_.Await(schedule, wall + kTryAgain);
    }
    schedule.missed += passed;
    schedule.planned = planned;
    if (overlaps || passed > 0) AppendSchedule(schedule);
  } else {
    if (!schedule.off) {
      schedule.missed += passed + 1;
      Log(LogLevel::kWarning, "a scheduled run was missed",
          {{"schedule", entry.name}, {"planned", static_cast<std::uint64_t>(planned / kSecond)}});
    }
    schedule.planned = planned;
    AppendSchedule(schedule);
  }
  PlanNext(schedule);
}

bool Engine::IsUnfinished(JobId id) const {
  const Job* const job = jobs_.Find(id);
  return job != nullptr && job->state_ != JobState::kBuried;
}

Code Engine::PutScheduled(Time now, RunningSchedule& schedule, Time planned) {
  const Schedule& entry = schedule.entry;
  const std::string body = ScheduledBody(entry, planned, schedule.plan.zone());
  JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
  std::memcpy(job->space().data(), body.data(), body.size());
  job->priority = entry.priority;
  job->ttr_s = std::max(entry.ttr_s, 1U);
  job->delay_s = entry.delay_s;
  job->durable_ = job->keep_on_failure_ = true;
  Tube* const tube = TubeForUse(entry.tube);
  if (tube == nullptr) return CountRefused(Code::kTooManyTubes);
  const JobId before = ids_.next();
  const Arrival arrival{.due = entry.delay_s == 0 ? 0 : After(now, entry.delay_s),
                        .schedule = {.name = entry.name, .planned = planned}};
  const Added added = Add(now, std::move(job), *tube, arrival);
  if (!added.ok()) return added.code;
  schedule.last_job = added.id;
  schedule.planned = schedule.ran = planned;
  ++schedule.runs;
  // A duplicate has no record of its own.
  if (added.id < before) AppendSchedule(schedule);
  return Code::kOk;
}

Outcome Engine::RunSchedule(Time now, std::string_view name) {
  RunningSchedule* const schedule = schedules_.Find(name);
  if (schedule == nullptr || !schedule->configured) return {Code::kNotFound};
  if (!schedule->entry.overlap && IsUnfinished(schedule->last_job)) return {Code::kInUse};
  const Time planned = schedule->planned, ran = schedule->ran;
  // Its record must not say that a planned time has run.
  const Time wall = WallTime(now);
  const Code put = PutScheduled(now, *schedule, std::min(wall, planned));
  if (put != Code::kOk) return {put};
  schedule->planned = planned;
  schedule->ran = ran;
  return {Code::kOk, AppendSchedule(*schedule)};
}

Outcome Engine::SwitchSchedule(Time now, std::string_view name, bool on) {
  RunningSchedule* const schedule = schedules_.Find(name);
  if (schedule == nullptr || !schedule->configured) return {Code::kNotFound};
  if (!journal_.Accepts(Record::Kind::kSchedule)) return {Code::kJournal};
  // What came while it was off is not made up.
  if (on && schedule->off) schedule->planned = std::max(schedule->planned, WallTime(now));
  schedule->off = !on;
  const Lsn lsn = AppendSchedule(*schedule);
  PlanNext(*schedule);
  schedules_due_ = now;
  return {Code::kOk, lsn};
}

void Engine::FillSchedule(const RunningSchedule& schedule, Record& record) {
  record.kind = Record::Kind::kSchedule;
  record.id = schedule.last_job;
  record.schedule = {.name = schedule.entry.name,
                     .planned = schedule.planned,
                     .runs = schedule.runs,
                     .skipped = schedule.skipped,
                     .missed = schedule.missed,
                     .off = schedule.off};
}

Lsn Engine::AppendSchedule(const RunningSchedule& schedule) {
  if (!persistent_) return 0;
  Record record;
  FillSchedule(schedule, record);
  return journal_.Append(record);
}

// From a record of the schedule itself, or of a job that it made.
void Engine::ApplySchedule(const Record& record) {
  RunningSchedule& schedule = schedules_.FindOrMake(record.schedule.name);
  if (record.kind == Record::Kind::kPut) {
    if (record.id <= schedule.last_job) return;  // carried forward
    ++schedule.runs;
    schedule.ran = record.schedule.planned;
    schedule.planned = std::max(schedule.planned, record.schedule.planned);
  } else {
    schedule.runs = record.schedule.runs;
    schedule.skipped = record.schedule.skipped;
    schedule.missed = record.schedule.missed;
    schedule.off = record.schedule.off;
    schedule.planned = record.schedule.planned;
    if (schedule.runs > 0 && schedule.ran == 0) schedule.ran = schedule.planned;
  }
  schedule.last_job = std::max(schedule.last_job, record.id);
}

}  // namespace gearstalk
