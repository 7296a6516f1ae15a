// What operators do to jobs that they neither put nor hold.

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {

Added Engine::PutInto(Time now, std::string_view name, JobPtr job) {
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube* const tube = TubeForUse(name);
  if (tube == nullptr) return Refused(Code::kTooManyTubes);
  job->durable_ = job->keep_on_failure_ = true;
  const Arrival arrival{.due = job->delay_s == 0 ? 0 : After(now, job->delay_s)};
  return Add(now, std::move(job), *tube, arrival);
}

Kicked Engine::Kick(Time now, std::string_view name, std::uint64_t bound,
                    std::optional<bool>& delayed) {
  Tube* const tube = tubes_.Find(name);
  if (tube == nullptr) return {.code = Code::kNotFound};
  return KickTube(now, *tube, bound, delayed);
}

Outcome Engine::Move(Time now, JobId id, std::string_view name) {
  Job* const job = jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kReserved) return {Code::kNotFound};
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube& from = *job->tube_;
  if (from.name() == name) return {Code::kOk, VisibleFrom(*job)};
  if (!Accepts(*job, Record::Kind::kPut)) return {CountRefused(Code::kJournal)};
  Tube* const to = TubeForUse(name);
  if (to == nullptr) return {CountRefused(Code::kTooManyTubes)};
  const JobState state = job->state_;
  if (state != JobState::kBuried && Full(*to, job->priority)) {
    ReleaseTube(*to);
    return {CountRefused(Code::kQueueFull)};
  }
  const Time due = state == JobState::kDelayed ? from.delayed_.TimeAt(job->link_.held.slot) : 0;
  LeaveState(*job);
  MoveTo(*job, *to, {});
  if (state == JobState::kReady) EnterReady(*job);
  if (state == JobState::kDelayed) EnterDelayed(*job, due);
  if (state == JobState::kBuried) EnterBuried(*job, next_burial_);
  const Lsn lsn = AppendWhole(*job);
  ReleaseTube(from);
  Serve(now, *to, job);
  return {Code::kOk, lsn};
}

// A replay lets the newer of two such records count. The put of the job is as durable as it was.
Lsn Engine::AppendWhole(const Job& job) {
  if (!persistent_ || !job.durable_) return 0;
  Record record;
  record.kind = Record::Kind::kPut;
  records_.Fill(job, record);
  return journal_.Append(record);
}

Outcome Engine::BuryAny(JobId id, std::optional<std::uint32_t> priority, bool force) {
  Job* const job = jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kBuried) return {Code::kNotFound};
  if (job->state_ == JobState::kReserved && !force) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  LeaveState(*job);
  job->priority = priority.value_or(job->priority);
  if (job->extra_ != nullptr) job->extra_->cause = Cause::kBuried;
  const Lsn lsn = BuryJob(ticked_, *job, Finish::Kind::kFailed, {});
  ServeFreed(ticked_);
  return {Code::kOk, lsn};
}

Outcome Engine::TakeBack(Time now, JobId id, std::uint32_t delay_s) {
  const Job* const job = jobs_.Find(id);
  if (job == nullptr || job->holder() == nullptr) return {Code::kNotFound};
  return Release(now, *job->holder(), id, job->priority, delay_s);
}

Outcome Engine::ResetMaxQueue(std::string_view name) {
  const Tube* const tube = tubes_.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  return SetMaxQueue(name, ConfiguredMaxQueue(*tube));
}

void Engine::VisitNext(const Tube& tube, JobState state, std::size_t bound,
                       const std::function<void(const Job&)>& visit) const {
  if (state == JobState::kReady) tube.ready_.VisitFirst(bound, visit);
  if (state == JobState::kDelayed) tube.delayed_.VisitFirst(bound, visit);
  if (state != JobState::kBuried) return;
  const Job* job = tube.buried_.front();
  for (; job != nullptr && bound > 0; --bound, job = JobList::After(*job)) visit(*job);
}

}  // namespace gearstalk
