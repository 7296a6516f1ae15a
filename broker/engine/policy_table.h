#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/engine/tube.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk {

class JobStore;

// The policies that tubes have. Part of the store.
//
// A tube's policy follows from the configuration's entries and, above them, what an administrator
// set for it. Tubes that the same entries match share one object, so that a tube costs a pointer
// and is resolved by a look into a table; a tube that nobody says anything of has none.
class PolicyTable {
 public:
  explicit PolicyTable(JobStore& store) : store_(store) {}

  const PolicyRules& rules() const { return rules_; }
  void SetRules(PolicyRules rules);
  // The tube is new, or its rules or its administrator's values are.
  void Resolve(Tube& tube);
  // Whether a tube has to stay for what its policy has to remember: an administrator's values, or a
  // rate.
  static bool Keeps(const Tube& tube) {
    const PolicyState& state = tube.policy_state();
    return !state.set.empty() || state.paced != 0;
  }
  // Policies that are in use or were lately.
  std::size_t size() const { return policies_.size(); }
  // Patterns that Resolve has tried, for callers that work in slices.
  std::size_t tried() const { return tried_; }

 private:
  PolicyPtr Shared(const PolicyRules::Matches& matches, const PolicyValues& set);

  JobStore& store_;
  PolicyRules rules_;
  // By what they follow from: the entries that match, and the values that an administrator set.
  absl::flat_hash_map<std::string, PolicyPtr> policies_;
  std::size_t sweep_at_ = 0;  // so many of them: those that no tube has go
  std::size_t tried_ = 0;
};

}  // namespace gearstalk
