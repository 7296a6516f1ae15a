#pragma once

#include <string>

#include "broker/base/log.h"
#include "broker/base/status.h"

namespace gearstalk {

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  bool json = false;
  std::string to = "stderr";  // or "file:/PATH", "journald", "syslog"
};

// Sends what Log (broker/base/log.h) is told to where the settings say, opening a file anew. When
// that fails, everything stays as it was.
Status OpenLog(const LogSettings& settings);

// To be called once a second: lines of clients are limited by it, and what was left out is told.
void RefillLog();

}  // namespace gearstalk
