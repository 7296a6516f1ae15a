// New jobs, and the clients that wait for them.

#include <charconv>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Waits given up in one call of Forget.
constexpr std::size_t kForgetSteps = 512;

}  // namespace

Code Engine::AdmitsJob(const Tube& tube, std::uint32_t priority, bool durable) const {
  if (draining_) return Code::kDraining;
  if (MemoryFull()) return Code::kOutOfMemory;
  const std::int64_t limit = tube.max_queue_[static_cast<std::size_t>(BandOf(priority))];
  if (limit > 0 && tube.unfinished() >= static_cast<std::uint64_t>(limit)) return Code::kQueueFull;
  if (durable && !journal_.Accepts(Record::Kind::kPut)) return Code::kJournal;
  return Code::kOk;
}

Code Engine::CountRefused(Code code) {
  ++totals_.refused[static_cast<std::size_t>(code)];
  return code;
}

void Engine::CountAsProducer(Consumer& consumer) {
  if (consumer.producer_) return;
  consumer.producer_ = true;
  ++totals_.producers;
}

Added Engine::Put(Time now, Consumer& producer, JobPtr job) {
  CountAsProducer(producer);
  Tube& tube = *producer.used_;
  if (Answers(producer)) return Reply(now, producer, job->body());
  if (const Code code = AdmitsJob(tube, job->priority, true); code != Code::kOk) {
    return Refused(code);
  }
  job->durable_ = true;
  job->keep_on_failure_ = true;
  const Time due = job->delay_s == 0 ? 0 : After(now, job->delay_s);
  return Enqueue(now, std::move(job), tube, due);
}

Added Engine::Enqueue(Time now, JobPtr owned, Tube& tube, Time due) {
  Job& job = *owned;
  job.id_ = TakeId(job.durable_);
  job.created = now;
  Count(tube, &JobCounts::total_jobs);
  Insert(std::move(owned), tube);
  if (due > now) {
    EnterDelayed(job, due);
  } else {
    EnterReady(job);
  }
  Append(job, Record::Kind::kPut);
  const Added added{Code::kOk, job.id_, VisibleFrom(job)};
  Serve(now, tube, &job);
  return added;
}

Added Engine::Reply(Time now, Consumer& producer, std::string_view body) {
  const std::string_view digits =
      std::string_view(producer.used_->name()).substr(kReplyPrefix.size());
  JobId id = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), id);
  if (error != std::errc() || end != digits.end()) return {Code::kNotFound};
  const Progress answer{Progress::Kind::kData, body};
  if (!Report(now, producer, id, answer).ok()) return {Code::kNotFound};
  const JobId unused = TakeId(/*recorded=*/false);
  return {Code::kOk, unused, ids_lsn_};
}

Added Engine::Submit(Time now, Consumer& producer, JobPtr job, const Submission& submission) {
  CountAsProducer(producer);
  if (draining_) return Refused(Code::kDraining);
  Tube* const found = TubeForUse(submission.tube);
  if (found == nullptr) return Refused(Code::kTooManyTubes);
  Tube& tube = *found;
  job->unique_is_body_ = submission.unique_is_body;
  if (UniqueIndex::HasKey(*job)) {
    if (Job* known = uniques_.Find(tube, UniqueIndex::KeyOf(*job), job->unique_is_body_)) {
      return JoinJob(*known, submission.waiter);
    }
  }
  job->durable_ = submission.waiter == nullptr;
  if (const Code code = AdmitsJob(tube, job->priority, job->durable_); code != Code::kOk) {
    ReleaseTube(tube);
    return Refused(code);
  }
  if (submission.due > now) {
    job->delay_s = static_cast<std::uint32_t>(
        std::min<Time>((submission.due - now + kSecond - 1) / kSecond, UINT32_MAX));
  }
  if (!submission.reducer.empty()) job->MakeExtra().reducer = submission.reducer;
  if (submission.waiter != nullptr) AddWaiter(*job, *submission.waiter);
  return Enqueue(now, std::move(job), tube, submission.due);
}

Added Engine::JoinJob(Job& job, JobObserver* waiter) {
  if (waiter != nullptr) {
    AddWaiter(job, *waiter);
  } else if (!job.durable_) {
    if (!journal_.Accepts(Record::Kind::kPut)) return Refused(Code::kJournal);
    job.durable_ = true;
    job.unheard_ = false;
    Append(job, Record::Kind::kPut);
  }
  return {Code::kOk, job.id_, VisibleFrom(job)};
}

void Engine::AddWaiter(Job& job, JobObserver& observer) {
  auto* waiter = new Waiter(job, observer);
  job.MakeExtra().waiters.push_back(*waiter);
  job.unheard_ = false;
  observer.waits_.push_back(*waiter);
}

bool Engine::Forget(JobObserver& observer) {
  std::size_t steps = kForgetSteps;
  while (!observer.waits_.empty()) {
    if (steps-- == 0) return false;
    Waiter& waiter = observer.waits_.front();
    Job& job = waiter.job;
    observer.waits_.pop_front();
    job.extra_->waiters.erase(job.extra_->waiters.iterator_to(waiter));
    delete &waiter;
    if (job.durable_ || !job.extra_->waiters.empty()) continue;
    if (job.state_ == JobState::kReserved) {
      job.unheard_ = true;
    } else {
      Count(*job.tube_, &JobCounts::dropped);
      Erase(job);
    }
  }
  return true;
}

void Engine::DropWaiters(Job& job) {
  if (job.extra_ == nullptr) return;
  job.extra_->waiters.clear_and_dispose([](Waiter* waiter) {
    WaiterList<ByObserver>& others = waiter->observer.waits_;
    others.erase(others.iterator_to(*waiter));
    delete waiter;
  });
}

void Engine::Tell(Job& job, Finish::Kind kind, std::string_view data, Lsn lsn) {
  if (job.extra_ == nullptr || job.extra_->waiters.empty()) return;
  const Finish finish{kind, data, lsn};
  for (Waiter& waiter : job.extra_->waiters) {
    ++effort_;
    waiter.observer.OnFinished(job, finish);
  }
  DropWaiters(job);
}

}  // namespace gearstalk
