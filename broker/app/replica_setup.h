#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/base/status.h"
#include "broker/config/command_line.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// Checks the options of the store and of the replica, and reads the files they name. The message
// says what is wrong.
Status CheckReplication(const Config& config);

// The same of a tool that works on the replicated journal.
Status CheckReplicaTool(const CommandLine& line);

struct ReplicaSetup {
  std::unique_ptr<Journal> journal;
  // At SIGHUP: reads password and certificates again.
  std::function<Status(const Config&)> reload;
};
// Connects to nothing yet.
Result<ReplicaSetup> OpenReplica(const Config& config);

// --journal-check etcd or postgres, --journal-export, --journal-import, --journal-upgrade. Writes
// into `report` what it found or did.
Status RunReplicaTool(const CommandLine& line, std::string& report);

}  // namespace gearstalk
