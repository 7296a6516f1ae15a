#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "broker/base/log.h"
#include "broker/base/status.h"

namespace gearstalk {

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  bool json = false;
  std::string to = "stderr";  // or "file:/PATH", "journald", "syslog"
};

// Sends what Log (broker/base/log.h) is told to where the settings say, opening a file anew. A new
// file has mode 0640; its directory must exist. When that fails, everything stays as it was.
Status OpenLog(const LogSettings& settings);

// Writes a line whatever its level.
void LogAlways(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);

// From now on nobody who logs waits: threads write the lines. What nobody takes is dropped, and the
// next line that is written tells how many lines were. Call it when the process forks no more.
void StartLogThread();
// Waits until all lines are written, for a second at most; whether they were.
bool DrainLog();
// Lines dropped since the start.
std::uint64_t DroppedLogLines();

// To be called once a second: lines of clients are limited by it, and what was left out is told.
void RefillLog();

}  // namespace gearstalk
