#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/log.h"
#include "broker/base/status.h"

namespace gearstalk {

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  bool json = false;
  std::string to = "stderr";  // or "file:/PATH", "journald", "syslog"
};

// From now on the lines of Log (broker/base/log.h) go where the settings say; a file is opened
// anew. A new file has mode 0640; its directory must exist. An error changes nothing.
Status OpenLog(const LogSettings& settings);

// Writes a line whatever its level.
void LogAlways(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

// From now on a thread writes the lines, so nobody who logs waits. Lines that do not fit into its
// queue are dropped, and the next line says how many. Call it when the process forks no more.
void StartLogThread();
// Waits until all lines are written, for a second at most; whether they were.
bool DrainLog();
// Lines dropped since the start.
std::uint64_t DroppedLogLines();

// Allows clients to cause more lines, and logs how many were left out. To be called once a second.
void RefillLog();

// A bucket of tokens for each kind of line: a line costs one, and the loop refills all buckets once
// a second. Kinds are few: they stand in the source.
class LogLimiter {
 public:
  static constexpr std::uint32_t kBurst = 20;
  static constexpr std::uint32_t kRefill = 2;

  // Whether one more line of this kind may be written.
  bool Admit(std::string_view kind);

  struct Suppressed {
    std::string kind;
    std::uint64_t lines;
  };
  // Refills the buckets and tells what was suppressed since the last time.
  std::vector<Suppressed> Refill();

 private:
  struct Bucket {
    std::uint32_t tokens = kBurst;
    std::uint64_t suppressed = 0;
  };
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace gearstalk
