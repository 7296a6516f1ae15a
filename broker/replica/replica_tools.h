#pragma once

#include <string>

#include "broker/base/status.h"
#include "broker/replica/log_store.h"
#include "broker/replica/replicated_journal.h"

namespace gearstalk {

// The operator's tools for a replicated journal. Each waits for the store, and writes a readable
// report to `report`.

// Lists the reign, the segments with their batches, and all damage. Changes nothing. kCorrupt if a
// broker would not start from it.
Status CheckReplica(LogStore& store, std::string& report);

// Writes the journal as it is at one revision into a new write-ahead log in `directory`, which must
// not exist, and does not until the log is whole: before, it is `directory`.new.
Status ExportReplica(LogStore& store, const std::string& directory, std::string& report);

// Writes the live jobs and settings of the write-ahead log in `directory` into a shard without a
// journal. Leads the shard meanwhile, as a broker does.
Status ImportReplica(LogStore& store, const ReplicaOptions& options, const std::string& directory,
                     std::string& report);

// Raises the format of the shard to the newest that this version knows.
Status UpgradeReplica(LogStore& store, std::string& report);

}  // namespace gearstalk
