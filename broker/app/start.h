#pragma once

#include <functional>

#include "broker/base/status.h"
#include "broker/config/config.h"

namespace gearstalk {

constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;
constexpr int kExitBadUsage = 2;

// Makes the process what the configuration wants it to be, and serves. `reread` reads the
// configuration again. Returns the exit code.
int Start(const Config& config, std::function<Result<Config>()> reread);

}  // namespace gearstalk
