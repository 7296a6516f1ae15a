// New jobs, and the clients that wait for them.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/split.h"
#include "broker/engine/engine.h"
#include "broker/policy/body_key.h"

namespace gearstalk {

bool Engine::Full(const Tube& tube, std::uint32_t priority) const {
  const std::int64_t limit = tube.settings_.max_queue[static_cast<std::size_t>(BandOf(priority))];
  return limit > 0 && tube.unfinished() >= static_cast<std::uint64_t>(limit);
}

// Whether the journal takes the whole record of a job with such a body.
bool Engine::AcceptsWhole(std::uint64_t body) const {
  return journal_.Accepts(Record::Kind::kPut) && journal_.HasRoomFor(body);
}

// kOk: the journal takes a new job with such a body.
Code Engine::AcceptsNew(std::uint64_t body) const {
  if (journal_.Disk().low) return Code::kDiskLow;
  return AcceptsWhole(body) ? Code::kOk : Code::kJournal;
}

// Whether the tube takes a new job; counts it as refused if not.
Code Engine::AdmitsJob(Tube& tube, const Job& job) {
  if (const Policy* const policy = tube.policy()) {
    // Only copies and scheduled jobs get here with a larger one.
    const std::uint64_t largest = policy->max_job_size;
    if (largest > 0 && job.body_size() > largest) return CountRefused(Code::kOutOfMemory);
    if (policy->max_bytes > 0 && tube.job_bytes_ + job.memory() > policy->max_bytes) {
      CountPolicy(tube, &PolicyCounts::refused_memory);
      return Code::kOutOfMemory;
    }
  }
  if (MemoryFull()) return CountRefused(Code::kOutOfMemory);
  if (Full(tube, job.priority)) return CountRefused(Code::kQueueFull);
  if (tube.groups_ != nullptr) {
    if (const Code code = AdmitsToGroup(tube, job); code != Code::kOk) return CountRefused(code);
  }
  if (!job.durable_ || !persistent_) return Code::kOk;
  const Code code = AcceptsNew(job.body_size());
  return code == Code::kOk ? code : CountRefused(code);
}

Code Engine::CountRefused(Code code) {
  ++totals_.refused[static_cast<std::size_t>(code)];
  return code;
}

Added Engine::Put(Time now, Consumer& producer, JobPtr&& job, ComparisonPtr* compared) {
  CountAsProducer(producer);
  if (PutsAnswers(producer)) return Reply(now, producer, std::move(job));
  job->durable_ = job->keep_on_failure_ = true;
  const Time due = After(now, job->delay_s);
  return Add(now, std::move(job), *producer.used_,
             {.due = due, .compared = compared, .producer = &producer});
}

// Every new job is added here.
Added Engine::Add(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
  ++tube.using_;
  const Added added =
      draining_ ? Refused(Code::kDraining) : Admit(now, std::move(job), tube, arrival);
  --tube.using_;
  ReleaseTube(tube);
  if (arrival.compared == nullptr || !Waits(*arrival.compared)) job.reset();
  return added;
}

// Keeps the job only if the put has to wait to be compared, and nothing has happened then.
inline Added Engine::Admit(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
  const Policy* const policy = tube.policy();
  if (policy != nullptr && !MakeKey(job, *policy)) return Refused(Code::kOutOfMemory);
  if (StillWaits(arrival.compared) || HasToCompare(*job, tube, arrival)) return {};
  if (UniqueIndex::HasKey(*job)) {
    if (const std::optional<Added> known = FindEqual(now, *job, tube, arrival)) return *known;
  }
  if (arrival.waiter != nullptr && TablesFull()) return Refused(Code::kOutOfMemory);
  if (const Code code = AdmitsJob(tube, *job); code != Code::kOk) return {code};
  if (policy != nullptr && !policy->copy_to.empty()) {
    return EnqueueAndCopy(now, std::move(job), tube, arrival);
  }
  return Enqueue(now, std::move(job), tube, arrival);
}

Added Engine::EnqueueAndCopy(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
  std::vector<Copy> copies;
  Code code = MakeCopies(*job, tube, copies);
  if (code == Code::kOk) code = AdmitCopies(now, copies, arrival);
  const bool waits = arrival.compared != nullptr && Waits(*arrival.compared);
  if (code != Code::kOk || waits) {
    DropCopies(copies);
    return {code};
  }
  Added added = Enqueue(now, std::move(job), tube, arrival);
  for (auto& [to, copy] : copies) {
    const Added made = Enqueue(now, std::move(copy), *to, {.due = arrival.due});
    CountPolicy(tube, &PolicyCounts::copies);
    added.lsn = std::max(added.lsn, made.lsn);
  }
  DropCopies(copies);
  return added;
}

// Makes the key of a job that comes without one from its body, if the tube's policy says so.
// False: there is no memory for it.
bool Engine::MakeKey(JobPtr& job, const Policy& policy) {
  if (!job->unique().empty()) return true;
  if (policy.unique == Policy::Unique::kBody && job->body_size() > 0) return Job::TryKeyByBody(job);
  if (policy.unique != Policy::Unique::kJson) return true;
  std::string key = BodyKey(job->body(), policy.unique_pointer);
  if (!key.empty()) job->MakeTexts().key = std::move(key);
  return true;
}

UniqueIndex::Match Engine::FindMatch(const Job& job, const Tube& tube,
                                     const Comparison* compared) const {
  const std::string_view body = job.body_hash().empty() ? std::string_view() : job.body();
  return uniques_.FindEqual(
      tube, UniqueIndex::KeyOf(job), job.unique_is_body_, body,
      [&](const Job& cold) { return compared != nullptr && compared->IsDone(cold); });
}

// Whether a body has to be read before anything is decided. One that is damaged is no equal one.
bool Engine::HasToCompare(const Job& job, const Tube& tube, const Arrival& arrival) {
  if (arrival.compared == nullptr || job.body_hash().empty()) return false;
  ComparisonPtr& compared = *arrival.compared;
  const UniqueIndex::Match match = FindMatch(job, tube, compared.get());
  if (match.equal != nullptr || match.cold == nullptr) return false;
  bodies_.BringToCompare(*match.cold, compared, arrival.producer);
  return Waits(compared);
}

// The result of a put or submit whose key is taken; nullopt: it is free.
std::optional<Added> Engine::FindEqual(Time now, const Job& job, Tube& tube,
                                       const Arrival& arrival) {
  const bool counts = PolicyOf(tube).unique != Policy::Unique::kNone;
  JobObserver* const waiter = arrival.waiter;
  const UniqueIndex::Match match =
      FindMatch(job, tube, arrival.compared == nullptr ? nullptr : arrival.compared->get());
  Job* known = match.equal;
  if (known == nullptr && arrival.compared == nullptr) known = match.cold;
  // A job past its expiry will not run, so nothing may join it.
  if (known != nullptr && known->state_ != JobState::kReserved && known->ExpiredAt(now)) {
    known = expiries_.Expire(now, *known) ? nullptr : known;
  }
  if (known != nullptr) {
    if (counts) CountPolicy(tube, &PolicyCounts::duplicates);
    return JoinJob(*known, waiter);
  }
  // A client waits for a foreground job, so it has to run.
  if (waiter != nullptr || seen_.size() == 0) return std::nullopt;
  const SeenKeys::Seen* const seen = seen_.Find(tube.name(), SeenKeys::KeyOf(job));
  if (seen == nullptr || seen->until <= now) return std::nullopt;
  if (counts) CountPolicy(tube, &PolicyCounts::duplicates);
  return Added{Code::kOk, seen->id, 0, /*joined=*/true};
}

// Makes a copy for each tube of copy_to; counts a refusal. The copies keep their tubes from going.
Code Engine::MakeCopies(const Job& job, const Tube& tube, std::vector<Copy>& copies) {
  for (const std::string& name : tube.policy_->copy_to) {
    if (name == tube.name()) continue;
    JobPtr copy = Job::TryNew(job.body_size());
    if (copy == nullptr) return CountRefused(Code::kOutOfMemory);
    Tube* const to = TubeForUse(name);
    if (to == nullptr) return CountRefused(Code::kTooManyTubes);
    ++to->using_;
    std::memcpy(copy->space().data(), job.body().data(), job.body_size());
    copy->priority = job.priority;
    copy->ttr_s = job.ttr_s;
    copy->delay_s = job.delay_s;
    copy->durable_ = true;
    copy->keep_on_failure_ = job.keep_on_failure_;
    copies.push_back({to, std::move(copy)});
    if (to->policy_ != nullptr && !MakeKey(copies.back().job, *to->policy_)) {
      return CountRefused(Code::kOutOfMemory);
    }
  }
  return Code::kOk;
}

// Asks the tubes of all copies whether they accept them; drops those that their tubes have. Counts
// a refusal.
Code Engine::AdmitCopies(Time now, std::vector<Copy>& copies, const Arrival& arrival) {
  for (const Copy& copy : copies) {
    if (HasToCompare(*copy.job, *copy.to, arrival)) return Code::kOk;
  }
  const Arrival of_copy{.compared = arrival.compared};
  for (auto copy = copies.begin(); copy != copies.end();) {
    auto& [to, job] = *copy;
    if (UniqueIndex::HasKey(*job) && FindEqual(now, *job, *to, of_copy)) {
      --to->using_;
      ReleaseTube(*to);
      copy = copies.erase(copy);
      continue;
    }
    if (const Code code = AdmitsJob(*to, *job); code != Code::kOk) return code;
    ++copy;
  }
  return Code::kOk;
}

void Engine::DropCopies(std::vector<Copy>& copies) {
  for (const auto& [to, job] : copies) {
    --to->using_;
    ReleaseTube(*to);
  }
  copies.clear();
}

Added Engine::Enqueue(Time now, JobPtr&& owned, Tube& tube, const Arrival& arrival) {
  Job& job = *owned;
  if (arrival.waiter != nullptr) AddWaiter(job, *arrival.waiter);
  job.id_ = ids_.Take(job.durable_);
  job.created = now;
  Count(tube, &JobCounts::total_jobs);
  if (tube.policy_ != nullptr) job.ttr_s = tube.policy_->TtrOf(job.ttr_s);
  ticked_ = std::max(ticked_, now);
  Insert(std::move(owned), tube);
  if (tube.policy_ != nullptr) expiries_.Set(job, std::max(arrival.due, now));
  if (arrival.due > now) {
    EnterDelayed(job, arrival.due);
  } else {
    EnterReady(job);
  }
  if (tube.groups_ != nullptr) NoteMissing(tube, job);
  Append(job, Record::Kind::kPut, {.schedule = arrival.schedule});
  const Added added{Code::kOk, job.id_, VisibleFrom(job)};
  dispatch_.Serve(now, tube, &job);
  return added;
}

Added Engine::Reply(Time now, Consumer& producer, JobPtr job) {
  const std::string_view digits =
      std::string_view(producer.used_->name()).substr(kReplyPrefix.size());
  JobId id = 0;
  if (!ParseNumber(digits, id)) return {Code::kNotFound};
  const std::string_view body = job->body();
  const Progress answer{Progress::Kind::kData, {body, std::shared_ptr<const Job>(std::move(job))}};
  if (!WorkProgress(now, producer, id, answer).ok()) return {Code::kNotFound};
  const JobId unused = ids_.Take(/*recorded=*/false);
  return {Code::kOk, unused, ids_.lsn()};
}

Added Engine::Submit(Time now, Consumer& producer, JobPtr&& job, const Submission& submission,
                     ComparisonPtr* compared) {
  CountAsProducer(producer);
  if (draining_) return Refused(Code::kDraining);
  if (TakesAnswers(submission.tube)) return Refused(Code::kInvalid);
  if (submission.unique_is_body && !Job::TryKeyByBody(job)) return Refused(Code::kOutOfMemory);
  Tube* const tube = TubeForUse(submission.tube);
  if (tube == nullptr) return Refused(MemoryFull() ? Code::kOutOfMemory : Code::kTooManyTubes);
  job->durable_ = submission.waiter == nullptr;
  const Time due = submission.due == kNever ? kNever : Later(submission.due, -wall_ahead_);
  if (due > now) {
    job->delay_s =
        static_cast<std::uint32_t>(std::min<Time>((due - now - 1) / kSecond + 1, UINT32_MAX));
  }
  if (!submission.reducer.empty()) job->MakeRest().reducer = submission.reducer;
  return Add(
      now, std::move(job), *tube,
      {.due = due, .waiter = submission.waiter, .compared = compared, .producer = &producer});
}

Added Engine::JoinJob(Job& job, JobObserver* waiter) {
  if (waiter != nullptr) {
    if (TablesFull()) return Refused(Code::kOutOfMemory);
    AddWaiter(job, *waiter);
  } else if (!job.durable_) {
    if (const Code code = AcceptsNew(job.body_size()); code != Code::kOk) return Refused(code);
    bodies_.OnErase(job);
    job.durable_ = true;
    bodies_.OnInsert(job);
    job.abandoned_ = false;
    Append(job, Record::Kind::kPut);
  }
  return {Code::kOk, job.id_, VisibleFrom(job), /*joined=*/true};
}

// An observer that joins a job again waits several times: each report is made once and sent as
// often.
void Engine::AddWaiter(Job& job, JobObserver& observer) {
  WaiterList<ByJob>& waiters = job.MakeRest().waiters;
  job.abandoned_ = false;
  const bool first = waiters.empty();
  if (!first) {
    Waiter* const known =
        &waiters.front().observer == &observer ? &waiters.front() : waiters_.Find(job, observer);
    if (known != nullptr) {
      ++known->times;
      return;
    }
  }
  auto* const waiter = new Waiter(job, observer);
  if (!first) waiters_.Insert(*waiter);
  waiters.push_back(*waiter);
  observer.waits_.push_back(*waiter);
}

bool Engine::Forget(JobObserver& observer) {
  std::size_t steps = kSlice;
  while (!observer.waits_.empty()) {
    if (steps-- == 0) return false;
    Waiter& waiter = observer.waits_.front();
    Job& job = waiter.job;
    observer.waits_.pop_front();
    WaiterList<ByJob>& others = job.extra_->rest->waiters;
    others.erase(others.iterator_to(waiter));
    waiters_.Remove(waiter);
    delete &waiter;
    if (job.durable_ || !others.empty()) continue;
    if (job.state_ == JobState::kReserved) {
      job.abandoned_ = true;
    } else {
      Count(*job.tube_, &JobCounts::dropped);
      Erase(job);
    }
  }
  return true;
}

void Engine::DropWaiters(Job& job) {
  if (job.OwnRest() == nullptr) return;
  job.OwnRest()->waiters.clear_and_dispose([this](Waiter* waiter) {
    waiters_.Remove(*waiter);
    WaiterList<ByObserver>& others = waiter->observer.waits_;
    others.erase(others.iterator_to(*waiter));
    delete waiter;
  });
}

void Engine::TellWaiters(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn) {
  const Finish finish{kind, data, lsn};
  for (Waiter& waiter : job.extra_->rest->waiters) {
    ++effort_;
    waiter.observer.OnFinished(job, finish, waiter.times);
  }
  DropWaiters(job);
}

}  // namespace gearstalk
