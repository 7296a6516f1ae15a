#include "broker/engine/policy_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "broker/engine/store.h"

namespace gearstalk {
namespace {

const PolicyState kNoState{};

// Policies without a tube that are kept.
constexpr std::size_t kSpare = 64;

}  // namespace

const Policy kNoPolicy{};

const PolicyState& Tube::policy_state() const { return state_ == nullptr ? kNoState : *state_; }

void PolicyTable::SetRules(PolicyRules rules) {
  policies_.clear();
  rules_ = std::move(rules);
}

PolicyPtr PolicyTable::Shared(const PolicyRules::Matches& matches, const PolicyValues& set) {
  std::string key = fmt::format("{}", fmt::join(matches.entries, ","));
  for (const auto& [name, value] : set) key.append("\n").append(name).append("=").append(value);
  PolicyPtr& policy = policies_[key];
  if (policy != nullptr) return policy;
  policy = PolicyPtr(new SharedPolicy(rules_.Of(matches, set)));
  PolicyPtr made = policy;
  if (policies_.size() >= sweep_at_) {
    absl::erase_if(policies_, [](const auto& each) { return each.second->use_count() == 1; });
    sweep_at_ = 2 * policies_.size() + kSpare;
  }
  return made;
}

void PolicyTable::Resolve(Tube& tube) {
  const MaxQueue before = store_.ConfiguredMaxQueue(tube);
  const PolicyValues& set = tube.policy_state().set;
  const PolicyRules::Matches matches = rules_.MatchesOf(tube.name());
  tried_ += matches.tried;
  const bool concerned = !set.empty() || !matches.entries.empty();
  tube.SetPolicy(concerned ? Shared(matches, set) : nullptr);
  if (tube.settings.max_queue == before) tube.settings.max_queue = store_.ConfiguredMaxQueue(tube);
  store_.grouping.Follow(tube);
}

}  // namespace gearstalk
