// Connections: what they use and watch. Consumers take jobs and end them.

#include "broker/engine/consuming.h"

#include <algorithm>

#include "broker/base/check.h"

namespace gearstalk {

// --- Connections ---------------------------------------------------------------------------------

void Consuming::Join(Consumer& consumer) {
  GS_CHECK(!consumer.joined_);
  consumer.joined_ = true;
}

bool Consuming::Leave(Time now, Consumer& consumer) {
  if (!consumer.joined_) return true;
  dispatch_.EndWait(consumer);
  dispatch_.DropPromise(now, consumer);
  std::size_t steps = JobStore::kSlice;
  GiveBackHeld(now, consumer, steps, stopping_ ? BadEnd::kReturned : BadEnd::kLost);
  if (!consumer.held_.empty()) return false;
  while (!consumer.watched_.empty()) {
    if (steps-- == 0) return false;
    RemoveWatch(consumer, **(consumer.watched_.end() - 1));
  }
  if (consumer.used_ != nullptr) {
    --consumer.used_->using_count;
    store_.ReleaseTube(*consumer.used_);
    consumer.used_ = nullptr;
  }
  store_.deadlines.Cancel(consumer);
  if (consumer.producer_) --store_.totals.producers;
  if (consumer.worker_) --store_.totals.workers;
  consumer.producer_ = consumer.worker_ = consumer.joined_ = false;
  return true;
}

Consumer::~Consumer() { GS_CHECK(!joined_); }

Code Consuming::Use(Consumer& consumer, std::string_view name) {
  Tube* before = consumer.used_;
  if (before != nullptr && before->name() == name) return Code::kOk;
  Tube* tube = store_.TubeForUse(name);
  // Reply tubes are outside the limit: a connection has one at most, for as long as it uses it.
  if (tube == nullptr && TakesAnswers(name)) tube = &store_.TubeNamed(name);
  if (tube == nullptr) return store_.CountRefused(Code::kTooManyTubes);
  ++tube->using_count;
  consumer.used_ = tube;
  if (before != nullptr) {
    --before->using_count;
    store_.ReleaseTube(*before);
  }
  return Code::kOk;
}

Code Consuming::Watch(Time now, Consumer& consumer, std::string_view name, bool able,
                      Time run_limit) {
  if (able && TakesAnswers(name)) return store_.CountRefused(Code::kInvalid);
  Tube* const found = store_.TubeForUse(name);
  if (found == nullptr) return store_.CountRefused(Code::kTooManyTubes);
  Tube& tube = *found;
  WatchEntry* watch = consumer.watched_.Find(tube);
  const bool waits = consumer.waiting();
  if (watch == nullptr && consumer.watched_.size() >= WatchList::kWide && store_.TablesFull()) {
    store_.ReleaseTube(tube);
    return store_.CountRefused(Code::kOutOfMemory);
  }
  if (watch == nullptr) {
    const bool widens = consumer.watched_.size() == WatchList::kWide;
    if (waits && widens) dispatch_.line().Leave(consumer);
    watch = &consumer.watched_.Add(tube, consumer);
    if (consumer.index_ != nullptr) consumer.index_->Add(*watch);
    ++tube.watching;
    if (widens) {
      for (const auto& each : consumer.watched_) each->tube.wide.push_back(*each);
      if (waits) dispatch_.line().Enter(consumer);
    } else if (consumer.watched_.wide()) {
      tube.wide.push_back(*watch);
    } else if (waits) {
      dispatch_.line().Enter(*watch);
    }
  }
  watch->run_limit = run_limit;
  if (able) tube.function = true;
  if (able && !consumer.worker_) {
    consumer.worker_ = true;
    ++store_.totals.workers;
  }
  if (consumer.worker_ && !watch->counted) {
    watch->counted = true;
    ++tube.workers;
  }
  if (waits) dispatch_.Serve(now, tube);
  return Code::kOk;
}

void Consuming::RemoveWatch(Consumer& consumer, WatchEntry& watch) {
  Tube& tube = watch.tube;
  const bool waits = consumer.waiting();
  const bool narrows = consumer.watched_.size() == WatchList::kWide + 1;
  if (narrows) {
    if (waits) dispatch_.line().Leave(consumer);
    for (const auto& each : consumer.watched_) {
      each->tube.wide.erase(each->tube.wide.iterator_to(*each));
    }
  } else if (consumer.watched_.wide()) {
    tube.wide.erase(tube.wide.iterator_to(watch));
  } else if (waits) {
    WaitingLine::Leave(watch);
  }
  --tube.watching;
  if (watch.counted) --tube.workers;
  if (consumer.index_ != nullptr) consumer.index_->Remove(watch);
  consumer.watched_.Remove(watch);
  if (waits && narrows) dispatch_.line().Enter(consumer);
  store_.ReleaseTube(tube);
}

Code Consuming::Ignore(Time now, Consumer& consumer, std::string_view name, bool may_be_last) {
  Tube* tube = store_.tubes.Find(name);
  WatchEntry* watch = tube == nullptr ? nullptr : consumer.watched_.Find(*tube);
  if (watch == nullptr) return Code::kOk;
  if (consumer.watched_.size() == 1 && !may_be_last) return Code::kNotIgnored;
  if (consumer.promised_ == tube) dispatch_.DropPromise(now, consumer);
  RemoveWatch(consumer, *watch);
  return Code::kOk;
}

bool Consuming::CantDo(Time now, Consumer& consumer, std::string_view name) {
  Tube* tube = store_.tubes.Find(name);
  if (tube == nullptr || consumer.watched_.Find(*tube) == nullptr) return true;
  std::vector<Job*> running;
  const std::size_t held = tube->reserved() == 0 ? 0 : consumer.held_.size();
  for (std::size_t i = 0; i < held && running.size() <= JobStore::kSlice; ++i) {
    ++store_.effort;
    if (&consumer.held_.At(i)->tube() == tube) running.push_back(consumer.held_.At(i));
  }
  const bool all = running.size() <= JobStore::kSlice;
  // Its wait for this function ends first, so that it does not get its own jobs back.
  if (all) Ignore(now, consumer, name, /*may_be_last=*/true);
  GiveBackAll(now, running, BadEnd::kReturned);
  return all;
}

bool Consuming::ResetAbilities(Time now, Consumer& consumer) {
  dispatch_.DropPromise(now, consumer);
  std::size_t steps = JobStore::kSlice;
  while (!consumer.watched_.empty()) {
    if (steps-- == 0) return false;
    RemoveWatch(consumer, **(consumer.watched_.end() - 1));
  }
  GiveBackHeld(now, consumer, steps, BadEnd::kReturned);
  return consumer.held_.empty();
}

void Consuming::CountNewWorker(Consumer& consumer) {
  ++store_.totals.workers;
  for (const auto& watch : consumer.watched_) {
    watch->counted = true;
    ++watch->tube.workers;
  }
}

// --- Taking --------------------------------------------------------------------------------------

ReserveResult Consuming::Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken) {
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  if (Job* job = dispatch_.BestFor(now, consumer)) {
    taken = dispatch_.Take(now, *job, consumer);
    return ReserveResult::kTaken;
  }
  if (Dispatch::DeadlineSoon(now, consumer)) return ReserveResult::kDeadlineSoon;
  if (deadline <= now) return ReserveResult::kTimedOut;
  dispatch_.BeginWait(now, consumer, Consumer::Wait::kReserving, deadline);
  return ReserveResult::kWaits;
}

Taken Consuming::ReserveJob(Time now, Consumer& consumer, JobId id) {
  Job* job = store_.jobs.Find(id);
  if (job == nullptr || job->state() == JobState::kReserved) return {};
  if (job->state() != JobState::kBuried && job->ExpiredAt(now)) return {};
  if (!Grouping::MayLeaveLine(*job)) return {};
  consumer.needs_ttr_ = true;
  CountAsWorker(consumer);
  const bool was_ready = job->state() == JobState::kReady;
  Taken taken = dispatch_.Take(now, *job, consumer);
  // The journal stores reserved jobs as ready. A restart must not bring back the state before.
  if (was_ready) return taken;
  if (store_.Accepts(*job, Record::Kind::kChange)) {
    taken.lsn = std::max(taken.lsn, store_.Append(*job, Record::Kind::kChange));
  } else {
    job->MakeExtra().untold = true;  // its end says it
  }
  return taken;
}

Taken Consuming::Grab(Time now, Consumer& consumer) {
  dispatch_.EndWait(consumer);
  Tube* promised = dispatch_.TakePromise(consumer);
  Job* job = dispatch_.BestFor(now, consumer);
  const Taken taken = job == nullptr ? Taken{} : dispatch_.Take(now, *job, consumer);
  if (promised != nullptr) dispatch_.Serve(now, *promised);
  return taken;
}

void Consuming::Sleep(Time now, Consumer& consumer) {
  dispatch_.EndWait(consumer);
  dispatch_.DropPromise(now, consumer);
  // After a JOB_NOT_FOUND, workers of libgearman can get out of step and sleep while they hold a
  // job. As in gearmand, that ends its CAN_DO_TIMEOUT. A TTR goes on.
  dispatch_.EndRunLimits(consumer);
  dispatch_.Sleep(now, consumer);
}

Outcome Consuming::Delete(Time now, Consumer& consumer, JobId id) {
  Job* job = store_.jobs.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  const bool held = job->state() == JobState::kReserved;
  if (held && job->holder() != &consumer) return {Code::kNotFound};
  if (!store_.Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  store_.Count(job->tube(), &JobCounts::deletes);
  if (held) store_.Count(job->tube(), &JobCounts::completed);
  const auto kind = held ? Finish::Kind::kCompleted : Finish::Kind::kFailed;
  const Lsn lsn = store_.Finished(*job, kind, kNoReport);
  dispatch_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Consuming::Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                           std::uint32_t delay_s) {
  return bad_ends_.EndHeld(now, consumer, id,
                           {.how = BadEnd::kReleased, .priority = priority, .delay_s = delay_s});
}

Outcome Consuming::Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kBuried, .priority = priority});
}

Outcome Consuming::Touch(Time now, Consumer& consumer, JobId id) {
  Job* job = dispatch_.HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  dispatch_.RestartTtr(now, *job);
  return {};
}

Outcome Consuming::WorkProgress(Time now, Consumer& consumer, JobId id, const Progress& progress) {
  Job* job = dispatch_.HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  dispatch_.RestartTtr(now, *job);
  if (progress.kind == Progress::Kind::kStatus) {
    job->MakeRest().numerator = progress.numerator;
    job->MakeRest().denominator = progress.denominator;
  }
  store_.waiters.Tell(*job, progress);
  return {};
}

Outcome Consuming::WorkComplete(Time now, Consumer& consumer, JobId id, const ReportData& result) {
  Job* job = dispatch_.HeldBy(consumer, id);
  if (job == nullptr) return {Code::kNotFound};
  if (!store_.Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  store_.Count(job->tube(), &JobCounts::completed);
  const Lsn lsn = store_.Finished(*job, Finish::Kind::kCompleted, result);
  dispatch_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Consuming::WorkFail(Time now, Consumer& consumer, JobId id) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kFailed});
}

Outcome Consuming::WorkException(Time now, Consumer& consumer, JobId id, const ReportData& text) {
  return bad_ends_.EndHeld(now, consumer, id, {.how = BadEnd::kException, .text = text});
}

// Makes all jobs ready before any consumer gets one, so that the most urgent goes first.
void Consuming::GiveBackAll(Time now, const std::vector<Job*>& jobs, BadEnd how) {
  std::vector<const Job*> ready;
  for (Job* job : jobs) {
    if (bad_ends_.End(now, *job, {.how = how}).ready) ready.push_back(job);
  }
  dispatch_.ServeTubesOf(now, std::move(ready));
  dispatch_.ServeFreed(now);
}

// Gives back up to `steps` of the jobs it holds, and subtracts them from `steps`.
void Consuming::GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, BadEnd how) {
  std::vector<Job*> jobs;
  for (; steps > 0 && jobs.size() < consumer.held_.size(); --steps) {
    jobs.push_back(consumer.held_.At(jobs.size()));
  }
  GiveBackAll(now, jobs, how);
}

}  // namespace gearstalk
