// The parts of the configuration that can change while the broker runs.

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "broker/app/broker.h"
#include "broker/app/settings.h"
#include "broker/base/log.h"
#include "broker/base/try.h"
#include "broker/config/option.h"
#include "broker/process/systemd.h"

namespace gearstalk {
namespace {

// What a configuration that was read again means for a broker that runs with another one.
struct ReloadPlan {
  Config config;                     // to go on with: the options that need a restart are as before
  std::set<Apply> groups;            // what has to be applied
  std::vector<std::string> changed;  // keys
  std::vector<std::string> restart;  // keys of changed options that need a restart
};

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

}  // namespace

void Broker::Reload() {
  serving_->server().BeginRound();
  systemd::NotifyReloading();
  const Result<Config> fresh = hooks_.reread();
  const Status adopted = fresh.ok() ? Adopt(fresh.value()) : fresh.status();
  if (!adopted.ok()) {
    Log(LogLevel::kError, "the configuration was not reloaded, nothing changed",
        {{"error", adopted.message()}});
    // Opens the log again: its file may have been moved away.
    const Status opened = OpenLog(LogSettingsOf(config_));
    if (!opened.ok()) Log(LogLevel::kError, opened.message());
  }
  systemd::NotifyReady(StatusText());
}

// All steps that can fail come first, and change nothing when they fail: Reload opens the log as it
// was. The journal's is the last, because it cannot be taken back.
Status Broker::Adopt(const Config& fresh) {
  ReloadPlan plan = PlanReload(config_, fresh);
  // Loads the files even if no option changed: the files may have.
  Security security = GS_TRY(LoadSecurity(plan.config));
  GS_TRY(OpenLog(LogSettingsOf(plan.config)));
  GS_TRY(hooks_.reload_journal(plan.config));
  config_ = std::move(plan.config);
  serving_->SetSecurity(std::move(security));
  for (const Apply group : plan.groups) serving_->Adopt(group);
  if (!plan.restart.empty()) {
    Log(LogLevel::kWarning, "some changes need a restart",
        {{"options", fmt::format("{}", fmt::join(plan.restart, ","))}});
  }
  serving_->pages().NoteReload();
  Log(LogLevel::kInfo, "the configuration was reloaded",
      {{"changed", fmt::format("{}", fmt::join(plan.changed, ","))}});
  return {};
}

}  // namespace gearstalk
