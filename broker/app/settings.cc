#include "broker/app/settings.h"

#include <unistd.h>

#include <array>

#include "broker/base/clock.h"
#include "broker/process/log_line.h"
#include "broker/process/machine.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

std::size_t UsualMemoryLimit() { return MachineMemory() / 4 * 3; }

std::size_t MemoryLimit(const Config& config) {
  const std::uint64_t given = config.limits.memory;
  return given == Config::Limits::kBySize ? UsualMemoryLimit() : given;
}

// Of bodies in memory.
std::size_t BodyLimit(const Config& config) {
  const std::size_t memory = MemoryLimit(config);
  if (config.limits.bodies != Config::Limits::kBySize) return config.limits.bodies;
  return (memory == 0 ? UsualMemoryLimit() : memory) / 2;
}

}  // namespace

// The host's name, cut to what fits into a handle.
std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string host = name.data();
  if (host.size() > 40) host.resize(40);
  return host.empty() ? "localhost" : host;
}

EngineOptions EngineOptionsOf(const Config& config) {
  return {.default_ttr_s = config.gearman.default_ttr,
          .normal_to = config.gearman.priority_normal,
          .job_retries = config.gearman.job_retries,
          .fair = config.fair,
          .wall_clock = WallClock,
          .idle_functions = config.gearman.idle_functions,
          .wake_all = config.gearman.wake_all};
}

WalOptions WalOptionsOf(const Config& config) {
  WalOptions options;
  options.directory = config.data_dir;
  options.sync = config.sync;
  options.interval = config.sync_interval;
  options.indexes = true;
  return options;
}

beanstalk::Options BeanstalkOptionsOf(const Config& config) {
  beanstalk::Options options;
  if (config.max_job_size > 0) options.max_job_size = config.max_job_size;
  return options;
}

std::string BeanstalkVersionOf(const Config& config) {
  return config.beanstalk.version.empty() ? kVersion : config.beanstalk.version;
}

std::uint64_t FreeDiskOf(const Config& config) {
  const std::uint64_t given = config.limits.free_disk;
  return given == Config::Limits::kBySize ? kUsualFreeDisk : given;
}

EngineLimits EngineLimitsOf(const Config& config) {
  EngineLimits limits{
      .memory = MemoryLimit(config), .bodies = BodyLimit(config), .tubes = config.limits.tubes};
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

// The texts were checked when the configuration was read.
api::AccessSettings AccessSettingsOf(const Config& config) {
  api::AccessSettings settings{.enabled = config.console.enabled,
                               .users = {},
                               .anonymous = {},
                               .hosts = config.console.hosts,
                               .proxies = config.console.proxies,
                               .base_path = config.console.base_path,
                               .rate = config.console.rate};
  for (const std::string& text : config.console.users) {
    if (Result<api::User> user = api::User::Parse(text); user.ok()) {
      settings.users.push_back(std::move(user.value()));
    }
  }
  if (config.console.anonymous.empty()) return settings;
  const Result<api::Grant> grant = api::ParseGrant(config.console.anonymous);
  settings.anonymous = grant.ok() ? grant.value() : api::Grant{};
  return settings;
}

std::string HistoryFileOf(const Config& config) {
  if (!config.console.history_file.empty() || config.data_dir.empty()) {
    return config.console.history_file;
  }
  return config.data_dir + "/history";
}

std::string ServerNameOf(const Config& config) {
  if (!config.server_name.empty()) return config.server_name;
  // With a shared journal, handles must be valid at every broker.
  return config.Replicated() ? "gearstalkd" : HostName();
}

std::string SyncNameOf(const Config& config) {
  if (config.Replicated()) return "always";  // the store syncs every change
  if (config.data_dir.empty()) return "memory";
  return config.SyncText();
}

gearman::Options GearmanOptionsOf(const Config& config) {
  gearman::Options options;
  options.server_name = ServerNameOf(config);
  options.version = config.gearman.version.empty() ? kVersion : config.gearman.version;
  if (config.max_job_size > 0) options.max_workload = config.max_job_size;
  options.exceptions = config.gearman.exceptions;
  options.priorities = {config.gearman.priority_high, config.gearman.priority_normal,
                        config.gearman.priority_low};
  return options;
}

}  // namespace gearstalk
