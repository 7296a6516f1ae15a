#pragma once

#include <string>

#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/process/machine.h"
#include "broker/server/listener.h"

namespace gearstalk {

// How many routers serve them; `auto` is resolved for so many CPUs that the process may use.
std::size_t RoutersOf(const Config& config, std::size_t cpus = MachineCpus());

// The sockets to serve, bound and not yet listened on: those that the service manager passed, or
// else those of `listen`.
Result<ListenSockets> OpenSockets(const Config& config);
// Those of `admin`.
Result<ListenSockets> OpenAdminSockets(const Config& config);
// An entry of `admin`: as one of `listen`, and a port alone is on loopback.
Result<ListenAddress> ParseAdminAddress(const std::string& text);

}  // namespace gearstalk
