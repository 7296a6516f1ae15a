#include "broker/app/settings.h"

#include <unistd.h>

#include <array>
#include <string>

#include "broker/process/log_line.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

// As much of it as has place in a handle.
std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string host = name.data();
  if (host.size() > 40) host.resize(40);
  return host.empty() ? "localhost" : host;
}

}  // namespace

EngineOptions EngineOptionsOf(const Config& config) {
  EngineOptions options;
  options.default_ttr_s = config.gearman.default_ttr;
  options.normal_to = config.gearman.priority_normal;
  options.job_retries = config.gearman.job_retries;
  options.wake_all = config.gearman.wake_all;
  return options;
}

WalOptions WalOptionsOf(const Config& config) {
  WalOptions options;
  options.directory = config.data_dir;
  options.sync = config.sync == Config::Sync::kAlways     ? SyncMode::kAlways
                 : config.sync == Config::Sync::kInterval ? SyncMode::kInterval
                                                          : SyncMode::kOff;
  options.interval = config.sync_interval;
  return options;
}

beanstalk::Options BeanstalkOptionsOf(const Config& config) {
  beanstalk::Options options;
  if (config.max_job_size > 0) options.max_job_size = config.max_job_size;
  return options;
}

ServerLimits ServerLimitsOf(const Config& config) {
  const Config::Limits& limits = config.limits;
  return {.connections = limits.connections,
          .connections_per_address = limits.connections_per_address,
          .output = limits.output,
          .idle_timeout = limits.idle_timeout,
          .handshake_timeout = limits.handshake_timeout,
          .stop_timeout = limits.stop_timeout};
}

EngineLimits EngineLimitsOf(const Config& config) {
  EngineLimits limits{.memory = config.limits.memory, .tubes = config.limits.tubes};
  for (const Config::MaxQueue& each : config.limits.maxqueue) {
    limits.max_queue[each.tube] = each.jobs;
  }
  return limits;
}

LogSettings LogSettingsOf(const Config& config) {
  return {.level = LogLevelNamed(config.log_level),
          .json = config.log_format == Config::LogFormat::kJson,
          .to = config.log_to};
}

gearman::Options GearmanOptionsOf(const Config& config) {
  gearman::Options options;
  options.server_name = config.server_name.empty() ? HostName() : config.server_name;
  options.version = kVersion;
  if (config.max_job_size > 0) options.max_workload = config.max_job_size;
  options.exceptions = config.gearman.exceptions;
  options.priorities = {config.gearman.priority_high, config.gearman.priority_normal,
                        config.gearman.priority_low};
  return options;
}

}  // namespace gearstalk
