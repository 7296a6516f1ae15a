// What a consumer does with jobs: take them, and say what becomes of them.

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

ReserveResult Engine::Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken) {
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  if (Job* job = BestFor(consumer)) {
    taken = Take(now, *job, consumer);
    return ReserveResult::kTaken;
  }
  if (consumer.held_.top_time() - kSafetyMargin <= now) {
    return ReserveResult::kDeadlineSoon;
  }
  if (deadline <= now) return ReserveResult::kTimedOut;
  BeginWait(now, consumer, Consumer::Wait::kReserving, deadline);
  return ReserveResult::kWaits;
}

Taken Engine::ReserveJob(Time now, Consumer& consumer, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr || job->state_ == JobState::kReserved) return {};
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  const bool was_ready = job->state_ == JobState::kReady;
  Taken taken = Take(now, *job, consumer);
  // Reserved jobs are stored as ready, and what it was before must not come back.
  if (!was_ready && Accepts(*job, Record::Kind::kChange)) {
    taken.lsn = std::max(taken.lsn, Append(*job, Record::Kind::kChange));
  }
  return taken;
}

Taken Engine::Grab(Time now, Consumer& consumer) {
  EndWait(consumer);
  Tube* promised = TakePromise(consumer);
  Job* job = BestFor(consumer);
  const Taken taken = job == nullptr ? Taken{} : Take(now, *job, consumer);
  if (promised != nullptr) Serve(now, *promised);
  return taken;
}

Taken Engine::Take(Time now, Job& job, Consumer& consumer) {
  LeaveState(job);
  ++job.reserves;
  Count(*job.tube_, &JobCounts::reserves);
  waits_.Add(std::exchange(consumer.waited_, 0));
  ages_.Add(now - job.created);
  Time deadline = kNever;
  const std::uint32_t ttr_s = consumer.needs_ttr_ ? TtrSeconds(job) : job.ttr_s;
  if (ttr_s > 0) deadline = After(now, ttr_s);
  if (const gearstalk::Watch* watch = consumer.watched_.Find(*job.tube_);
      watch != nullptr && watch->run_limit > 0) {
    job.MakeExtra().run_limit = now + watch->run_limit;
    deadline = std::min(deadline, job.extra_->run_limit);
  }
  EnterReserved(deadline, job, consumer);
  if (UniqueIndex::HasKey(job)) uniques_.Prefetch(job);
  return {&job, VisibleFrom(job)};
}

Job* Engine::HeldBy(const Consumer& consumer, JobId id) const {
  Job* job = jobs_.Find(id);
  return job != nullptr && job->holder() == &consumer ? job : nullptr;
}

bool Engine::Accepts(const Job& job, Record::Kind kind) const {
  return !job.durable_ || journal_.Accepts(kind);
}

Outcome Engine::Delete(Time /*now*/, Consumer& consumer, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  const bool held = job->state_ == JobState::kReserved;
  if (held && job->holder() != &consumer) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::deletes);
  if (held) Count(*job->tube_, &JobCounts::completed);
  return {Code::kOk, Finished(*job, held ? Finish::Kind::kCompleted : Finish::Kind::kFailed, {})};
}

Outcome Engine::Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                        std::uint32_t delay_s) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::releases);
  if (job->unheard_) {
    Count(*job->tube_, &JobCounts::dropped);
    return {Code::kOk, Finished(*job, Finish::Kind::kFailed, {})};
  }
  LeaveState(*job);
  job->priority = priority;
  job->delay_s = delay_s;
  ++job->MakeExtra().releases;
  if (delay_s > 0) {
    EnterDelayed(*job, After(now, delay_s));
  } else {
    EnterReady(*job);
  }
  const Lsn lsn = Append(*job, Record::Kind::kChange);
  Serve(now, *job->tube_, job);
  return {Code::kOk, lsn};
}

Outcome Engine::Bury(Time /*now*/, Consumer& consumer, JobId id, std::uint32_t priority) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  LeaveState(*job);
  job->priority = priority;
  return {Code::kOk, BuryJob(*job, Finish::Kind::kFailed, {})};
}

Lsn Engine::BuryJob(Job& job, Finish::Kind kind, std::string_view text) {
  LeaveState(job);
  job.unheard_ = false;
  ++job.MakeExtra().buries;
  Count(*job.tube_, &JobCounts::buries);
  EnterBuried(job, next_burial_);
  const Lsn lsn = Append(job, Record::Kind::kChange);
  Tell(job, kind, text, lsn);
  return lsn;
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
  holder.held_.Move(&job, std::min(After(now, ttr_s), job.extra().run_limit));
  ArmConsumer(holder);
}

Outcome Engine::Report(Time now, Consumer& consumer, JobId id, const Progress& progress) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  RestartTtr(now, *job);
  if (progress.kind == Progress::Kind::kStatus) {
    job->MakeExtra().numerator = progress.numerator;
    job->extra_->denominator = progress.denominator;
  }
  if (job->extra_ != nullptr) {
    for (Waiter& waiter : job->extra_->waiters) {
      ++effort_;
      waiter.observer.OnProgress(*job, progress);
    }
  }
  return {};
}

Outcome Engine::Complete(Time /*now*/, Consumer& consumer, JobId id, std::string_view result) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::completed);
  return {Code::kOk, Finished(*job, Finish::Kind::kCompleted, result)};
}

Outcome Engine::Fail(Time /*now*/, Consumer& consumer, JobId id) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  return FailJob(*job, Finish::Kind::kFailed, {});
}

Outcome Engine::Except(Time /*now*/, Consumer& consumer, JobId id, std::string_view text) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  return FailJob(*job, Finish::Kind::kException, text);
}

Outcome Engine::FailJob(Job& job, Finish::Kind kind, std::string_view text) {
  const auto record = job.keep_on_failure_ ? Record::Kind::kChange : Record::Kind::kDelete;
  if (!Accepts(job, record)) return {Code::kJournal};
  Count(*job.tube_, &JobCounts::failed);
  return {Code::kOk, job.keep_on_failure_ ? BuryJob(job, kind, text) : Finished(job, kind, text)};
}

Lsn Engine::Finished(Job& job, Finish::Kind kind, std::string_view data) {
  const Lsn lsn = Append(job, Record::Kind::kDelete);
  Tell(job, kind, data, lsn);
  Erase(job);
  return lsn;
}

void Engine::GiveBack(Time now, Job& job, bool lost_try) {
  if (RunsAgain(job, lost_try)) Serve(now, *job.tube_, &job);
}

// All are ready before anybody gets one, and the most urgent finds its consumer first.
void Engine::GiveBackAll(Time now, std::vector<Job*> jobs, bool lost_try) {
  std::erase_if(jobs, [&](Job* job) { return !RunsAgain(*job, lost_try); });
  std::sort(jobs.begin(), jobs.end(), [](Job* a, Job* b) { return MoreUrgent(*a, *b); });
  for (const Job* job : jobs) Serve(now, *job->tube_, job);
}

// Up to `steps` of what it holds; these steps are used up then.
void Engine::GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, bool lost_try) {
  std::vector<Job*> jobs;
  for (; steps > 0 && jobs.size() < consumer.held_.size(); --steps) {
    jobs.push_back(consumer.held_.At(jobs.size()));
    if (lost_try) Count(*jobs.back()->tube_, &JobCounts::lost);
  }
  GiveBackAll(now, std::move(jobs), lost_try);
}

// Makes a held job ready; false if that was the end of it.
bool Engine::RunsAgain(Job& job, bool lost_try) {
  if (job.unheard_) {
    Count(*job.tube_, &JobCounts::dropped);
    Erase(job);
    return false;
  }
  if (lost_try && ++job.MakeExtra().lost_tries >= options_.job_retries &&
      options_.job_retries > 0 && FailJob(job, Finish::Kind::kFailed, {}).ok()) {
    return false;
  }
  LeaveState(job);
  EnterReady(job);
  return true;
}

}  // namespace gearstalk
