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
  ticked_ = now;
  if (started_ == 0) started_ = now;
  int steps = kSteps;
  const std::uint64_t much = effort_ + kEffort;
  const Time policies_due = std::min(policies_.Tick(now), ReadGroups(now, kSlice));
  ForgetIdleGroups(now, steps);
  pace_.ServeFreed(now);
  pauses_.EndDue(now);
  expiries_.Tick(now, steps);
  seen_.Tick(now, steps);
  failures_.Tick(now, steps);
  idle_functions_.Tick(now);
  const Time schedules_due = schedules_.Tick(now);
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
  const bool full =
      limits_.memory > 0 && JobMemory() + TableMemory() + memory_beside_ > limits_.memory;
  const Time bodies_due = bodies_.Tick(now, full);
  const Time promise_ends = dispatch_.BreakPromises(now);
  pace_.ServeFreed(now);
  return std::max(
      now, std::min({deadlines_.next(), expiries_.next(), seen_.next(), failures_.next(),
                     idle_groups_.next(), policies_due, schedules_due, bodies_due, promise_ends}));
}

void Engine::ArmTube(Tube& tube) {
  deadlines_.Arm(tube, tube.delayed_.top_time());
  if (tube.paused()) deadlines_.Arm(tube, tube.settings_.pause_until);
  pauses_.Note(tube);
}

void Engine::TubeDue(Time now, Tube& tube, int& steps) {
  ++tube.using_;
  const Job* fresh = nullptr;
  while (steps > 0 && tube.delayed_.top_time() <= now) {
    --steps;
    Job& job = *tube.delayed_.top();
    LeaveState(job);
    EnterReady(job);
    fresh = &job;
  }
  ArmTube(tube);
  if (tube.held_back_ != HeldBack::kNone) pace_.Limit(now, tube);
  if (tube.groups_ != nullptr) {
    tube.groups_->Tick(now, steps);
    NoteGroups(tube);
  }
  dispatch_.Serve(now, tube, fresh);
  pace_.ServeFreed(now);
  retention_.Prune(now, tube, steps);
  if (tube.state_ != nullptr && tube.state_->paced <= now) tube.state_->paced = 0;
  --tube.using_;
  ReleaseTube(tube);
}

void Engine::SetWallAhead(Time ahead) {
  const Time step = ahead - wall_ahead_;
  wall_ahead_ = ahead;
  std::vector<Job*> moved;
  for (Job* job = jobs_.Next(0); step != 0 && job != nullptr; job = jobs_.Next(job->id_)) {
    if (job->state_ == JobState::kDelayed && IsForATime(*job)) moved.push_back(job);
  }
  for (Job* job : moved) {
    const Time due = job->tube_->delayed_.TimeAt(job->link_.held.slot);
    LeaveState(*job);
    EnterDelayed(*job, due == kNever ? due : Later(due, -step));
  }
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
    dispatch_.EndWait(consumer);
    consumer.OnDeadlineSoon();
  } else if (reserves && consumer.wait_until_ <= now) {
    dispatch_.EndWait(consumer);
    consumer.OnTimedOut();
  }
  while (steps > 0 && consumer.held_.top_time() <= now) {
    --steps;
    Job& job = *consumer.held_.top();
    const bool own_limit = job.rest().run_limit <= now;
    const BadEnd how = own_limit ? BadEnd::kRunLimit : BadEnd::kTimeout;
    if (bad_ends_.End(now, job, {.how = how}).ready) dispatch_.Serve(now, *job.tube_, &job);
    pace_.ServeFreed(now);
  }
  ArmConsumer(consumer);
}

}  // namespace gearstalk
