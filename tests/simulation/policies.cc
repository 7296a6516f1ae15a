// What the tubes of a run do with their jobs, and how that changes.

#include <algorithm>
#include <utility>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

// A name above 64 bytes is its hash.
constexpr std::size_t kLongName = 70;

}  // namespace

void World::PlanTubes() {
  tubes_ = {"t0", "t1", "t2", "default"};
  tubes_.resize(1 + random_.Below(4));
  if (plan_.Has(Feature::kPolicies)) {
    tubes_.insert(tubes_.end(), {"p-tries", "p-running", "p-expires", "p-rate", "p-unique"});
    policies_ = {
        {"p-tries", {{"attempts", "2"}, {"backoff", "1s"}, {"on_failure", "move"}}},
        {"p-running", {{"max_running", "2"}}},
        {"p-expires", {{"expire_after", "3s"}}},
        {"p-rate", {{"rate", "5/s"}}},
        {"p-unique", {{"unique", "body"}, {"unique_for", "1h"}}},
    };
    // A kick begins the tries anew.
    if (!plan_.Has(Feature::kBuries) && !plan_.Has(Feature::kReserveById))
      ledger_.LimitTries("p-tries", plan_.Has(Feature::kReloads) ? kMostTries : 2);
    max_running_ = 2;
  }
  if (plan_.Has(Feature::kGroups)) PlanGroups();
}

void World::PlanGroups() {
  if (random_.OneIn(2)) tubes_.resize(1);
  long_names_ = random_.OneIn(4);
  for (const char* const tube : {"p-lines", "p-held", "p-turns", "g-age", "g-fair"}) {
    if (random_.OneIn(2)) continue;
    GroupPlan plan{.tube = tube};
    plan.retries = plan.tube == "p-lines" && random_.OneIn(2);
    plan.by_attempts = plan.tube == "p-held" && random_.OneIn(2);
    groups_.push_back(NewGroups(plan));
    tubes_.emplace_back(tube);
  }
}

// What may change of it is drawn anew.
GroupPlan World::NewGroups(const GroupPlan& old) {
  GroupPlan plan{.tube = old.tube, .by_attempts = old.by_attempts, .retries = old.retries};
  const bool plain = plan.tube.starts_with('g');
  plan.may_hold = plan.tube == "p-held";
  plan.grouped = plain || old.values.empty() || !random_.OneIn(8);
  if (!plain) {
    plan.line = plan.tube == "p-lines" ? !random_.OneIn(5) : random_.OneIn(3);
    plan.holds = plan.may_hold && !random_.OneIn(5);
    if (random_.OneIn(2)) plan.running = static_cast<std::uint32_t>(1 + random_.Below(2));
    if (plan.tube == "p-turns" && random_.OneIn(2)) plan.apart = kSecond;
    plan.burst = static_cast<std::uint32_t>(1 + random_.Below(3));
  }
  if (random_.OneIn(4)) plan.max_jobs = static_cast<std::uint32_t>(2 + random_.Below(4));
  plan.needs_name = random_.OneIn(6);
  plan.turns = !plan.line && (plain ? plan.tube == "g-fair" : random_.OneIn(2));
  PolicyValues& values = plan.values;
  std::vector<std::string> sources = {"json:/g", "line"};
  if (!long_names_) {
    sources.emplace_back("unique");
    values["unique"] = "json:/u";
  }
  if (plan.grouped) values["group"] = random_.Of(sources);
  values["group_order"] = plan.line ? "fifo" : plan.turns ? "fair" : "age";
  values["group_running"] = std::to_string(plan.running);
  values["group_on_failure"] = plan.holds ? "hold" : "next";
  values["group_burst"] = std::to_string(plan.burst);
  values["group_max_jobs"] = std::to_string(plan.max_jobs);
  values["group_missing"] = plan.needs_name ? "refuse" : "allow";
  if (plan.apart > 0) values["group_rate"] = "1/s";
  if (plan.retries) {
    values["attempts"] = "1000";
    values["backoff"] = random_.OneIn(2) ? "0" : "1s";
  }
  if (plan.by_attempts) {
    values["attempts"] = "2";
    values["on_failure"] = random_.OneIn(2) ? "move" : "bury";
  }
  // Who asks for a job by its id gets it, whatever runs.
  if (plan_.Has(Feature::kReserveById)) {
    plan.running = 0;
    plan.apart = 0;
  }
  return plan;
}

const GroupPlan* World::GroupsOf(const std::string& tube) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const GroupPlan& each) { return each.tube == tube; });
  return found == groups_.end() ? nullptr : &*found;
}

void World::ChooseGroup(KnownJob& job) {
  if (GroupsOf(job.tube) == nullptr) return;
  job.grouped = true;
  job.json = !long_names_;
  const std::uint64_t number = random_.Below(5);
  if (number == 0) return;
  job.group = "c" + std::to_string(number);
  if (number == 4 && long_names_) job.group.append(kLongName, 'x');
}

PolicyRules World::Policies() const {
  std::vector<PolicyEntry> all = policies_;
  for (const GroupPlan& groups : groups_) all.push_back({groups.tube, groups.values});
  return PolicyRules(std::move(all));
}

// Holds for what is handed out later than `since`.
void World::TellPolicies(Time since) {
  // Who asks for a job by its id gets it, whatever runs.
  if (max_running_ > 0 && !plan_.Has(Feature::kReserveById))
    ledger_.LimitRunning("p-running", max_running_, since);
  for (GroupPlan plan : groups_) {
    std::string values;
    for (const auto& [key, value] : plan.values)
      values.append(" ").append(key).append("=").append(value);
    Say("policy of " + plan.tube + ":" + values);
    plan.since = since;
    plan.settled = now() + kSecond;
    ledger_.SetGroups(plan);
  }
}

void World::PlanReload() {
  After(random_.Between(kSecond, 20 * kSecond), [this] {
    if (healed_) return;
    Reload();
    PlanReload();
  });
}

// The configuration is another one. Each process reads it in its next round.
void World::Reload() {
  if (policies_.empty() && groups_.empty()) return;
  ++policies_version_;
  heard_ = true;
  for (GroupPlan& each : groups_) each = NewGroups(each);
  Say("reload " + std::to_string(policies_version_));
  if (policies_.empty()) return;
  max_running_ = 1 + random_.Below(3);
  policies_[0].values["attempts"] = std::to_string(2 + random_.Below(kMostTries - 1));
  policies_[0].values["on_failure"] = random_.OneIn(2) ? "move" : "bury";
  policies_[1].values["max_running"] = std::to_string(max_running_);
  policies_[3].values["rate"] = std::to_string(2 + random_.Below(10)) + "/s";
}

// An operator says that no new jobs are to be taken, and after a while that they are.
void World::PlanDrain() {
  After(random_.Between(5 * kSecond, 60 * kSecond), [this] {
    if (healed_) return;
    SetDraining(true);
    After(random_.Between(kSecond, 10 * kSecond), [this] { SetDraining(false); });
    PlanDrain();
  });
}

// A schedule makes no job meanwhile.
void World::SetDraining(bool draining) {
  if (broker_ == nullptr) return;
  Say(draining ? "the broker drains" : "the broker takes jobs");
  broker_->engine().SetDraining(draining);
  draining_since_ = draining ? now() : kNever;
  served_from_ = std::max(served_from_, now());
}

// False: it has them.
bool World::AdoptPolicies(Broker& broker) {
  if (broker.policies_version == policies_version_) return false;
  broker.policies_version = policies_version_;
  broker.engine().SetRules(broker.Now(), Policies());
  const Status set = broker.engine().schedules().Set(broker.Now(), schedules_, "UTC");
  if (!set.ok()) ledger_.Fail(set.message());
  return true;
}

}  // namespace gearstalk::simulation
