// What of the configuration can change while the broker runs.

#include <fmt/ranges.h>

#include <algorithm>

#include "broker/app/broker.h"
#include "broker/app/reload.h"
#include "broker/app/settings.h"
#include "broker/base/log.h"
#include "broker/process/systemd.h"

namespace gearstalk {

void Broker::ApplyAll() {
  ApplyJobSize();
  ApplyLimits();
  ApplyPolicies();
}

// Reading the configuration has checked all of it.
void Broker::ApplyPolicies() {
  engine_.SetOptions(EngineOptionsOf(config_));
  engine_.policies().SetRules(clock_.Now(), PolicyRules(config_.tubes));
  gearman_.set_time_zone(config_.time_zone);
  const Status planned =
      engine_.schedules().Set(clock_.Now(), config_.schedules, config_.time_zone);
  if (!planned.ok())
    Log(LogLevel::kError, "no schedule was changed", {{"error", planned.message()}});
}

void Broker::ApplyJobSize() {
  const std::uint32_t largest = GearmanOptionsOf(config_).max_workload;
  beanstalk_.set_max_job_size(BeanstalkOptionsOf(config_).max_job_size);
  gearman_.set_max_workload(largest);
  server_.set_hopeless_output((std::size_t{16} << 20) + largest);
}

void Broker::ApplyLimits() {
  server_.SetLimits(ServerLimitsOf(config_));
  engine_.SetLimits(EngineLimitsOf(config_));
}

void Broker::ApplySecurity(Security security) {
  server_.SetTls(std::move(security.tls));
  server_.SetAccess(std::move(security.access));
}

void Broker::ApplyGearman() {
  engine_.SetOptions(EngineOptionsOf(config_));
  gearman_.set_exceptions(config_.gearman.exceptions);
}

void Broker::Reload() {
  server_.BeginRound();
  systemd::NotifyReloading();
  const Result<Config> fresh = hooks_.reread();
  const Status adopted = fresh.ok() ? Adopt(fresh.value()) : fresh.status();
  if (!adopted.ok()) {
    Log(LogLevel::kError, "the configuration was not reloaded, nothing changed",
        {{"error", adopted.message()}});
    // The log's file has been moved away, perhaps.
    const Status opened = OpenLog(LogSettingsOf(config_));
    if (!opened.ok()) Log(LogLevel::kError, opened.message());
  }
  systemd::NotifyReady(StatusText());
}

// What can fail comes first, and changes nothing when it does.
Status Broker::Adopt(const Config& fresh) {
  ReloadPlan plan = PlanReload(config_, fresh);
  // Also when no option changed: the files may have.
  Result<Security> security = LoadSecurity(plan.config);
  if (!security.ok()) return security.status();
  if (Status status = hooks_.reload_journal(plan.config); !status.ok()) return status;
  if (Status status = OpenLog(LogSettingsOf(plan.config)); !status.ok()) return status;
  config_ = std::move(plan.config);
  ApplySecurity(std::move(security.value()));
  for (const Apply group : plan.groups) {
    switch (group) {
      case Apply::kJobSize:
        ApplyJobSize();
        break;
      case Apply::kLimits:
      case Apply::kMaxQueue:
        ApplyLimits();
        break;
      case Apply::kGearman:
        ApplyGearman();
        break;
      case Apply::kMetrics:
      case Apply::kConsole:
        admin_.Adopt();
        break;
      case Apply::kPolicies:
        ApplyPolicies();
        break;
      case Apply::kTls:  // were applied
      case Apply::kEtcd:
      case Apply::kRights:
      case Apply::kLog:           // was opened
      case Apply::kShutdownFrom:  // read from config_ whenever it matters
      case Apply::kRestart:
        break;
    }
  }
  if (!plan.restart.empty()) {
    Log(LogLevel::kWarning, "some changes need a restart",
        {{"options", fmt::format("{}", fmt::join(plan.restart, ","))}});
  }
  admin_.NoteReload();
  Log(LogLevel::kInfo, "the configuration was reloaded",
      {{"changed", fmt::format("{}", fmt::join(plan.changed, ","))}});
  return {};
}

}  // namespace gearstalk
