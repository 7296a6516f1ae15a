#pragma once

#include <string>

#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"

namespace gearstalk {

// `gearstalkd --journal-check DIR`: writes into `report`, in lines for a person, the segments of
// the journal with their records and live jobs, and all damage. Changes nothing. kCorrupt if a
// broker would not start from it.
Status CheckJournal(FileSystem& file_system, const std::string& directory, std::string& report);

}  // namespace gearstalk
