// Policies of tubes: the configuration's entries and what administrators set above them, resolved
// to one Policy a tube when it is made and whenever either changes. Tubes that the same entries
// match share one object, so that a tube costs a pointer and is resolved by a look into a table; a
// tube that nobody says anything of has none.

#include "broker/engine/tube_policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "broker/engine/bucket.h"
#include "broker/engine/engine.h"

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
  const MaxQueue before = engine_.ConfiguredMaxQueue(tube);
  const PolicyValues& set = tube.policy_state().set;
  const PolicyRules::Matches matches = rules_.MatchesOf(tube.name());
  patterns_tried_ += matches.tried;
  const bool concerned = !set.empty() || !matches.entries.empty();
  tube.policy_ = concerned ? Shared(matches, set) : nullptr;
  if (tube.settings_.max_queue == before)
    tube.settings_.max_queue = engine_.ConfiguredMaxQueue(tube);
  engine_.FollowGroups(tube);
}

// The next Tick does what is due by the new policy. Jobs that were handed out at the old rate hold
// the tube back no longer than an empty bucket of the new rate.
void TubePolicies::Adopt(Time now, Tube& tube) {
  Resolve(tube);
  if (tube.state_ != nullptr) {
    Time& paced = tube.state_->paced;
    paced = std::min(paced, FullAt(now, PolicyOf(tube)));
  }
  if (tube.policy_ != nullptr) engine_.deadlines_.Arm(tube, now);
  if (tube.policy_ != nullptr || tube.held_back_ != HeldBack::kNone) engine_.pace_.Limit(now, tube);
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
    Tube* const tube = engine_.tubes_.Next(followed_);
    follows_ = tube != nullptr;
    if (!follows_) break;
    followed_ = tube->id();
    Adopt(now, *tube);
    engine_.ReleaseTube(*tube);
  }
  engine_.pace_.ServeFreed(now);
  return follows_ ? now : kNever;
}

// Keeps a tube with an administrator's values, and one whose rate would be forgotten with it.
bool TubePolicies::Keeps(const Tube& tube) {
  return tube.state_ != nullptr && (!tube.state_->set.empty() || tube.state_->paced != 0);
}

PolicySet TubePolicies::Set(Time now, std::string_view name, std::string_view key,
                            std::optional<std::string_view> value) {
  if (TakesAnswers(name)) return {.status = {Code::kInvalid, "it holds answers, not jobs"}};
  if (!key.empty() && FindPolicyKey(key) == nullptr) {
    return {.status = {Code::kNotFound, "there is no such policy"}};
  }
  if (!engine_.journal_.Accepts(Record::Kind::kTube)) {
    return {.status = {Code::kJournal, "the journal takes no settings"}};
  }
  const Tube* const known = engine_.tubes_.Find(name);
  PolicyValues set = known == nullptr ? kNothingSet : known->policy_state().set;
  if (key.empty()) {
    set.clear();
  } else if (!value.has_value()) {
    set.erase(std::string(key));
  } else {
    Policy policy = rules_.Of(name, set);
    Status good = FindPolicyKey(key)->set(policy, *value);
    if (good.ok()) good = CheckPolicy(policy);
    if (!good.ok()) return {.status = good};
    set[std::string(key)] = *value;
  }
  if (known == nullptr && set.empty()) return {};
  Tube* const tube = engine_.TubeForUse(name);
  if (tube == nullptr) {
    return {.status = {engine_.CountRefused(Code::kTooManyTubes),
                       "there are as many tubes as allowed"}};
  }
  tube->MakeState().set = std::move(set);
  Adopt(now, *tube);
  const Lsn lsn = engine_.records_.AppendSettings(*tube);
  engine_.ReleaseTube(*tube);
  engine_.pace_.ServeFreed(now);
  return {.status = {}, .lsn = lsn};
}

std::uint32_t TubePolicies::FindMaxJobSize(std::string_view name) const {
  if (const Tube* const tube = engine_.tubes_.Find(name)) return PolicyOf(*tube).max_job_size;
  return rules_.empty() ? 0 : rules_.Of(name, kNothingSet).max_job_size;
}

std::vector<PolicyRules::Line> TubePolicies::Explain(std::string_view name) const {
  const Tube* const tube = engine_.tubes_.Find(name);
  return rules_.Explain(name, tube == nullptr ? kNothingSet : tube->policy_state().set);
}

}  // namespace gearstalk
