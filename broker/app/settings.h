#pragma once

#include <string>

#include "admin/api/guard.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/process/log.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

// The configuration as each part wants it.
namespace gearstalk {

// The host's, as much of it as has place in a handle.
std::string HostName();

EngineOptions EngineOptionsOf(const Config& config);
WalOptions WalOptionsOf(const Config& config);
beanstalk::Options BeanstalkOptionsOf(const Config& config);
// The version that `stats` reports.
std::string BeanstalkVersionOf(const Config& config);
std::uint64_t FreeDiskOf(const Config& config);
EngineLimits EngineLimitsOf(const Config& config);
LogSettings LogSettingsOf(const Config& config);
// Without what `verbose` and `shutdown` call.
api::AccessSettings AccessSettingsOf(const Config& config);
// Empty: none.
std::string HistoryFileOf(const Config& config);
std::string ServerNameOf(const Config& config);
// "always", "never", "50ms" or "memory".
std::string SyncNameOf(const Config& config);
gearman::Options GearmanOptionsOf(const Config& config);

}  // namespace gearstalk
