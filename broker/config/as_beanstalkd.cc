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
Result<std::string> SyncOf(const Translator& translator) {
  if (translator.Has("-F")) return std::string("never");
  const std::uint64_t ms = GS_TRY(translator.Number("-f", 50));
  if (ms == 0) return std::string("always");
  return fmt::format("{}ms", std::min<std::uint64_t>(ms, 3'600'000));
}

// Cuts the limit and warns, as beanstalkd does.
void AddJobSize(Translator& translator) {
  constexpr std::uint64_t kMost = 1 << 30;
  const std::string given = translator.Value("-z", "");
  std::uint64_t bytes = 0;
  if (!ParseNumber(given, bytes) || bytes <= kMost) {
    return translator.Pass("-z", "--max-job-size");
  }
  translator.Warn(fmt::format("-z: '{}': the most is {}, which is taken", given, kMost));
  translator.Add("--max-job-size", fmt::format("{}", kMost), "-z");
}

std::string ListenOf(const Translator& translator) {
  const std::string host = translator.Value("-l", "0.0.0.0");
  return host.starts_with("unix:") ? host : AddressText(host, translator.Value("-p", "11300"));
}

}  // namespace

Result<Translation> TranslateBeanstalkd(std::span<const std::string> arguments) {
  Translator translator("beanstalkd", kBeanstalkdOptions);
  GS_TRY(translator.Read(arguments));
  if (translator.AsksOnly("-h", "-v")) return translator.Take();
  const std::string sync = GS_TRY(SyncOf(translator));
  translator.Add("--listen", ListenOf(translator), translator.Has("-l") ? "-l" : "-p");
  translator.Add("--sync", sync, "-f");
  translator.Pass("-b", "--data-dir");
  if (translator.Has("-b")) translator.Add("--import-binlog", "yes", "-b");
  translator.Pass("-u", "--user");
  AddJobSize(translator);
  if (translator.Has("-V")) translator.Add("--log-level", "debug", "-V");
  translator.Finish();
  return translator.Take();
}

}  // namespace gearstalk
