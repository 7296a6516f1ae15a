// Questions: nothing here changes anything.

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {

EngineStats Engine::Stats() const {
  EngineStats stats = totals_;
  stats.tubes = tubes_.size();
  stats.remembered_keys = seen_.size();
  stats.bodies = bodies_.counts();
  return stats;
}

const Job* Engine::FindUnique(std::string_view unique, std::uint64_t& last) const {
  for (std::size_t tubes = 0; tubes < kSlice; ++tubes) {
    const Tube* const tube = tubes_.Next(last);
    last = tube == nullptr ? 0 : tube->id();
    if (tube == nullptr) break;
    ++effort_;
    if (const Job* job = uniques_.Find(*tube, unique)) return job;
  }
  return nullptr;
}

bool Engine::Listed(const Tube& tube) const {
  return tube.unfinished() > 0 || tube.buried() > 0 || tube.function_ ||
         tube.settings().created_function || Waiting(tube) > 0;
}

std::size_t Engine::Waiters(const Job& job) const {
  std::size_t waiters = 0;
  for (const Waiter& waiter : job.rest().waiters) {
    ++effort_;
    waiters += waiter.times;
  }
  return waiters;
}

Time Engine::TimeLeft(Time now, const Job& job) const {
  Time end = kNever;
  if (job.state_ == JobState::kDelayed) end = job.tube_->delayed_.TimeAt(job.link_.held.slot);
  if (job.state_ == JobState::kReserved) end = job.holder()->held_.TimeAt(job.link_.held.slot);
  return end == kNever ? 0 : std::max<Time>(end - now, 0);
}

Time Engine::PauseLeft(Time now, const Tube& tube) const {
  return tube.paused() ? std::max<Time>(tube.settings_.pause_until - now, 0) : 0;
}

void Engine::VisitNext(const Tube& tube, JobState state, std::size_t bound,
                       const std::function<void(const Job&)>& visit) const {
  if (state == JobState::kReady && tube.groups_ != nullptr) {
    tube.groups_->VisitByAge(bound, visit);
  } else if (state == JobState::kReady) {
    tube.ready_.VisitFirst(bound, visit);
  }
  if (state == JobState::kDelayed) tube.delayed_.VisitFirst(bound, visit);
  if (state != JobState::kBuried) return;
  const Job* job = tube.buried_.front();
  for (; job != nullptr && bound > 0; --bound, job = JobList::After(*job)) visit(*job);
}

}  // namespace gearstalk
