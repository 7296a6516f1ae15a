#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/outcome.h"
#include "broker/engine/tube.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk {

class Dispatch;
class JobStore;

// The policies of tubes: the configuration's entries and, above them, what administrators set.
class TubePolicies {
 public:
  // They outlive it.
  TubePolicies(JobStore& store, Dispatch& dispatch) : store_(store), dispatch_(dispatch) {}

  // The entries of the configuration. The tubes follow in slices, the first at once, the others
  // with each Tick; a tube that is made meanwhile has its new policy from the start. No walk over
  // jobs: what a policy says of an event holds from the next event on.
  void SetRules(Time now, PolicyRules rules);
  // Does a slice. Returns when to call again: kNever if all tubes have followed.
  Time Tick(Time now) { return follows_ ? Follow(now) : kNever; }
  const PolicyRules& rules() const;
  // An administrator's value for a key of PolicyKeys, above the configuration and over restarts; no
  // value: the configuration decides again. No key: all of them. Makes and keeps the tube.
  PolicySet Set(Time now, std::string_view tube, std::string_view key,
                std::optional<std::string_view> value);
  // What holds for a tube, which need not exist, and where each value comes from.
  std::vector<PolicyRules::Line> Explain(std::string_view tube) const;
  // Body bytes that a tube's policy admits; 0: it says nothing.
  std::uint32_t MaxJobSize(std::string_view tube) const;
  // That are in use or were lately.
  std::size_t policies() const;

 private:
  Time Follow(Time now);
  void Adopt(Time now, Tube& tube);

  JobStore& store_;
  Dispatch& dispatch_;
  bool follows_ = false;        // some tubes have not followed the rules yet
  std::uint64_t followed_ = 0;  // the last tube that has
};

}  // namespace gearstalk
