#include "broker/engine/producing.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/split.h"
#include "broker/engine/bad_ends.h"
#include "broker/engine/consuming.h"
#include "broker/engine/dispatch.h"
#include "broker/policy/body_key.h"

namespace gearstalk {

// Whether the tube takes a new job; counts it as refused if not.
Code Producing::AdmitsJob(Tube& tube, const Job& job) {
  if (const Policy* const policy = tube.policy()) {
    // Only copies and scheduled jobs get here with a larger one.
    const std::uint64_t largest = policy->max_job_size;
    if (largest > 0 && job.body_size() > largest) return store_.CountRefused(Code::kOutOfMemory);
    if (policy->max_bytes > 0 && tube.job_bytes() + job.memory() > policy->max_bytes) {
      store_.CountPolicy(tube, &PolicyCounts::refused_memory);
      return Code::kOutOfMemory;
    }
  }
  if (store_.MemoryFull()) return store_.CountRefused(Code::kOutOfMemory);
  if (store_.Full(tube, job.priority)) return store_.CountRefused(Code::kQueueFull);
  if (tube.groups() != nullptr) {
    if (const Code code = Grouping::Admits(tube, job); code != Code::kOk) {
      return store_.CountRefused(code);
    }
  }
  if (!job.durable || !store_.persistent) return Code::kOk;
  const Code code = store_.AcceptsNew(job.body_size());
  return code == Code::kOk ? code : store_.CountRefused(code);
}

Added Producing::Put(Time now, Consumer& producer, JobPtr&& job, ComparisonPtr* compared) {
  consuming_.CountAsProducer(producer);
  if (PutsAnswers(producer)) return Reply(now, producer, std::move(job));
  job->durable = job->keep_on_failure = true;
  const Time due = After(now, job->delay_s);
  return Add(now, std::move(job), *producer.used(),
             {.due = due, .compared = compared, .producer = &producer});
}

Added Producing::PutInto(Time now, std::string_view name, JobPtr&& job, ComparisonPtr* compared,
                         const Record::Schedule* made_by) {
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube* const tube = store_.TubeForUse(name);
  if (tube == nullptr) return store_.Refused(Code::kTooManyTubes);
  job->durable = job->keep_on_failure = true;
  const Time due = After(now, job->delay_s);
  return Add(now, std::move(job), *tube, {.due = due, .schedule = made_by, .compared = compared});
}

// Every new job is added here.
Added Producing::Add(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
  ++tube.using_count;
  const Added added =
      store_.draining ? store_.Refused(Code::kDraining) : Admit(now, std::move(job), tube, arrival);
  --tube.using_count;
  store_.ReleaseTube(tube);
  if (arrival.compared == nullptr || !Waits(*arrival.compared)) job.reset();
  return added;
}

// Keeps the job only if the put has to wait to be compared, and nothing has happened then.
inline Added Producing::Admit(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
  const Policy* const policy = tube.policy();
  if (policy != nullptr && !MakeKey(job, *policy)) return store_.Refused(Code::kOutOfMemory);
  if (StillWaits(arrival.compared) || HasToCompare(*job, tube, arrival)) return {};
  if (UniqueIndex::HasKey(*job)) {
    if (const std::optional<Added> known = FindEqual(now, *job, tube, arrival)) return *known;
  }
  if (arrival.waiter != nullptr && store_.TablesFull()) return store_.Refused(Code::kOutOfMemory);
  if (const Code code = AdmitsJob(tube, *job); code != Code::kOk) return {code};
  if (policy != nullptr && !policy->copy_to.empty()) {
    return EnqueueAndCopy(now, std::move(job), tube, arrival);
  }
  return Enqueue(now, std::move(job), tube, arrival);
}

Added Producing::EnqueueAndCopy(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival) {
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
    store_.CountPolicy(tube, &PolicyCounts::copies);
    added.lsn = std::max(added.lsn, made.lsn);
  }
  DropCopies(copies);
  return added;
}

// Makes the key of a job that comes without one from its body, if the tube's policy says so.
// False: there is no memory for it.
bool Producing::MakeKey(JobPtr& job, const Policy& policy) {
  if (!job->unique().empty()) return true;
  if (policy.unique == Policy::Unique::kBody && job->body_size() > 0) return Job::TryKeyByBody(job);
  if (policy.unique != Policy::Unique::kJson) return true;
  std::string key = BodyKey(job->body(), policy.unique_pointer);
  if (!key.empty()) job->MakeTexts().key = std::move(key);
  return true;
}

UniqueIndex::Match Producing::FindMatch(const Job& job, const Tube& tube,
                                        const Comparison* compared) const {
  const std::string_view body = job.body_hash().empty() ? std::string_view() : job.body();
  return store_.uniques.FindEqual(
      tube, UniqueIndex::KeyOf(job), job.unique_is_body, body,
      [&](const Job& cold) { return compared != nullptr && compared->IsDone(cold); });
}

// Whether a body has to be read before anything is decided. One that is damaged is no equal one.
bool Producing::HasToCompare(const Job& job, const Tube& tube, const Arrival& arrival) {
  if (arrival.compared == nullptr || job.body_hash().empty()) return false;
  ComparisonPtr& compared = *arrival.compared;
  const UniqueIndex::Match match = FindMatch(job, tube, compared.get());
  if (match.equal != nullptr || match.cold == nullptr) return false;
  store_.bodies.BringToCompare(*match.cold, compared, arrival.producer);
  return Waits(compared);
}

// The result of a put or submit whose key is taken; nullopt: it is free.
std::optional<Added> Producing::FindEqual(Time now, const Job& job, Tube& tube,
                                          const Arrival& arrival) {
  const bool counts = PolicyOf(tube).unique != Policy::Unique::kNone;
  JobObserver* const waiter = arrival.waiter;
  const UniqueIndex::Match match =
      FindMatch(job, tube, arrival.compared == nullptr ? nullptr : arrival.compared->get());
  Job* known = match.equal;
  if (known == nullptr && arrival.compared == nullptr) known = match.cold;
  // A job past its expiry will not run, so nothing may join it.
  if (known != nullptr && known->state() != JobState::kReserved && known->ExpiredAt(now)) {
    known = bad_ends_.Expire(now, *known) ? nullptr : known;
  }
  if (known != nullptr) {
    if (counts) store_.CountPolicy(tube, &PolicyCounts::duplicates);
    return JoinJob(*known, waiter);
  }
  // A client waits for a foreground job, so it has to run.
  if (waiter != nullptr || store_.seen.size() == 0) return std::nullopt;
  const SeenKeys::Seen* const seen = store_.seen.Find(tube.name(), SeenKeys::KeyOf(job));
  if (seen == nullptr || seen->until <= now) return std::nullopt;
  if (counts) store_.CountPolicy(tube, &PolicyCounts::duplicates);
  return Added{Code::kOk, seen->id, 0, /*joined=*/true};
}

// Makes a copy for each tube of copy_to; counts a refusal. The copies keep their tubes from going.
Code Producing::MakeCopies(const Job& job, const Tube& tube, std::vector<Copy>& copies) {
  for (const std::string& name : tube.policy()->copy_to) {
    if (name == tube.name()) continue;
    JobPtr copy = Job::TryNew(job.body_size());
    if (copy == nullptr) return store_.CountRefused(Code::kOutOfMemory);
    Tube* const to = store_.TubeForUse(name);
    if (to == nullptr) return store_.CountRefused(Code::kTooManyTubes);
    ++to->using_count;
    std::memcpy(copy->space().data(), job.body().data(), job.body_size());
    copy->priority = job.priority;
    copy->ttr_s = job.ttr_s;
    copy->delay_s = job.delay_s;
    copy->durable = true;
    copy->keep_on_failure = job.keep_on_failure;
    copies.push_back({to, std::move(copy)});
    if (to->policy() != nullptr && !MakeKey(copies.back().job, *to->policy())) {
      return store_.CountRefused(Code::kOutOfMemory);
    }
  }
  return Code::kOk;
}

// Asks the tubes of all copies whether they accept them; drops those that their tubes have. Counts
// a refusal.
Code Producing::AdmitCopies(Time now, std::vector<Copy>& copies, const Arrival& arrival) {
  for (const Copy& copy : copies) {
    if (HasToCompare(*copy.job, *copy.to, arrival)) return Code::kOk;
  }
  const Arrival of_copy{.compared = arrival.compared};
  for (auto copy = copies.begin(); copy != copies.end();) {
    auto& [to, job] = *copy;
    if (UniqueIndex::HasKey(*job) && FindEqual(now, *job, *to, of_copy)) {
      --to->using_count;
      store_.ReleaseTube(*to);
      copy = copies.erase(copy);
      continue;
    }
    if (const Code code = AdmitsJob(*to, *job); code != Code::kOk) return code;
    ++copy;
  }
  return Code::kOk;
}

void Producing::DropCopies(std::vector<Copy>& copies) {
  for (const auto& [to, job] : copies) {
    --to->using_count;
    store_.ReleaseTube(*to);
  }
  copies.clear();
}

Added Producing::Enqueue(Time now, JobPtr&& owned, Tube& tube, const Arrival& arrival) {
  Job& job = *owned;
  if (arrival.waiter != nullptr) store_.waiters.Add(job, *arrival.waiter);
  job.created = now;
  store_.Count(tube, &JobCounts::total_jobs);
  if (tube.policy() != nullptr) job.ttr_s = tube.policy()->TtrOf(job.ttr_s);
  store_.ticked = std::max(store_.ticked, now);
  store_.Insert(store_.ids.Take(job.durable), std::move(owned), tube);
  if (tube.policy() != nullptr) Expiries::Set(job, std::max(arrival.due, now));
  if (arrival.due > now) {
    store_.EnterDelayed(job, arrival.due);
  } else {
    store_.EnterReady(job);
  }
  if (tube.groups() != nullptr) Grouping::NoteMissing(tube, job);
  store_.Append(job, Record::Kind::kPut, {.schedule = arrival.schedule});
  const Added added{Code::kOk, job.id(), store_.VisibleFrom(job)};
  dispatch_.Serve(now, tube, &job);
  return added;
}

Added Producing::Reply(Time now, Consumer& producer, JobPtr job) {
  const std::string_view digits =
      std::string_view(producer.used()->name()).substr(kReplyPrefix.size());
  JobId id = 0;
  if (!ParseNumber(digits, id)) return {Code::kNotFound};
  const std::string_view body = job->body();
  const Progress answer{Progress::Kind::kData, {body, std::shared_ptr<const Job>(std::move(job))}};
  if (!consuming_.WorkProgress(now, producer, id, answer).ok()) return {Code::kNotFound};
  const JobId unused = store_.ids.Take(/*recorded=*/false);
  return {Code::kOk, unused, store_.ids.lsn()};
}

Added Producing::Submit(Time now, Consumer& producer, JobPtr&& job, const Submission& submission,
                        ComparisonPtr* compared) {
  consuming_.CountAsProducer(producer);
  if (store_.draining) return store_.Refused(Code::kDraining);
  if (TakesAnswers(submission.tube)) return store_.Refused(Code::kInvalid);
  if (submission.unique_is_body && !Job::TryKeyByBody(job))
    return store_.Refused(Code::kOutOfMemory);
  Tube* const tube = store_.TubeForUse(submission.tube);
  if (tube == nullptr)
    return store_.Refused(store_.MemoryFull() ? Code::kOutOfMemory : Code::kTooManyTubes);
  job->durable = submission.waiter == nullptr;
  const Time due = submission.due == kNever ? kNever : Later(submission.due, -store_.wall_ahead);
  if (due > now) {
    job->delay_s =
        static_cast<std::uint32_t>(std::min<Time>((due - now - 1) / kSecond + 1, UINT32_MAX));
  }
  if (!submission.reducer.empty()) job->MakeRest().reducer = submission.reducer;
  return Add(
      now, std::move(job), *tube,
      {.due = due, .waiter = submission.waiter, .compared = compared, .producer = &producer});
}

Added Producing::JoinJob(Job& job, JobObserver* waiter) {
  if (waiter != nullptr) {
    if (store_.TablesFull()) return store_.Refused(Code::kOutOfMemory);
    store_.waiters.Add(job, *waiter);
  } else if (!job.durable) {
    const Code code = store_.AcceptsNew(job.body_size());
    if (code != Code::kOk) return store_.Refused(code);
    store_.SetDurable(job, true);
    job.abandoned = false;
    store_.Append(job, Record::Kind::kPut);
  }
  return {Code::kOk, job.id(), store_.VisibleFrom(job), /*joined=*/true};
}

bool Producing::Forget(JobObserver& observer) {
  for (std::size_t steps = JobStore::kSlice; observer.awaits(); --steps) {
    if (steps == 0) return false;
    Job& job = store_.waiters.EndFirst(observer);
    if (job.durable || !job.rest().waiters.empty()) continue;
    if (job.state() == JobState::kReserved) {
      job.abandoned = true;
    } else {
      store_.Count(job.tube(), &JobCounts::dropped);
      store_.Erase(job);
    }
  }
  return true;
}

}  // namespace gearstalk
