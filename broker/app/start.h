#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/config.h"

namespace gearstalk {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitBadUsage = 2;
// Another broker leads, or this one stepped down: start it again, as a standby.
constexpr int kExitStandby = 3;

// What the log tells of a start besides the configuration itself.
struct StartNotes {
  std::string config_file;  // empty: none was read
  std::vector<std::string> warnings;
};

// Makes the process what the configuration wants it to be, and serves. `reread` reads the
// configuration again. Returns the exit code.
int Start(const Config& config, const StartNotes& notes, std::function<Result<Config>()> reread);

}  // namespace gearstalk
