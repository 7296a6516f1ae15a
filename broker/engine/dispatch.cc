#include "broker/engine/dispatch.h"

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Steps of one tick that may go into breaking promises.
constexpr std::uint64_t kBreakEffort = 16'384;
// How long a woken sleeper may take to ask for its job before all sleepers are woken instead.
constexpr Time kPromiseLasts = 100 * kMillisecond;
// Expired jobs that one look for a job may remove.
constexpr std::size_t kExpired = 4096;

}  // namespace

Job* Dispatch::BestFor(Time now, Consumer& consumer) {
  engine_.pauses_.EndDue(now);
  Job* best = ready_.FrontFor(consumer.watched_, consumer.index_, engine_.effort_);
  for (std::size_t steps = 0; best != nullptr && best->ExpiredAt(now); ++steps) {
    if (steps == kExpired) {
      ServeSoon(now, consumer.watched_);
      return nullptr;
    }
    engine_.expiries_.Expire(now, *best);
    best = ready_.FrontFor(consumer.watched_, consumer.index_, engine_.effort_);
  }
  return best;
}

// A job may lie behind the expired ones: the next Tick serves who waits for it.
void Dispatch::ServeSoon(Time now, const WatchList& watched) {
  for (const auto& watch : watched) {
    if (watch->tube.ready() > 0) engine_.deadlines_.Arm(watch->tube, now);
  }
}

void Dispatch::BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until) {
  GS_CHECK(!consumer.waiting());
  consumer.wait_began_ = now;
  consumer.waited_ = 0;
  consumer.wait_ = wait;
  consumer.wait_until_ = until;
  ++engine_.totals_.waiting;
  consumer.wait_since_ = line_.Begin();
  line_.Enter(consumer);
  engine_.ArmConsumer(consumer);
}

void Dispatch::EndWait(Consumer& consumer) {
  if (!consumer.waiting()) return;
  line_.Leave(consumer);
  consumer.wait_ = Consumer::Wait::kNone;
  --engine_.totals_.waiting;
}

// The consumer gets a job, or is woken for one.
void Dispatch::EndWaitForJob(Time now, Consumer& consumer) {
  consumer.waited_ = now - consumer.wait_began_;
  EndWait(consumer);
}

void Dispatch::Serve(Time now, Tube& tube, const Job* fresh) {
  ServeSome(now, tube, fresh, Engine::kSlice);
}

bool Dispatch::ServeSome(Time now, Tube& tube, const Job* fresh, std::size_t most) {
  // The end of a pause may find `fresh` expired.
  const bool wakes =
      engine_.options_.wake_all && fresh != nullptr && fresh->state_ == JobState::kReady;
  engine_.pauses_.EndDue(now);
  if (!Runnable(tube)) return false;
  if (wakes) WakeSleepers(now, tube);
  std::size_t served = 0;
  for (; Runnable(tube) && tube.ready() > tube.promised_; ++served) {
    Consumer* consumer = line_.Longest(tube);
    if (consumer == nullptr || tube.promised_ >= engine_.pace_.Places(now, tube)) break;
    if (served == most) {
      engine_.deadlines_.Arm(tube, now);
      break;
    }
    ++engine_.effort_;
    if (tube.FrontJob()->ExpiredAt(now)) {
      engine_.expiries_.Expire(now, *tube.FrontJob());
      continue;
    }
    if (consumer->wait_ == Consumer::Wait::kSleeping) {
      Wake(now, *consumer, tube);
      continue;
    }
    EndWaitForJob(now, *consumer);
    const Taken taken = engine_.Take(now, *tube.FrontJob(), *consumer);
    consumer->OnReserved(*taken.job, taken.lsn);
  }
  return served > 0;
}

void Dispatch::ServeTogether(Time now, std::vector<Tube*> tubes) {
  if (tubes.size() == 1) {
    Serve(now, *tubes.front());
    return;
  }
  for (Tube* tube : tubes) ++tube->using_;
  const std::vector<Tube*> all = tubes;
  std::erase_if(tubes, [](const Tube* tube) { return !Runnable(*tube); });
  // A tube may have lost its front job: when a job expired in another tube and moved here, the
  // consumers that waited here were served.
  const auto later = [this](const Tube* a, const Tube* b) {
    const Job* const front = a->FrontJob();
    const Job* const other = b->FrontJob();
    return other != nullptr && (front == nullptr || ready_.LeavesBefore(*other, *front));
  };
  std::make_heap(tubes.begin(), tubes.end(), later);
  for (std::size_t served = 0; !tubes.empty() && served < Engine::kSlice; ++served) {
    std::pop_heap(tubes.begin(), tubes.end(), later);
    if (ServeSome(now, *tubes.back(), nullptr, 1) && Runnable(*tubes.back())) {
      std::push_heap(tubes.begin(), tubes.end(), later);
    } else {
      tubes.pop_back();
    }
  }
  for (Tube* tube : tubes) engine_.deadlines_.Arm(*tube, now);
  for (Tube* tube : all) {
    --tube->using_;
    engine_.ReleaseTube(*tube);
  }
}

void Dispatch::Wake(Time now, Consumer& sleeper, Tube& tube) {
  EndWaitForJob(now, sleeper);
  sleeper.promised_ = &tube;
  sleeper.promise_ends_ = now + kPromiseLasts;
  ++tube.promised_;
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
  --tube->promised_;
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
  if (job != nullptr) Wake(now, consumer, *job->tube_);
}

Time Dispatch::BreakPromises(Time now) {
  const std::uint64_t enough = engine_.effort_ + kBreakEffort;
  while (!promised_.empty() && promised_.front().promise_ends_ <= now && engine_.effort_ < enough) {
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
