#include "broker/engine/engine.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gearstalk {
namespace {

// Jobs moved in one call of Tick: with 10^6 due at once others get their turn in between.
constexpr int kSteps = 128;
// What Asking::effort() may come to meanwhile.
constexpr std::uint64_t kEffort = 512;

}  // namespace

Engine::Engine(const EngineOptions& of, Journal& to)
    : EngineParts(of, to),
      Producing(store, dispatch, bad_ends, *this),
      Consuming(store, dispatch, bad_ends),
      Operating(store, dispatch, bad_ends),
      Asking(store, dispatch) {}

void Engine::SetOptions(const EngineOptions& of) {
  store.options = of;
  store.ready.set_fair(of.fair);
  store.idle_functions.SetMost(of.idle_functions);
}

void Engine::NoteMemory(std::size_t beside, bool is_short) {
  store.memory_beside = beside;
  store.memory_short = is_short;
}

void Engine::SetWallAhead(Time ahead) {
  const Time step = ahead - std::exchange(store.wall_ahead, ahead);
  std::vector<Job*> moved;
  for (Job* job = store.jobs.Next(0); step != 0 && job != nullptr;
       job = store.jobs.Next(job->id())) {
    if (job->state() == JobState::kDelayed && IsForATime(*job)) moved.push_back(job);
  }
  for (Job* job : moved) {
    const Time due = job->tube().DueOf(*job);
    store.LeaveState(*job);
    store.EnterDelayed(*job, due == kNever ? due : Later(due, -step));
  }
}

Time Engine::Tick(Time now) {
  store.ticked = now;
  if (store.started == 0) store.started = now;
  int steps = kSteps;
  const std::uint64_t much = effort() + kEffort;
  const Time policies_due =
      std::min(store.policies.Tick(now), store.grouping.Read(now, JobStore::kSlice));
  store.grouping.ForgetIdle(now, steps);
  dispatch.ServeFreed(now);
  dispatch.EndPauses(now);
  bad_ends.ExpireDue(now, steps);
  store.seen.Tick(now, steps);
  store.failures.Tick(now, steps);
  store.idle_functions.Tick(now);
  const Time schedules_due = schedules_.Tick(now);
  while (steps > 0 && effort() < much) {
    Timer* timer = store.deadlines.PopDue(now);
    if (timer == nullptr) break;
    --steps;
    if (timer->kind() == Timer::Kind::kTube) {
      TubeDue(now, static_cast<Tube&>(*timer), steps);
    } else {
      dispatch.EndDue(now, static_cast<Consumer&>(*timer), steps);
    }
  }
  const std::size_t memory = JobMemory() + TableMemory() + store.memory_beside;
  const bool full = limits().memory > 0 && memory > limits().memory;
  const Time bodies_due = store.bodies.Tick(now, full);
  const Time promise_ends = dispatch.BreakPromises(now);
  dispatch.ServeFreed(now);
  return std::max(now, std::min({store.deadlines.next(), store.expiries.next(), store.seen.next(),
                                 store.failures.next(), store.idle_groups.next(), policies_due,
                                 schedules_due, bodies_due, promise_ends}));
}

void Engine::TubeDue(Time now, Tube& tube, int& steps) {
  ++tube.using_count;
  const Job* fresh = nullptr;
  for (; steps > 0 && tube.next_due() <= now; --steps) {
    Job& job = *tube.NextDelayed();
    store.LeaveState(job);
    store.EnterReady(job);
    fresh = &job;
  }
  store.ArmTube(tube);
  if (tube.held_back != HeldBack::kNone) store.pace.Limit(now, tube);
  if (tube.groups() != nullptr) {
    tube.groups()->Tick(now, steps);
    store.grouping.NoteGroups(tube);
  }
  dispatch.Serve(now, tube, fresh);
  dispatch.ServeFreed(now);
  store.retention.Prune(now, tube, steps);
  if (PolicyState* const state = tube.OwnState(); state != nullptr && state->paced <= now) {
    state->paced = 0;
  }
  --tube.using_count;
  store.ReleaseTube(tube);
}

}  // namespace gearstalk
