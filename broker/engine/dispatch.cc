#include "broker/engine/dispatch.h"

#include <algorithm>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/bad_ends.h"

namespace gearstalk {
namespace {

// Steps of one tick that may go into breaking promises.
constexpr std::uint64_t kBreakEffort = 16'384;
// How long a woken sleeper may take to ask for its job before all sleepers are woken instead.
constexpr Time kPromiseLasts = 100 * kMillisecond;
// Expired jobs that one look for a job may remove.
constexpr std::size_t kExpired = 4096;

}  // namespace

Dispatch::Dispatch(JobStore& store, BadEnds& bad_ends)
    : store_(store), bad_ends_(bad_ends), line_(store.effort) {}

// --- Waiting -------------------------------------------------------------------------------------

Job* Dispatch::BestFor(Time now, Consumer& consumer) {
  EndPauses(now);
  Job* best = store_.ready.FrontFor(consumer.watched_, consumer.index_, store_.effort);
  for (std::size_t steps = 0; best != nullptr && best->ExpiredAt(now); ++steps) {
    if (steps == kExpired) {
      ServeSoon(now, consumer.watched_);
      return nullptr;
    }
    bad_ends_.Expire(now, *best);
    best = store_.ready.FrontFor(consumer.watched_, consumer.index_, store_.effort);
  }
  return best;
}

// A job may lie behind the expired ones: the next Tick serves who waits for it.
void Dispatch::ServeSoon(Time now, const WatchList& watched) {
  for (const auto& watch : watched) {
    if (watch->tube.ready() > 0) store_.deadlines.Arm(watch->tube, now);
  }
}

void Dispatch::BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until) {
  GS_CHECK(!consumer.waiting());
  consumer.wait_began_ = now;
  consumer.waited_ = 0;
  consumer.wait_ = wait;
  consumer.wait_until_ = until;
  ++store_.totals.waiting;
  consumer.wait_since_ = line_.Begin();
  line_.Enter(consumer);
  Arm(consumer);
}

void Dispatch::EndWait(Consumer& consumer) {
  if (!consumer.waiting()) return;
  line_.Leave(consumer);
  consumer.wait_ = Consumer::Wait::kNone;
  --store_.totals.waiting;
}

// The consumer gets a job, or is woken for one.
void Dispatch::EndWaitForJob(Time now, Consumer& consumer) {
  consumer.waited_ = now - consumer.wait_began_;
  EndWait(consumer);
}

// --- Handing out ---------------------------------------------------------------------------------

Taken Dispatch::Take(Time now, Job& job, Consumer& consumer) {
  store_.LeaveState(job);
  ++job.reserves;
  store_.Count(job.tube(), &JobCounts::reserves);
  store_.waits.Add(std::exchange(consumer.waited_, 0));
  store_.ages.Add(now - job.created);
  store_.bodies.LookAhead(job.tube());
  // Of a job whose body is to come, they begin with Given.
  const Time deadline = job.has_body() ? BeginLimits(now, job, consumer) : kNever;
  store_.EnterReserved(now, deadline, job, consumer);
  Arm(consumer);
  if (job.tube().policy() != nullptr || store_.options.fair) {
    store_.pace.NoteHandOut(now, job.tube());
  }
  if (UniqueIndex::HasKey(job)) store_.uniques.Prefetch(job);
  Lsn lsn = store_.VisibleFrom(job);
  if (const Groups* const groups = job.tube().groups()) {
    lsn = std::max(lsn, groups->VisibleFrom(job));
  }
  return {&job, lsn};
}

// 0: it has none.
std::uint32_t Dispatch::TtrFor(const Job& job, const Consumer& consumer) const {
  return consumer.needs_ttr_ ? store_.TtrSeconds(job) : job.ttr_s;
}

// The end of its TTR, or of the consumer's own limit if that is sooner.
Time Dispatch::BeginLimits(Time now, Job& job, Consumer& consumer) {
  Time deadline = kNever;
  if (const std::uint32_t ttr_s = TtrFor(job, consumer); ttr_s > 0) deadline = After(now, ttr_s);
  if (const WatchEntry* watch = consumer.watched_.Find(job.tube());
      watch != nullptr && watch->run_limit > 0) {
    JobRest& rest = job.MakeRest();
    rest.run_limit = Later(now, watch->run_limit);
    rest.ttr_ends = deadline;
    consumer.limited_ = true;
    deadline = std::min(deadline, rest.run_limit);
  }
  return deadline;
}

void Dispatch::Given(Time now, Consumer& consumer, JobId id) {
  Job* const job = HeldBy(consumer, id);
  if (job == nullptr) return;
  consumer.held_.Move(job, BeginLimits(now, *job, consumer));
  Arm(consumer);
}

Job* Dispatch::HeldBy(const Consumer& consumer, JobId id) const {
  Job* job = store_.jobs.Find(id);
  return job != nullptr && job->holder() == &consumer ? job : nullptr;
}

void Dispatch::RestartTtr(Time now, Job& job) {
  Consumer& holder = *job.holder();
  const std::uint32_t ttr_s = TtrFor(job, holder);
  if (ttr_s == 0) return;
  const Time ttr_ends = After(now, ttr_s);
  const Time run_limit = job.rest().run_limit;
  if (run_limit != kNever) job.OwnRest()->ttr_ends = ttr_ends;
  holder.held_.Move(&job, std::min(ttr_ends, run_limit));
  Arm(holder);
}

void Dispatch::EndRunLimits(Consumer& consumer) {
  if (!std::exchange(consumer.limited_, false)) return;
  std::vector<Job*> limited;
  for (std::size_t i = 0; i < consumer.held_.size(); ++i) {
    ++store_.effort;
    if (consumer.held_.At(i)->rest().run_limit != kNever) limited.push_back(consumer.held_.At(i));
  }
  for (Job* job : limited) {
    job->OwnRest()->run_limit = kNever;
    consumer.held_.Move(job, job->OwnRest()->ttr_ends);
  }
}

void Dispatch::Arm(Consumer& consumer) {
  const Time expiry = consumer.held_.top_time();
  store_.deadlines.Arm(consumer, expiry);
  if (consumer.wait_ != Consumer::Wait::kReserving) return;
  store_.deadlines.Arm(consumer, consumer.wait_until_);
  if (expiry != kNever) store_.deadlines.Arm(consumer, expiry - kSafetyMargin);
}

void Dispatch::EndDue(Time now, Consumer& consumer, int& steps) {
  const bool reserves = consumer.wait_ == Consumer::Wait::kReserving;
  if (reserves && DeadlineSoon(now, consumer)) {
    EndWait(consumer);
    consumer.OnDeadlineSoon();
  } else if (reserves && consumer.wait_until_ <= now) {
    EndWait(consumer);
    consumer.OnTimedOut();
  }
  while (steps > 0 && consumer.held_.top_time() <= now) {
    --steps;
    Job& job = *consumer.held_.top();
    const bool own_limit = job.rest().run_limit <= now;
    const BadEnd how = own_limit ? BadEnd::kRunLimit : BadEnd::kTimeout;
    if (bad_ends_.End(now, job, {.how = how}).ready) Serve(now, job.tube(), &job);
    ServeFreed(now);
  }
  Arm(consumer);
}

void Dispatch::EndDuePauses(Time now) { ServeTogether(now, store_.pauses.TakeDue(now)); }

void Dispatch::ServeAllFreed(Time now) {
  while (store_.pace.has_freed()) Serve(now, store_.pace.TakeFreed(now));
}

void Dispatch::Serve(Time now, Tube& tube, const Job* fresh) {
  ServeSome(now, tube, fresh, JobStore::kSlice);
}

void Dispatch::ServeTubesOf(Time now, std::vector<const Job*> jobs) {
  std::sort(jobs.begin(), jobs.end(),
            [](const Job* a, const Job* b) { return MoreUrgent(*a, *b); });
  for (const Job* job : jobs) Serve(now, job->tube(), job);
}

bool Dispatch::ServeSome(Time now, Tube& tube, const Job* fresh, std::size_t most) {
  // The end of a pause may find `fresh` expired.
  const bool wakes =
      store_.options.wake_all && fresh != nullptr && fresh->state() == JobState::kReady;
  EndPauses(now);
  if (!Runnable(tube)) return false;
  if (wakes) WakeSleepers(now, tube);
  std::size_t served = 0;
  for (; Runnable(tube) && tube.ready() > tube.promised; ++served) {
    Consumer* consumer = line_.Longest(tube);
    if (consumer == nullptr || tube.promised >= store_.pace.Places(now, tube)) break;
    if (served == most) {
      store_.deadlines.Arm(tube, now);
      break;
    }
    ++store_.effort;
    if (tube.FrontJob()->ExpiredAt(now)) {
      bad_ends_.Expire(now, *tube.FrontJob());
      continue;
    }
    if (consumer->wait_ == Consumer::Wait::kSleeping) {
      Wake(now, *consumer, tube);
      continue;
    }
    EndWaitForJob(now, *consumer);
    const Taken taken = Take(now, *tube.FrontJob(), *consumer);
    consumer->OnReserved(*taken.job, taken.lsn);
  }
  return served > 0;
}

void Dispatch::ServeTogether(Time now, std::vector<Tube*> tubes) {
  if (tubes.size() == 1) {
    Serve(now, *tubes.front());
    return;
  }
  for (Tube* tube : tubes) ++tube->using_count;
  const std::vector<Tube*> all = tubes;
  std::erase_if(tubes, [](const Tube* tube) { return !Runnable(*tube); });
  // A tube may have lost its front job: when a job expired in another tube and moved here, the
  // consumers that waited here were served.
  const auto later = [this](const Tube* a, const Tube* b) {
    const Job* const front = a->FrontJob();
    const Job* const other = b->FrontJob();
    return other != nullptr && (front == nullptr || store_.ready.LeavesBefore(*other, *front));
  };
  std::make_heap(tubes.begin(), tubes.end(), later);
  for (std::size_t served = 0; !tubes.empty() && served < JobStore::kSlice; ++served) {
    std::pop_heap(tubes.begin(), tubes.end(), later);
    if (ServeSome(now, *tubes.back(), nullptr, 1) && Runnable(*tubes.back())) {
      std::push_heap(tubes.begin(), tubes.end(), later);
    } else {
      tubes.pop_back();
    }
  }
  for (Tube* tube : tubes) store_.deadlines.Arm(*tube, now);
  for (Tube* tube : all) {
    --tube->using_count;
    store_.ReleaseTube(*tube);
  }
}

// --- Promises ------------------------------------------------------------------------------------

void Dispatch::Wake(Time now, Consumer& sleeper, Tube& tube) {
  EndWaitForJob(now, sleeper);
  sleeper.promised_ = &tube;
  sleeper.promise_ends_ = now + kPromiseLasts;
  ++tube.promised;
  promised_.push_back(sleeper);
  sleeper.OnJobsAvailable();
}

void Dispatch::WakeSleepers(Time now, Tube& tube) {
  std::vector<Consumer*> sleepers;
  line_.Visit(tube, [&](Consumer& consumer) {
    if (consumer.wait_ == Consumer::Wait::kSleeping) sleepers.push_back(&consumer);
  });
  for (Consumer* sleeper : sleepers) {
    EndWaitForJob(now, *sleeper);
    sleeper->OnJobsAvailable();
  }
}

Tube* Dispatch::TakePromise(Consumer& consumer) {
  Tube* tube = consumer.promised_;
  if (tube == nullptr) return nullptr;
  consumer.promised_ = nullptr;
  --tube->promised;
  promised_.erase(promised_.iterator_to(consumer));
  return tube;
}

void Dispatch::DropPromise(Time now, Consumer& consumer) {
  if (Tube* tube = TakePromise(consumer)) Serve(now, *tube);
}

// Looks for a job before the consumer waits: BestFor may end a pause or move a job, which wakes
// sleepers, and this one would be woken twice.
void Dispatch::Sleep(Time now, Consumer& consumer) {
  const Job* job = BestFor(now, consumer);
  BeginWait(now, consumer, Consumer::Wait::kSleeping, kNever);
  if (job != nullptr) Wake(now, consumer, job->tube());
}

Time Dispatch::BreakPromises(Time now) {
  const std::uint64_t enough = store_.effort + kBreakEffort;
  while (!promised_.empty() && promised_.front().promise_ends_ <= now && store_.effort < enough) {
    BreakPromise(now, promised_.front());
  }
  return promised_.empty() ? kNever : promised_.front().promise_ends_;
}

// The sleeper did not ask for its job. A waiting `reserve` gets the job; otherwise all sleepers are
// woken.
void Dispatch::BreakPromise(Time now, Consumer& consumer) {
  Tube& tube = *TakePromise(consumer);
  if (Runnable(tube)) WakeSleepers(now, tube);
  Serve(now, tube);
}

}  // namespace gearstalk
