#include "broker/app/reload.h"

namespace gearstalk {

ReloadPlan PlanReload(const Config& running, const Config& fresh) {
  ReloadPlan plan{.config = fresh, .groups = {}, .changed = {}, .restart = {}};
  for (const Option* option : Difference(running, fresh)) {
    if (option->apply == Apply::kRestart) {
      option->kind.copy(running, plan.config);
      plan.restart.emplace_back(option->key);
    } else {
      plan.groups.insert(option->apply);
      plan.changed.emplace_back(option->key);
    }
  }
  const auto changed = [&](const char* key) {
    plan.groups.insert(Apply::kPolicies);
    plan.changed.emplace_back(key);
  };
  if (running.tubes != fresh.tubes) changed("tubes");
  if (running.schedules != fresh.schedules) changed("schedules");
  return plan;
}

}  // namespace gearstalk
