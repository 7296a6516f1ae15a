#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk {

// Every option of the broker with its default. Sources, the first that has a word wins: flags,
// environment (GEARSTALKD_...), configuration file, default.
struct Config {
  enum class Sync : std::uint8_t { kAlways, kInterval, kSystem };

  std::vector<std::string> listen = {"127.0.0.1:11300", "127.0.0.1:4730"};
  std::string admin;     // HOST:PORT of /metrics, /healthz, /readyz; empty: none
  std::string data_dir;  // empty: jobs live in memory
  Sync sync = Sync::kAlways;
  Time sync_interval = 0;          // kInterval
  std::uint32_t max_job_size = 0;  // bytes; 0: 65535 for put, 64 MiB for a Gearman workload
  std::string server_name;         // in handles; empty: the host's name
  std::string log_level = "info";
  std::uint32_t gearman_default_ttr = 120;
  std::uint32_t gearman_job_retries = 0;
  bool gearman_wake_all = false;
  bool gearman_exceptions = false;
  std::uint32_t gearman_priority_high = 512;
  std::uint32_t gearman_priority_normal = 65536;
  std::uint32_t gearman_priority_low = 131072;
};

// One option: what it is called in the file ("gearman.job_retries"), from which flag and variable
// are derived (--gearman-job-retries, GEARSTALKD_GEARMAN_JOB_RETRIES), and how it is set from a
// text.
struct Option {
  std::string_view key;
  std::string_view value;  // shape of the value, for help: BYTES, SECONDS, ...
  std::string_view help;
  bool list = false;  // may be given several times
  // Sets it; a message says what a good value is.
  std::function<Status(Config&, const std::vector<std::string>&)> set;
};

std::span<const Option> Options();

// What the command line asks for.
struct CommandLine {
  Config config;
  enum class Action : std::uint8_t {
    kServe,
    kCheckConfig,
    kPrintAndExit,
    kCheckJournal,
    kSalvageJournal,
  } action = Action::kServe;
  // kPrintAndExit: help or version; kCheckJournal, kSalvageJournal: the directory
  std::string text;
};

// Reads all sources. Errors name the option and where it was set: flag, variable, or file and line.
Result<CommandLine> ReadCommandLine(int argc, const char* const* argv, std::string_view version);

}  // namespace gearstalk
