#include "broker/engine/pace.h"

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// The most that a bucket saves up or owes, so that its time stamp fits.
constexpr Time kFullest = kNever / 4;

}  // namespace

// The time at which the rate allows the next hand-out.
Time Pace::NextHandOut(const Tube& tube) const {
  const Policy& policy = PolicyOf(tube);
  if (policy.rate.jobs == 0) return 0;
  const Time apart = policy.rate.per / policy.rate.jobs;
  return tube.policy_state().paced - apart * std::min(Time{policy.Burst()} - 1, kFullest / apart);
}

void Pace::Limit(Time now, Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  const HeldBack before = tube.held_back_;
  tube.held_back_ = HeldBack::kNone;
  if (policy.max_running > 0 && tube.reserved_ >= policy.max_running) {
    tube.held_back_ = HeldBack::kRunning;
  } else if (const Time next = NextHandOut(tube); next > now) {
    tube.held_back_ = HeldBack::kRate;
    engine_.deadlines_.Arm(tube, next);
  }
  if (before == HeldBack::kNone || tube.held_back_ != HeldBack::kNone) return;
  engine_.dispatch_.ready().Resume(tube);
  freed_.push_back(&tube);
}

void Pace::NoteHandOut(Time now, Tube& tube) {
  const Policy& policy = PolicyOf(tube);
  engine_.dispatch_.ready().NoteHandOut(tube, policy.weight);
  if (tube.policy_ == nullptr) return;
  if (policy.rate.jobs > 0) {
    Time& paced = tube.MakeState().paced;
    paced = Later(std::max(paced, now), policy.rate.per / policy.rate.jobs);
  }
  if (policy.max_running > 0 || policy.rate.jobs > 0) Limit(now, tube);
}

std::uint64_t Pace::Places(Time now, const Tube& tube) const {
  if (tube.policy_ == nullptr) return UINT64_MAX;
  const Policy& policy = *tube.policy_;
  std::uint64_t places = UINT64_MAX;
  if (policy.max_running > 0) {
    places = policy.max_running - std::min(policy.max_running, tube.reserved_);
  }
  if (policy.rate.jobs > 0) {
    const Time apart = policy.rate.per / policy.rate.jobs;
    const Time saved = now - NextHandOut(tube);
    const std::uint64_t tokens = saved < 0 ? 0 : static_cast<std::uint64_t>(saved / apart) + 1;
    places = std::min({places, tokens, std::uint64_t{policy.Burst()}});
  }
  return places;
}

void Pace::ServeAllFreed(Time now) {
  while (!freed_.empty()) {
    Tube& tube = *freed_.back();
    freed_.pop_back();
    if (tube.held_back_ != HeldBack::kNone) Limit(now, tube);
    engine_.dispatch_.Serve(now, tube);
  }
}

}  // namespace gearstalk
