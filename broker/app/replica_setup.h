#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/base/status.h"
#include "broker/config/command_line.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// Whether the configuration asks for a journal that several brokers share.
inline bool IsReplicated(const Config& config) { return !config.etcd.endpoints.empty(); }

// Checks the options of etcd and of the replica, and reads the files they name. The message says
// what is wrong.
Status CheckReplication(const Config& config);

// The same of a tool that works on the journal in etcd.
Status CheckReplicaTool(const Config& config);

struct ReplicaSetup {
  std::unique_ptr<Journal> journal;
  // At SIGHUP: reads password and certificates again.
  std::function<Status(const Config&)> reload;
};
// Connects to nothing yet; starts the threads of gRPC.
Result<ReplicaSetup> OpenReplica(const Config& config);

// --journal-check etcd, --journal-export, --journal-import, --journal-upgrade. Writes into `report`
// what it found or did.
Status RunReplicaTool(const CommandLine& line, std::string& report);

}  // namespace gearstalk
