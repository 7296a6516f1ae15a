// Ready jobs meet waiting consumers.
//
// Who waits: a consumer that reserves (beanstalk) is given its job at once when there is one
// (OnReserved). One that sleeps (a Gearman worker after PRE_SLEEP) is only told that there is one
// (OnJobsAvailable, the NOOP), and has to ask for it.
//
// What a promise is: the job for which a sleeper was woken is left for it, so that it does not wake
// in vain; its tube counts it as promised. The promise ends when the sleeper asks (Grab), sleeps
// again or leaves, or after 100 ms, when nobody counts on it any more: then all sleepers of the
// tube are woken and those who reserve are served.
//
// What wakes whom: whatever makes a job ready, or lets a tube give again, ends with Serve: the one
// who has waited longest first (WaitingLine), until jobs or waiters run out. A consumer that begins
// to wait has looked for a job before (BestFor, ReadyTubes).
//
// What it costs: O(1) for a tube whose waiters watch few tubes, whatever waits elsewhere; for
// waiters of many tubes as WaitingLine says. A slice of kSlice jobs at most is served at a time.

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Steps after which broken promises let others go first.
constexpr std::uint64_t kBreakEffort = 16'384;
// How long a woken sleeper may take before everybody is woken in its place.
constexpr Time kPromiseLasts = 100 * kMillisecond;
// Expired jobs that one look for a job may remove.
constexpr std::size_t kExpired = 4096;

}  // namespace

// The most urgent job of the tubes it watches. One that is past its expiry goes first.
Job* Engine::BestFor(Time now, Consumer& consumer) {
  if (next_pause_end_ <= now) EndPauses(now);
  Job* best = ready_tubes_.FrontFor(consumer, effort_);
  for (std::size_t steps = 0; best != nullptr && best->ExpiredAt(now); ++steps) {
    if (steps == kExpired || !expiries_.Expire(now, *best)) return nullptr;
    best = ready_tubes_.FrontFor(consumer, effort_);
  }
  return best;
}

void Engine::BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until) {
  GS_CHECK(!consumer.waiting());
  consumer.wait_began_ = now;
  consumer.waited_ = 0;
  consumer.wait_ = wait;
  consumer.wait_until_ = until;
  ++totals_.waiting;
  waiting_.Begin(consumer);
  ArmConsumer(consumer);
}

void Engine::EndWait(Consumer& consumer) {
  if (!consumer.waiting()) return;
  waiting_.Leave(consumer);
  consumer.wait_ = Consumer::Wait::kNone;
  --totals_.waiting;
}

// It gets a job, or is told that there is one.
void Engine::EndWaitForJob(Time now, Consumer& consumer) {
  consumer.waited_ = now - consumer.wait_began_;
  EndWait(consumer);
}

void Engine::StopWaiting(Consumer& consumer) { EndWait(consumer); }

// Hands ready jobs to those who reserve and wakes those who sleep, first come first, until jobs or
// waiters run out, or after a slice, which makes the tube due again. A job for which somebody was
// woken is left for him. `fresh` is the job that just got ready, if there is one.
bool Engine::Serve(Time now, Tube& tube, const Job* fresh, std::size_t most) {
  if (next_pause_end_ <= now) EndPauses(now);
  if (!Runnable(tube)) return false;
  if (options_.wake_all && fresh != nullptr && fresh->state_ == JobState::kReady)
    WakeSleepers(now, tube);
  std::size_t served = 0;
  for (; Runnable(tube) && tube.ready() > tube.promised_; ++served) {
    Consumer* consumer = waiting_.Longest(tube);
    if (consumer == nullptr || tube.promised_ >= pace_.Places(now, tube)) break;
    if (served == most) {
      deadlines_.Arm(tube, now);
      break;
    }
    ++effort_;
    if (tube.ready_.front()->ExpiredAt(now)) {
      if (!expiries_.Expire(now, *tube.ready_.front())) break;
      continue;
    }
    if (consumer->wait_ == Consumer::Wait::kSleeping) {
      Wake(now, *consumer, tube);
      continue;
    }
    EndWaitForJob(now, *consumer);
    const Taken taken = Take(now, *tube.ready_.front(), *consumer);
    consumer->OnReserved(*taken.job, taken.lsn);
  }
  return served > 0;
}

// Tubes that give again all at once: the most urgent job of them all leaves first. Those that the
// slice does not reach are due at once.
void Engine::ServeTogether(Time now, std::vector<Tube*> tubes) {
  if (tubes.size() == 1) {
    Serve(now, *tubes.front());
    return;
  }
  for (Tube* tube : tubes) ++tube->using_;
  const std::vector<Tube*> all = tubes;
  std::erase_if(tubes, [](const Tube* tube) { return !Runnable(*tube); });
  const auto later = [this](const Tube* a, const Tube* b) {
    return ready_tubes_.LeavesBefore(*b->FrontJob(), *a->FrontJob());
  };
  std::make_heap(tubes.begin(), tubes.end(), later);
  for (std::size_t served = 0; !tubes.empty() && served < kSlice; ++served) {
    std::pop_heap(tubes.begin(), tubes.end(), later);
    if (Serve(now, *tubes.back(), nullptr, 1) && Runnable(*tubes.back())) {
      std::push_heap(tubes.begin(), tubes.end(), later);
    } else {
      tubes.pop_back();
    }
  }
  for (Tube* tube : tubes) deadlines_.Arm(*tube, now);
  for (Tube* tube : all) {
    --tube->using_;
    ReleaseTube(*tube);
  }
}

void Engine::Wake(Time now, Consumer& sleeper, Tube& tube) {
  EndWaitForJob(now, sleeper);
  sleeper.promised_ = &tube;
  sleeper.promise_ends_ = now + kPromiseLasts;
  ++tube.promised_;
  promised_.push_back(sleeper);
  sleeper.OnJobsAvailable();
}

void Engine::WakeSleepers(Time now, Tube& tube) {
  std::vector<Consumer*> sleepers;
  waiting_.Visit(tube, [&](Consumer& consumer) {
    if (consumer.wait_ == Consumer::Wait::kSleeping) sleepers.push_back(&consumer);
  });
  for (Consumer* sleeper : sleepers) {
    EndWaitForJob(now, *sleeper);
    sleeper->OnJobsAvailable();
  }
}

Tube* Engine::TakePromise(Consumer& consumer) {
  Tube* tube = consumer.promised_;
  if (tube == nullptr) return nullptr;
  consumer.promised_ = nullptr;
  --tube->promised_;
  promised_.erase(promised_.iterator_to(consumer));
  return tube;
}

void Engine::DropPromise(Time now, Consumer& consumer) {
  if (Tube* tube = TakePromise(consumer)) Serve(now, *tube);
}

// Workers of libgearman that were put out of step by a JOB_NOT_FOUND sleep while they have a job:
// its CAN_DO_TIMEOUT ends, as in gearmand. A TTR goes on.
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

void Engine::Sleep(Time now, Consumer& consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  EndRunLimits(consumer);
  BeginWait(now, consumer, Consumer::Wait::kSleeping, kNever);
  if (const Job* job = BestFor(now, consumer)) Wake(now, consumer, *job->tube_);
}

void Engine::BreakPromises(Time now) {
  const std::uint64_t enough = effort_ + kBreakEffort;
  while (!promised_.empty() && promised_.front().promise_ends_ <= now && effort_ < enough) {
    BreakPromise(now, promised_.front());
  }
}

// It did not come. Those who reserve get the job it was woken for, all others are woken.
void Engine::BreakPromise(Time now, Consumer& consumer) {
  Tube& tube = *TakePromise(consumer);
  if (Runnable(tube)) WakeSleepers(now, tube);
  Serve(now, tube);
}

}  // namespace gearstalk
