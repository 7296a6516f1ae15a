// Time passes: delays, pauses, TTRs, waits.

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Jobs moved in one call of Tick: with 10^6 due at once others get their turn in between.
constexpr int kSteps = 128;
// What Engine::effort() may come to meanwhile.
constexpr std::uint64_t kEffort = 512;

}  // namespace

Time Engine::Tick(Time now) {
  int steps = kSteps;
  const std::uint64_t much = effort_ + kEffort;
  while (steps > 0 && effort_ < much) {
    Timer* timer = deadlines_.PopDue(now);
    if (timer == nullptr) break;
    --steps;
    if (timer->kind() == Timer::Kind::kTube) {
      TubeDue(now, static_cast<Tube&>(*timer), steps);
    } else {
      ConsumerDue(now, static_cast<Consumer&>(*timer), steps);
    }
  }
  BreakPromises(now);
  const Time promise_ends = promised_.empty() ? kNever : promised_.front().promise_ends_;
  return std::max(now, std::min(deadlines_.next(), promise_ends));
}

void Engine::ArmTube(Tube& tube) {
  deadlines_.Arm(tube, tube.delayed_.top_time());
  if (tube.paused()) deadlines_.Arm(tube, tube.pause_until_);
}

void Engine::TubeDue(Time now, Tube& tube, int& steps) {
  if (tube.paused() && tube.pause_until_ <= now) EndPause(tube);
  const Job* fresh = nullptr;
  while (steps > 0 && tube.delayed_.top_time() <= now) {
    --steps;
    Job& job = *tube.delayed_.top();
    LeaveState(job);
    EnterReady(job);
    fresh = &job;
  }
  ArmTube(tube);
  Serve(now, tube, fresh);
}

void Engine::EndPause(Tube& tube) {
  tube.pause_until_ = tube.pause_s_ = 0;
  fresh_.Note(tube);
}

void Engine::ArmConsumer(Consumer& consumer) {
  const Time expiry = consumer.held_.top_time();
  deadlines_.Arm(consumer, expiry);
  if (consumer.wait_ != Consumer::Wait::kReserving) return;
  deadlines_.Arm(consumer, consumer.wait_until_);
  if (expiry != kNever) deadlines_.Arm(consumer, expiry - kSafetyMargin);
}

void Engine::ConsumerDue(Time now, Consumer& consumer, int& steps) {
  const bool reserves = consumer.wait_ == Consumer::Wait::kReserving;
  if (reserves && consumer.held_.top_time() - kSafetyMargin <= now) {
    EndWait(consumer);
    consumer.OnDeadlineSoon();
  } else if (reserves && consumer.wait_until_ <= now) {
    EndWait(consumer);
    consumer.OnTimedOut();
  }
  while (steps > 0 && consumer.held_.top_time() <= now) {
    --steps;
    Expire(now, *consumer.held_.top());
  }
  ArmConsumer(consumer);
}

void Engine::Expire(Time now, Job& job) {
  JobExtra& extra = job.MakeExtra();
  ++extra.timeouts;
  Count(*job.tube_, &JobCounts::timeouts);
  GiveBack(now, job, /*lost_try=*/extra.run_limit <= now);
}

}  // namespace gearstalk
