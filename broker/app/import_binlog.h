#pragma once

#include <functional>
#include <string>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"

namespace gearstalk {

// Whether data_dir holds a log of beanstalkd that has to be imported. An error if it does and
// import_binlog is `refuse`: it names both ways out.
Result<bool> HasBinlogToImport(const Config& config);

// Imports the log in `directory` into the engine as the transfer binlog:DIRECTORY and moves its
// files to DIRECTORY/imported-binlog. Does nothing twice: an interrupted import goes on. `sync`
// returns when all that was appended is durable. Once, before the broker serves.
Status ImportBinlog(Engine& engine, const std::string& directory, Time now,
                    const std::function<Status()>& sync);

}  // namespace gearstalk
