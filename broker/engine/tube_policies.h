#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/outcome.h"
#include "broker/engine/tube.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk {

class Engine;

// Which policy a tube has: the configuration's entries and, above them, what administrators set.
// Part of the engine.
class TubePolicies {
 public:
  explicit TubePolicies(Engine& engine) : engine_(engine) {}

  // The entries of the configuration. O(tubes x entries), and no walk over jobs: what a policy says
  // of an event holds from the next event on.
  void SetRules(Time now, PolicyRules rules);
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
  // Whether it has to stay for what its policy has to remember.
  static bool Keeps(const Tube& tube);

 private:
  void Adopt(Time now, Tube& tube);
  const Policy* Shared(const Policy& policy);
  std::uint32_t FindMaxJobSize(std::string_view tube) const;

  Engine& engine_;
  PolicyRules rules_;
  std::vector<std::unique_ptr<const Policy>> policies_;  // all different
};

}  // namespace gearstalk
