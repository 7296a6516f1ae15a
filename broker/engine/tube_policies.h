#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/outcome.h"
#include "broker/engine/tube.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk {

class JobStore;

// Which policy a tube has. Part of the store.
//
// It follows from the configuration's entries and, above them, what administrators set. Tubes that
// the same entries match share one object, so that a tube costs a pointer and is resolved by a look
// into a table; a tube that nobody says anything of has none.
//
// A new policy may let a tube give again: SetRules, Set and Tick note that in Pace, and their
// caller ends with Dispatch::ServeFreed.
class TubePolicies {
 public:
  explicit TubePolicies(JobStore& store) : store_(store) {}

  // The entries of the configuration. The tubes follow in slices, the first at once, the others
  // with each Tick; a tube that is made meanwhile has its new policy from the start. What a
  // policy says of an event holds from the next event on; there is no walk over jobs, but where
  // `group` changes (Grouping::Follow, in slices).
  void SetRules(Time now, PolicyRules rules);
  // Does a slice. Returns when to call again: kNever if all tubes have followed.
  Time Tick(Time now) { return follows_ ? Follow(now) : kNever; }
  const PolicyRules& rules() const { return rules_; }
  // An administrator's value for a key of PolicyKeys, above the configuration and over restarts; no
  // value: the configuration decides again. No key: all of them. Makes and keeps the tube.
  PolicySet Set(Time now, std::string_view tube, std::string_view key,
                std::optional<std::string_view> value);
  // What holds for a tube, which need not exist, and where each value comes from.
  std::vector<PolicyRules::Line> Explain(std::string_view tube) const;
  // Body bytes that a tube's policy admits; 0: it says nothing.
  std::uint32_t MaxJobSize(std::string_view tube) const {
    return rules_.empty() && policies_.empty() ? 0 : FindMaxJobSize(tube);
  }

  // The tube is new, or its administrator's values are.
  void Resolve(Tube& tube);
  // Whether a tube has to stay for what its policy has to remember: an administrator's values, or a
  // rate.
  static bool Keeps(const Tube& tube) {
    const PolicyState& state = tube.policy_state();
    return !state.set.empty() || state.paced != 0;
  }

  // Policies that are in use or were lately.
  std::size_t policies() const { return policies_.size(); }

 private:
  Time Follow(Time now);
  void Adopt(Time now, Tube& tube);
  PolicyPtr Shared(const PolicyRules::Matches& matches, const PolicyValues& set);
  std::uint32_t FindMaxJobSize(std::string_view tube) const;

  JobStore& store_;
  PolicyRules rules_;
  // By what they follow from: the entries that match, and the values that an administrator set.
  absl::flat_hash_map<std::string, PolicyPtr> policies_;
  std::size_t sweep_at_ = 0;    // so many of them: those that no tube has go
  bool follows_ = false;        // some tubes have not followed the rules yet
  std::uint64_t followed_ = 0;  // the last tube that has
  std::size_t patterns_tried_ = 0;
};

}  // namespace gearstalk
