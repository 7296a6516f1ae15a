#include "broker/engine/acts.h"

#include <utility>

#include "broker/engine/engine.h"

namespace gearstalk {

Added Acts::PutInto(Time now, std::string_view name, JobPtr&& job, ComparisonPtr* compared) {
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube* const tube = engine_.TubeForUse(name);
  if (tube == nullptr) return engine_.Refused(Code::kTooManyTubes);
  job->durable_ = job->keep_on_failure_ = true;
  const Time due = After(now, job->delay_s);
  return engine_.Add(now, std::move(job), *tube, {.due = due, .compared = compared});
}

Kicked Acts::Kick(Time now, std::string_view name, std::uint64_t bound,
                  std::optional<KickFrom>& from) {
  Tube* const tube = engine_.tubes_.Find(name);
  if (tube == nullptr) return {.code = Code::kNotFound};
  return engine_.KickTube(now, *tube, bound, from);
}

Outcome Acts::Move(Time now, JobId id, std::string_view name) {
  Job* const job = engine_.jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kReserved) return {Code::kNotFound};
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube& from = *job->tube_;
  if (from.name() == name) return {Code::kOk, engine_.VisibleFrom(*job)};
  if (job->durable_ && !engine_.AcceptsWhole(job->body_size())) {
    return {engine_.CountRefused(Code::kJournal)};
  }
  Tube* const to = engine_.TubeForUse(name);
  if (to == nullptr) return {engine_.CountRefused(Code::kTooManyTubes)};
  const JobState state = job->state_;
  if (state != JobState::kBuried && engine_.Full(*to, job->priority)) {
    engine_.ReleaseTube(*to);
    return {engine_.CountRefused(Code::kQueueFull)};
  }
  const Time due = state == JobState::kDelayed ? from.delayed_.TimeAt(job->link_.held.slot) : 0;
  const bool retrying = job->extra().retrying;
  const std::optional<std::string> line = Engine::LineOf(*job);
  engine_.LeaveState(*job);
  engine_.MoveTo(*job, *to, {});
  if (retrying) job->extra_->retrying = true;
  if (state == JobState::kReady) engine_.EnterReady(*job);
  if (state == JobState::kDelayed) engine_.EnterDelayed(*job, due);
  if (state == JobState::kBuried) engine_.EnterBuried(*job, engine_.next_burial_);
  const Lsn lsn = job->has_body() ? AppendWhole(*job)
                                  : engine_.Append(*job, Record::Kind::kChange, {.moved = true});
  engine_.HoldLine(from, line, lsn);
  engine_.HoldLine(*job, lsn);
  engine_.ReleaseTube(from);
  engine_.dispatch_.Serve(now, *to, job);
  engine_.pace_.ServeFreed(now);
  return {Code::kOk, lsn};
}

// In a replay the newer of two such records counts. The put of the job stays as durable as it was.
Lsn Acts::AppendWhole(const Job& job) {
  if (!engine_.persistent_ || !job.durable_) return 0;
  Record record;
  record.kind = Record::Kind::kPut;
  engine_.records_.Fill(job, record);
  return engine_.journal_.Append(record);
}

Outcome Acts::Bury(JobId id, std::optional<std::uint32_t> priority, bool force) {
  Job* const job = engine_.jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kBuried) return {Code::kNotFound};
  if (job->state_ == JobState::kReserved && !force) return {Code::kNotFound};
  if (!engine_.Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  engine_.LeaveState(*job);
  job->priority = priority.value_or(job->priority);
  job->MakeExtra().cause = Cause::kBuried;
  job->ForgetCauseText();
  const Lsn lsn = engine_.bad_ends_.Bury(engine_.ticked_, *job, Finish::Kind::kFailed, {});
  engine_.pace_.ServeFreed(engine_.ticked_);
  return {Code::kOk, lsn};
}

Outcome Acts::TakeBack(Time now, JobId id, std::uint32_t delay_s) {
  const Job* const job = engine_.jobs_.Find(id);
  if (job == nullptr || job->holder() == nullptr) return {Code::kNotFound};
  return engine_.bad_ends_.EndHeld(now, *job->holder(), id,
                                   {.how = BadEnd::kTakenBack, .delay_s = delay_s});
}

Outcome Acts::ResetMaxQueue(std::string_view name) {
  const Tube* const tube = engine_.tubes_.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  return engine_.SetMaxQueue(name, engine_.ConfiguredMaxQueue(*tube));
}

}  // namespace gearstalk
