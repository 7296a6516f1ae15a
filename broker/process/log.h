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

}  // namespace gearstalk
