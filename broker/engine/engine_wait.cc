// Ready jobs meet waiting consumers.

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Steps after which broken promises let others go first.
constexpr std::uint64_t kBreakEffort = 16'384;
// How long a woken sleeper may take before everybody is woken in its place.
constexpr Time kPromiseLasts = 100 * kMillisecond;
// Up to this many tubes are looked at one by one for the best job.
constexpr std::size_t kVisited = 64;

}  // namespace

// The tubes it watches that have ready jobs: found among those it watches or among those with ready
// jobs, whichever are fewer.
template <typename Visit>
void Engine::VisitReady(const Consumer& consumer, Visit visit) const {
  if (stirred_.size() < consumer.watched_.size()) {
    for (const Tube* tube : stirred_) {
      if (consumer.watched_.Find(*tube) != nullptr) visit(*tube);
    }
  } else {
    for (const auto& watch : consumer.watched_) {
      if (!watch->tube.ready_.empty()) visit(watch->tube);
    }
  }
}

Job* Engine::BestFor(Consumer& consumer) {
  if (std::min(stirred_.size(), consumer.watched_.size()) > kVisited) {
    if (consumer.index_ == nullptr) consumer.index_ = std::make_unique<ReadyIndex>();
    return consumer.index_->Best(consumer.watched_, fresh_, effort_);
  }
  Job* best = nullptr;
  VisitReady(consumer, [&](const Tube& tube) {
    Job* front = tube.FrontJob();
    if (front != nullptr && (best == nullptr || MoreUrgent(*front, *best))) best = front;
  });
  return best;
}

void Engine::BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until) {
  GS_CHECK(!consumer.waiting());
  consumer.wait_began_ = now;
  consumer.waited_ = 0;
  consumer.wait_ = wait;
  consumer.wait_until_ = until;
  consumer.wait_since_ = next_wait_++;
  ++totals_.waiting;
  StandInLine(consumer);
  ArmConsumer(consumer);
}

void Engine::EndWait(Consumer& consumer) {
  if (!consumer.waiting()) return;
  StandOutOfLine(consumer);
  consumer.wait_ = Consumer::Wait::kNone;
  --totals_.waiting;
}

// It gets a job, or is told that there is one.
void Engine::EndWaitForJob(Time now, Consumer& consumer) {
  consumer.waited_ = now - consumer.wait_began_;
  EndWait(consumer);
}

void Engine::StopWaiting(Consumer& consumer) { EndWait(consumer); }

// A consumer of few tubes stands in the line of each; one of many stands in one line for all such
// consumers, or beginning to wait would cost as much as it watches. Lines are ordered by
// wait_since_.
void Engine::StandInLine(Consumer& consumer) {
  if (!consumer.watched_.wide()) {
    for (const auto& watch : consumer.watched_) StandInLineOf(*watch);
    return;
  }
  auto at = wide_waiting_.end();
  while (at != wide_waiting_.begin() && std::prev(at)->wait_since_ > consumer.wait_since_) {
    ++effort_;
    --at;
  }
  wide_waiting_.insert(at, consumer);
}

void Engine::StandInLineOf(gearstalk::Watch& watch) {
  WatchRing& line = watch.tube.line_;
  auto at = line.end();
  while (at != line.begin() && std::prev(at)->consumer.wait_since_ > watch.consumer.wait_since_) {
    ++effort_;
    --at;
  }
  line.insert(at, watch);
}

void Engine::StandOutOfLine(Consumer& consumer) {
  if (consumer.watched_.wide()) {
    wide_waiting_.erase(wide_waiting_.iterator_to(consumer));
    return;
  }
  for (const auto& watch : consumer.watched_) StandOutOfLineOf(*watch);
}

void Engine::StandOutOfLineOf(gearstalk::Watch& watch) {
  WatchRing& line = watch.tube.line_;
  line.erase(line.iterator_to(watch));
}

Consumer* Engine::LongestWaiting(const Tube& tube) const {
  Consumer* narrow = tube.line_.empty() ? nullptr : &tube.line_.front().consumer;
  Consumer* wide = tube.wide_.empty() ? nullptr : LongestWideWaiting(tube);
  if (narrow == nullptr || wide == nullptr) return narrow == nullptr ? wide : narrow;
  return narrow->wait_since_ < wide->wait_since_ ? narrow : wide;
}

// Looked for among all who watch many tubes and wait, longest first, but no further than there are
// such watchers of this tube; then among these.
Consumer* Engine::LongestWideWaiting(const Tube& tube) const {
  std::size_t steps = 0;
  for (const Consumer& wide : wide_waiting_) {
    if (steps++ == tube.wide_.size()) break;
    ++effort_;
    if (wide.watched_.Find(tube) != nullptr) return const_cast<Consumer*>(&wide);
  }
  if (wide_waiting_.size() <= tube.wide_.size()) return nullptr;
  Consumer* longest = nullptr;
  VisitWideWaiting(tube, [&longest](Consumer& consumer) {
    if (longest == nullptr || consumer.wait_since_ < longest->wait_since_) longest = &consumer;
  });
  return longest;
}

// Those who watch this tube and many others and wait, in no order: found among all such who wait or
// among all such watchers of the tube, whichever are fewer.
template <typename Visit>
void Engine::VisitWideWaiting(const Tube& tube, Visit visit) const {
  if (wide_waiting_.size() < tube.wide_.size()) {
    effort_ += wide_waiting_.size();
    for (const Consumer& consumer : wide_waiting_) {
      if (consumer.watched_.Find(tube) != nullptr) visit(const_cast<Consumer&>(consumer));
    }
  } else {
    effort_ += tube.wide_.size();
    for (const gearstalk::Watch& watch : tube.wide_) {
      if (watch.consumer.waiting()) visit(watch.consumer);
    }
  }
}

std::size_t Engine::Waiting(const Tube& tube) const {
  std::size_t count = tube.line_.size();
  VisitWideWaiting(tube, [&count](const Consumer&) { ++count; });
  return count;
}

// Hands ready jobs to those who reserve and wakes those who sleep, first come first, until jobs or
// waiters run out, or after a slice, which makes the tube due again. A job for which somebody was
// woken is left for him. `fresh` is the job that just got ready, if there is one.
void Engine::Serve(Time now, Tube& tube, const Job* fresh) {
  if (!Runnable(tube)) return;
  if (options_.wake_all && fresh != nullptr && fresh->state_ == JobState::kReady)
    WakeSleepers(now, tube);
  for (std::size_t served = 0; tube.ready() > tube.promised_; ++served) {
    Consumer* consumer = LongestWaiting(tube);
    if (consumer == nullptr) return;
    if (served == kSlice) return deadlines_.Arm(tube, now);
    ++effort_;
    if (consumer->wait_ == Consumer::Wait::kSleeping) {
      Wake(now, *consumer, tube);
      continue;
    }
    EndWaitForJob(now, *consumer);
    const Taken taken = Take(now, *tube.ready_.front(), *consumer);
    consumer->OnReserved(*taken.job, taken.lsn);
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
  const auto add = [&](Consumer& consumer) {
    if (consumer.wait_ == Consumer::Wait::kSleeping) sleepers.push_back(&consumer);
  };
  effort_ += tube.line_.size();
  for (gearstalk::Watch& watch : tube.line_) add(watch.consumer);
  VisitWideWaiting(tube, add);
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

void Engine::Sleep(Time now, Consumer& consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  BeginWait(now, consumer, Consumer::Wait::kSleeping, kNever);
  if (const Job* job = BestFor(consumer)) Wake(now, consumer, *job->tube_);
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
