// The options of beanstalkd 1.12 and 1.13.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "broker/base/split.h"
#include "broker/base/status.h"
#include "broker/config/foreign.h"

namespace gearstalk {
namespace {

constexpr std::array<ForeignOption, 13> kBeanstalkdOptions = {{
    {'b', "", true, "data_dir"},
    {'f', "", true, "sync"},
    {'F', "", false, "sync"},
    {'l', "", true, "listen"},
    {'p', "", true, "listen"},
    {'u', "", true, "user"},
    {'z', "", true, "max_job_size"},
    {'s', "", true, ""},
    {'c', "", false, ""},
    {'n', "", false, ""},
    {'V', "", false, "log_level"},
    {'v', "", false, "the version"},
    {'h', "", false, "this text"},
}};

// beanstalkd's default is 50 ms; 0 is before every answer.
Result<std::string> SyncOf(const ForeignValues& given) {
  if (given.contains("-F")) return std::string("never");
  const std::uint64_t ms = GS_TRY(NumberOr(given, "-f", 50));
  if (ms == 0) return std::string("always");
  return fmt::format("{}ms", std::min<std::uint64_t>(ms, 3'600'000));
}

// Cuts the limit and warns, as beanstalkd does.
std::string JobSizeOf(const std::string& given, std::vector<std::string>& warnings) {
  constexpr std::uint64_t kMost = 1 << 30;
  std::uint64_t bytes = 0;
  if (!ParseNumber(given, bytes) || bytes <= kMost) return given;
  warnings.push_back(fmt::format("-z: '{}': the most is {}, which is taken", given, kMost));
  return fmt::format("{}", kMost);
}

std::string ListenOf(const ForeignValues& given) {
  const std::string host = ValueOr(given, "-l", "0.0.0.0");
  return host.starts_with("unix:") ? host : AddressText(host, ValueOr(given, "-p", "11300"));
}

}  // namespace

Result<Translation> TranslateBeanstalkd(std::span<const std::string> arguments) {
  ForeignValues given;
  GS_TRY(ReadForeign(kBeanstalkdOptions, arguments, given));
  Translation translation;
  if (given.contains("-h")) {
    translation.help = HelpOf("beanstalkd", kBeanstalkdOptions);
    return translation;
  }
  if (given.contains("-v")) {
    translation.arguments = {"--version"};
    return translation;
  }
  const std::string sync = GS_TRY(SyncOf(given));
  AddFlag(translation, "--listen", ListenOf(given), given.contains("-l") ? "-l" : "-p");
  AddFlag(translation, "--sync", sync, "-f");
  AddFlag(translation, "--beanstalk-version", std::string(kBeanstalkdVersion), "");
  AddFlag(translation, "--gearman-version", std::string(kGearmandVersion), "");
  PassFlag(translation, given, "-b", "--data-dir");
  if (given.contains("-b")) AddFlag(translation, "--import-binlog", "yes", "-b");
  PassFlag(translation, given, "-u", "--user");
  if (const auto size = given.find("-z"); size != given.end()) {
    size->second = JobSizeOf(size->second, translation.warnings);
  }
  PassFlag(translation, given, "-z", "--max-job-size");
  if (given.contains("-V")) AddFlag(translation, "--log-level", "debug", "-V");
  AddWarnings(translation, kBeanstalkdOptions, given);
  return translation;
}

}  // namespace gearstalk
