// Consumers take jobs and end them.

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

ReserveResult Engine::Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken) {
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  if (Job* job = dispatch_.BestFor(now, consumer)) {
    taken = Take(now, *job, consumer);
    return ReserveResult::kTaken;
  }
  if (consumer.held_.top_time() - kSafetyMargin <= now) {
    return ReserveResult::kDeadlineSoon;
  }
  if (deadline <= now) return ReserveResult::kTimedOut;
  dispatch_.BeginWait(now, consumer, Consumer::Wait::kReserving, deadline);
  return ReserveResult::kWaits;
}

Taken Engine::ReserveJob(Time now, Consumer& consumer, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kReserved) return {};
  if (job->state_ != JobState::kBuried && job->ExpiredAt(now)) return {};
  if (!MayLeaveLine(*job)) return {};
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  const bool was_ready = job->state_ == JobState::kReady;
  Taken taken = Take(now, *job, consumer);
  // The journal stores reserved jobs as ready. A restart must not bring back the state before.
  if (!was_ready && Accepts(*job, Record::Kind::kChange)) {
    taken.lsn = std::max(taken.lsn, Append(*job, Record::Kind::kChange));
  }
  return taken;
}

Taken Engine::Grab(Time now, Consumer& consumer) {
  dispatch_.EndWait(consumer);
  Tube* promised = dispatch_.TakePromise(consumer);
  Job* job = dispatch_.BestFor(now, consumer);
  const Taken taken = job == nullptr ? Taken{} : Take(now, *job, consumer);
  if (promised != nullptr) dispatch_.Serve(now, *promised);
  return taken;
}

void Engine::Sleep(Time now, Consumer& consumer) {
  dispatch_.EndWait(consumer);
  dispatch_.DropPromise(now, consumer);
  EndRunLimits(consumer);
  dispatch_.Sleep(now, consumer);
}

// After a JOB_NOT_FOUND, workers of libgearman can get out of step and sleep while they hold a job.
// As in gearmand, that ends its CAN_DO_TIMEOUT. A TTR goes on.
void Engine::EndRunLimits(Consumer& consumer) {
  if (!std::exchange(consumer.limited_, false)) return;
  std::vector<Job*> limited;
  for (std::size_t i = 0; i < consumer.held_.size(); ++i) {
    ++effort_;
    if (consumer.held_.At(i)->rest().run_limit != kNever) limited.push_back(consumer.held_.At(i));
  }
  for (Job* job : limited) {
    job->extra_->rest->run_limit = kNever;
    consumer.held_.Move(job, job->extra_->rest->ttr_ends);
  }
}

Taken Engine::Take(Time now, Job& job, Consumer& consumer) {
  LeaveState(job);
  ++job.reserves;
  Count(*job.tube_, &JobCounts::reserves);
  waits_.Add(std::exchange(consumer.waited_, 0));
  ages_.Add(now - job.created);
  bodies_.LookAhead(*this, *job.tube_);
  // Of a job whose body is to come, they begin with Given.
  const Time deadline = job.has_body() ? BeginLimits(now, job, consumer) : kNever;
  EnterReserved(now, deadline, job, consumer);
  if (job.tube_->policy_ != nullptr || options_.fair) pace_.NoteHandOut(now, *job.tube_);
  if (UniqueIndex::HasKey(job)) uniques_.Prefetch(job);
  Lsn lsn = VisibleFrom(job);
  if (const Groups* const groups = job.tube_->groups()) {
    lsn = std::max(lsn, groups->VisibleFrom(job));
  }
  return {&job, lsn};
}

// The end of its TTR, or of the consumer's own limit if that is sooner.
Time Engine::BeginLimits(Time now, Job& job, Consumer& consumer) {
  Time deadline = kNever;
  const std::uint32_t ttr_s = consumer.needs_ttr_ ? TtrSeconds(job) : job.ttr_s;
  if (ttr_s > 0) deadline = After(now, ttr_s);
  if (const WatchEntry* watch = consumer.watched_.Find(*job.tube_);
      watch != nullptr && watch->run_limit > 0) {
    JobRest& rest = job.MakeRest();
    rest.run_limit = Later(now, watch->run_limit);
    rest.ttr_ends = deadline;
    consumer.limited_ = true;
    deadline = std::min(deadline, rest.run_limit);
  }
  return deadline;
}

void Engine::Given(Time now, Consumer& consumer, JobId id) {
  Job* const job = HeldBy(consumer, id);
  if (job == nullptr) return;
  consumer.held_.Move(job, BeginLimits(now, *job, consumer));
  ArmConsumer(consumer);
}

Job* Engine::HeldBy(const Consumer& consumer, JobId id) const {
  Job* job = jobs_.Find(id);
  return job != nullptr && job->holder() == &consumer ? job : nullptr;
}

bool Engine::Accepts(const Job& job, Record::Kind kind) const {
  return !job.durable_ || journal_.Accepts(kind);
}

Outcome Engine::Delete(Time now, Consumer& consumer, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  const bool held = job->state_ == JobState::kReserved;
  if (held && job->holder() != &consumer) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::deletes);
  if (held) Count(*job->tube_, &JobCounts::completed);
  const auto kind = held ? Finish::Kind::kCompleted : Finish::Kind::kFailed;
  const Lsn lsn = Finished(*job, kind, kNoReport);
  pace_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Engine::Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                        std::uint32_t delay_s) {
  return bad_ends_.EndHeld(now, consumer, id,
                           {.how = BadEnd::kReleased, .priority = priority, .delay_s = delay_s});
}

Outcome Engine::Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kBuried, .priority = priority});
}

Outcome Engine::Touch(Time now, Consumer& consumer, JobId id) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  RestartTtr(now, *job);
  return {};
}

void Engine::RestartTtr(Time now, Job& job) {
  Consumer& holder = *job.holder();
  const std::uint32_t ttr_s = holder.needs_ttr_ ? TtrSeconds(job) : job.ttr_s;
  if (ttr_s == 0) return;
  const Time ttr_ends = After(now, ttr_s);
  const Time run_limit = job.rest().run_limit;
  if (run_limit != kNever) job.extra_->rest->ttr_ends = ttr_ends;
  holder.held_.Move(&job, std::min(ttr_ends, run_limit));
  ArmConsumer(holder);
}

Outcome Engine::WorkProgress(Time now, Consumer& consumer, JobId id, const Progress& progress) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  RestartTtr(now, *job);
  if (progress.kind == Progress::Kind::kStatus) {
    job->MakeRest().numerator = progress.numerator;
    job->MakeRest().denominator = progress.denominator;
  }
  if (JobRest* const rest = job->OwnRest()) {
    for (Waiter& waiter : rest->waiters) {
      ++effort_;
      waiter.observer.OnProgress(*job, progress, waiter.times);
    }
  }
  return {};
}

Outcome Engine::WorkComplete(Time now, Consumer& consumer, JobId id, const ReportData& result) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::completed);
  const Lsn lsn = Finished(*job, Finish::Kind::kCompleted, result);
  pace_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Engine::WorkFail(Time now, Consumer& consumer, JobId id) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kFailed});
}

Outcome Engine::WorkException(Time now, Consumer& consumer, JobId id, const ReportData& text) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kException, .text = text});
}

Lsn Engine::AppendEnd(const Job& job, Finish::Kind kind) {
  const Policy* const policy = job.tube_->policy();
  const bool remembers = kind == Finish::Kind::kCompleted && policy != nullptr &&
                         policy->unique != Policy::Unique::kNone && policy->unique_for > 0 &&
                         UniqueIndex::HasKey(job);
  const Lsn lsn = remembers ? seen_.Remember(job, Later(job.created, policy->unique_for))
                            : Append(job, Record::Kind::kDelete);
  HoldLine(job, lsn);
  return lsn;
}

Lsn Engine::Finished(Job& job, Finish::Kind kind, const ReportData& data) {
  const Lsn lsn = AppendEnd(job, kind);
  Tell(job, kind, data, lsn);
  Erase(job);
  return lsn;
}

// Makes all jobs ready before any consumer gets one, so that the most urgent goes first.
void Engine::GiveBackAll(Time now, std::vector<Job*> jobs, BadEnd how) {
  std::erase_if(jobs, [&](Job* job) { return !bad_ends_.End(now, *job, {.how = how}).ready; });
  std::sort(jobs.begin(), jobs.end(), [](Job* a, Job* b) { return MoreUrgent(*a, *b); });
  for (const Job* job : jobs) dispatch_.Serve(now, *job->tube_, job);
  pace_.ServeFreed(now);
}

// Gives back up to `steps` of the jobs it holds, and subtracts them from `steps`.
void Engine::GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, BadEnd how) {
  std::vector<Job*> jobs;
  for (; steps > 0 && jobs.size() < consumer.held_.size(); --steps) {
    jobs.push_back(consumer.held_.At(jobs.size()));
  }
  GiveBackAll(now, std::move(jobs), how);
}

}  // namespace gearstalk
