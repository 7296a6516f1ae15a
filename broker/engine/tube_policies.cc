#include "broker/engine/tube_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "broker/engine/bucket.h"
#include "broker/engine/store.h"

namespace gearstalk {
namespace {

const PolicyState kNoState{};
const PolicyValues kNothingSet{};

// Policies without a tube that are kept.
constexpr std::size_t kSpare = 64;
// In one call of Follow, about a millisecond.
constexpr int kSliceTubes = 256;
constexpr std::size_t kSlicePatterns = 8'192;

// When a bucket of the policy's rate that is empty now will be full.
Time FullAt(Time now, const Policy& policy) {
  return policy.rate.jobs == 0 ? 0 : bucket::FullAt(now, policy.rate, policy.Burst());
}

}  // namespace

const Policy kNoPolicy{};

const PolicyState& Tube::policy_state() const { return state_ == nullptr ? kNoState : *state_; }

PolicyPtr TubePolicies::Shared(const PolicyRules::Matches& matches, const PolicyValues& set) {
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

void TubePolicies::Resolve(Tube& tube) {
  const MaxQueue before = store_.ConfiguredMaxQueue(tube);
  const PolicyValues& set = tube.policy_state().set;
  const PolicyRules::Matches matches = rules_.MatchesOf(tube.name());
  patterns_tried_ += matches.tried;
  const bool concerned = !set.empty() || !matches.entries.empty();
  tube.SetPolicy(concerned ? Shared(matches, set) : nullptr);
  if (tube.settings.max_queue == before) tube.settings.max_queue = store_.ConfiguredMaxQueue(tube);
  store_.grouping.Follow(tube);
}

// The next Tick does what is due by the new policy. Jobs that were handed out at the old rate hold
// the tube back no longer than an empty bucket of the new rate.
void TubePolicies::Adopt(Time now, Tube& tube) {
  Resolve(tube);
  if (PolicyState* const state = tube.OwnState()) {
    state->paced = std::min(state->paced, FullAt(now, PolicyOf(tube)));
  }
  if (tube.policy() != nullptr) store_.deadlines.Arm(tube, now);
  if (tube.policy() != nullptr || tube.held_back != HeldBack::kNone) store_.pace.Limit(now, tube);
}

void TubePolicies::SetRules(Time now, PolicyRules rules) {
  policies_.clear();
  rules_ = std::move(rules);
  follows_ = true;
  followed_ = 0;
  Follow(now);
}

Time TubePolicies::Follow(Time now) {
  const std::size_t tried = patterns_tried_ + kSlicePatterns;
  for (int tubes = 0; tubes < kSliceTubes && patterns_tried_ < tried; ++tubes) {
    Tube* const tube = store_.tubes.Next(followed_);
    follows_ = tube != nullptr;
    if (!follows_) break;
    followed_ = tube->id();
    Adopt(now, *tube);
    store_.ReleaseTube(*tube);
  }
  return follows_ ? now : kNever;
}

PolicySet TubePolicies::Set(Time now, std::string_view name, std::string_view key,
                            std::optional<std::string_view> value) {
  if (TakesAnswers(name)) return {.status = {Code::kInvalid, "it holds answers, not jobs"}};
  if (!key.empty() && FindPolicyKey(key) == nullptr) {
    return {.status = {Code::kNotFound, "there is no such policy"}};
  }
  if (!store_.journal.Accepts(Record::Kind::kTube)) {
    return {.status = {Code::kJournal, "the journal takes no settings"}};
  }
  const Tube* const known = store_.tubes.Find(name);
  PolicyValues set = known == nullptr ? kNothingSet : known->policy_state().set;
  if (key.empty()) {
    set.clear();
  } else if (!value.has_value()) {
    set.erase(std::string(key));
  } else {
    Policy policy = rules_.Of(name, set);
    Status good = FindPolicyKey(key)->form.set(policy, *value);
    if (good.ok()) good = CheckPolicy(policy);
    if (!good.ok()) return {.status = good};
    set[std::string(key)] = *value;
  }
  if (known == nullptr && set.empty()) return {};
  Tube* const tube = store_.TubeForUse(name);
  if (tube == nullptr) {
    return {
        .status = {store_.CountRefused(Code::kTooManyTubes), "there are as many tubes as allowed"}};
  }
  tube->MakeState().set = std::move(set);
  Adopt(now, *tube);
  const Lsn lsn = store_.records.AppendSettings(*tube);
  store_.ReleaseTube(*tube);
  return {.status = {}, .lsn = lsn};
}

std::uint32_t TubePolicies::FindMaxJobSize(std::string_view name) const {
  if (const Tube* const tube = store_.tubes.Find(name)) return PolicyOf(*tube).max_job_size;
  return rules_.empty() ? 0 : rules_.Of(name, kNothingSet).max_job_size;
}

std::vector<PolicyRules::Line> TubePolicies::Explain(std::string_view name) const {
  const Tube* const tube = store_.tubes.Find(name);
  return rules_.Explain(name, tube == nullptr ? kNothingSet : tube->policy_state().set);
}

}  // namespace gearstalk
