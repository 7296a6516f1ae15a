#include "broker/engine/pace.h"

#include <algorithm>

#include "broker/engine/bucket.h"
#include "broker/engine/groups.h"

namespace gearstalk {

// The time at which the rate allows the next hand-out.
Time Pace::NextHandOut(const Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  if (policy.rate.jobs == 0) return 0;
  return bucket::Next(tube.policy_state().paced, policy.rate, policy.Burst());
}

void Pace::Limit(Time now, Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  const HeldBack before = tube.held_back;
  tube.held_back = HeldBack::kNone;
  if (policy.max_running > 0 && tube.reserved() >= policy.max_running) {
    tube.held_back = HeldBack::kRunning;
  } else if (const Time next = NextHandOut(tube); next > now) {
    tube.held_back = HeldBack::kRate;
    deadlines_.Arm(tube, next);
  }
  if (before == HeldBack::kNone || tube.held_back != HeldBack::kNone) return;
  ready_.Resume(tube);
  freed_.push_back(&tube);
}

void Pace::NoteHandOut(Time now, Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  ready_.NoteHandOut(tube, policy.weight);
  if (tube.policy() == nullptr) return;
  if (policy.rate.jobs > 0) {
    Time& paced = tube.MakeState().paced;
    paced = bucket::After(paced, now, policy.rate);
  }
  if (policy.max_running > 0 || policy.rate.jobs > 0) Limit(now, tube);
}

std::uint64_t Pace::Places(Time now, const Tube& tube) const {
  if (tube.policy() == nullptr) return UINT64_MAX;
  const Policy& policy = *tube.policy();
  std::uint64_t places = UINT64_MAX;
  if (policy.max_running > 0) {
    places = policy.max_running - std::min<std::uint64_t>(policy.max_running, tube.reserved());
  }
  if (policy.rate.jobs > 0) {
    const Time paced = tube.policy_state().paced;
    places = std::min(places, bucket::Saved(paced, now, policy.rate, policy.Burst()));
  }
  if (tube.groups() != nullptr) places = std::min(places, tube.groups()->gives());
  return places;
}

Tube& Pace::TakeFreed(Time now) {
  Tube& tube = *freed_.back();
  freed_.pop_back();
  if (tube.held_back != HeldBack::kNone) Limit(now, tube);
  if (tube.groups() != nullptr) deadlines_.Arm(tube, tube.groups()->next_due());
  return tube;
}

}  // namespace gearstalk
