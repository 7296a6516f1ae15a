#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "broker/config/config.h"

namespace gearstalk {
namespace {

using Values = std::vector<std::string>;

Status Expected(std::string_view what) {
  return {Code::kInvalid, fmt::format("expected {}", what)};
}

bool ParseNumber(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  return error == std::errc() && end == text.end() && !text.empty();
}

auto Number(std::uint32_t Config::*field, std::uint64_t least, std::uint64_t most) {
  return [=](Config& config, const Values& values) -> Status {
    std::uint64_t number = 0;
    if (!ParseNumber(values.back(), number) || number < least || number > most) {
      return Expected(fmt::format("a number from {} to {}", least, most));
    }
    config.*field = static_cast<std::uint32_t>(number);
    return {};
  };
}

auto Text(std::string Config::*field) {
  return [=](Config& config, const Values& values) -> Status {
    config.*field = values.back();
    return {};
  };
}

auto Truth(bool Config::*field, std::string_view yes, std::string_view no) {
  return [=](Config& config, const Values& values) -> Status {
    if (values.back() != yes && values.back() != no)
      return Expected(fmt::format("{} or {}", yes, no));
    config.*field = values.back() == yes;
    return {};
  };
}

Status SetListen(Config& config, const Values& values) {
  config.listen = values;
  return {};
}

Status SetSync(Config& config, const Values& values) {
  std::string_view text = values.back();
  if (text == "always" || text == "never") {
    config.sync = text == "always" ? Config::Sync::kAlways : Config::Sync::kSystem;
    return {};
  }
  std::uint64_t ms = 0;
  if (!text.ends_with("ms") || !ParseNumber(text.substr(0, text.size() - 2), ms) || ms < 1 ||
      ms > 3'600'000) {
    return Expected("always, never, or an interval from 1ms to 3600000ms");
  }
  config.sync = Config::Sync::kInterval;
  config.sync_interval = static_cast<Time>(ms) * kMillisecond;
  return {};
}

Status SetServerName(Config& config, const Values& values) {
  const std::string& name = values.back();
  // A handle is at most 63 bytes: "H:", the name, ":" and up to 20 digits.
  const bool clean = name.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string::npos &&
                     name.find("//") == std::string::npos;
  if (name.empty() || name.size() > 40 || !clean) {
    return Expected("1 to 40 bytes without blanks and without '//'");
  }
  config.server_name = name;
  return {};
}

Status SetLogLevel(Config& config, const Values& values) {
  for (const std::string_view level :
       {"trace", "debug", "info", "warn", "error", "critical", "off"}) {
    if (values.back() == level) {
      config.log_level = level;
      return {};
    }
  }
  return Expected("trace, debug, info, warn, error, critical or off");
}

constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::span<const Option> Options() {
  static const std::array options = {
      Option{"listen", "ADDR:PORT[,protocols=auto|beanstalk|gearman]",
             "Address to listen on, or unix:/PATH; port 0 takes a free one. May be repeated.", true,
             SetListen},
      Option{"admin", "ADDR:PORT", "Address of /metrics, /healthz and /readyz over HTTP.", false,
             Text(&Config::admin)},
      Option{"data_dir", "DIR", "Directory of the journal; without it jobs live in memory.", false,
             Text(&Config::data_dir)},
      Option{
          "sync", "always|never|<N>ms",
          "When a change is on disk: before it is acknowledged, up to the system, or at latest N "
          "milliseconds after it.",
          false, SetSync},
      Option{"max_job_size", "BYTES",
             "Largest job body. Unless set: 65535 for beanstalk, 64 MiB for Gearman.", false,
             Number(&Config::max_job_size, 1, 1U << 30)},
      Option{"server_name", "NAME", "Name in Gearman job handles; by default the host's name.",
             false, SetServerName},
      Option{"log_level", "LEVEL", "trace, debug, info, warn, error, critical or off.", false,
             SetLogLevel},
      Option{"gearman.default_ttr", "SECONDS",
             "Time to run of a Gearman job that a beanstalk consumer reserves.", false,
             Number(&Config::gearman_default_ttr, 1, kAny32)},
      Option{"gearman.job_retries", "TRIES", "Lost tries after which a job fails; 0 is no limit.",
             false, Number(&Config::gearman_job_retries, 0, kAny32)},
      Option{
          "gearman.worker_wakeup", "one|all",
          "Sleeping workers woken for a new job: the one asleep longest, or all as gearmand does.",
          false, Truth(&Config::gearman_wake_all, "all", "one")},
      Option{"gearman.exceptions", "true|false",
             "Send exceptions also to clients that did not ask for them.", false,
             Truth(&Config::gearman_exceptions, "true", "false")},
      Option{"gearman.priority_high", "PRIORITY", "Priority number of SUBMIT_JOB_HIGH.", false,
             Number(&Config::gearman_priority_high, 0, kAny32)},
      Option{"gearman.priority_normal", "PRIORITY", "Priority number of SUBMIT_JOB.", false,
             Number(&Config::gearman_priority_normal, 0, kAny32)},
      Option{"gearman.priority_low", "PRIORITY", "Priority number of SUBMIT_JOB_LOW.", false,
             Number(&Config::gearman_priority_low, 0, kAny32)},
  };
  return options;
}

}  // namespace gearstalk
