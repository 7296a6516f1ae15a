#pragma once

#include <memory>
#include <string>

#include "broker/base/status.h"
#include "broker/replica/log_store.h"
#include "broker/replica/replicated_journal.h"

namespace gearstalk {

// What an operator does to a replicated journal beside its brokers. Each waits for the store, and
// writes into `report` what it did, in lines for a person.

// Lists the reign, the segments with their batches, and all damage. Changes nothing. kCorrupt if a
// broker would not start from it.
Status CheckReplica(LogStore& store, std::string& report);

// Writes the journal as it is at one revision into a new write-ahead log in `directory`, which must
// not exist.
Status ExportReplica(LogStore& store, const std::string& directory, std::string& report);

// Writes what is live in the write-ahead log of `directory` into a shard that has no journal yet.
// Leads the shard meanwhile, as a broker would.
Status ImportReplica(LogStore& store, const ReplicaOptions& options, const std::string& directory,
                     std::string& report);

// Raises the format of the shard to the newest that this version knows.
Status UpgradeReplica(LogStore& store, std::string& report);

}  // namespace gearstalk
