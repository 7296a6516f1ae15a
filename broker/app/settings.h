#pragma once

#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/journal/wal_journal.h"
#include "broker/process/log.h"
#include "broker/server/limits.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

// The configuration as each part wants it.
namespace gearstalk {

EngineOptions EngineOptionsOf(const Config& config);
WalOptions WalOptionsOf(const Config& config);
beanstalk::Options BeanstalkOptionsOf(const Config& config);
ServerLimits ServerLimitsOf(const Config& config);
EngineLimits EngineLimitsOf(const Config& config);
LogSettings LogSettingsOf(const Config& config);
// Without what `verbose` and `shutdown` call.
gearman::Options GearmanOptionsOf(const Config& config);

}  // namespace gearstalk
