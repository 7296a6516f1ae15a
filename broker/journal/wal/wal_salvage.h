#pragma once

#include <cstdint>
#include <string>

#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

// `gearstalkd --journal-salvage DIR`: makes a new journal in the directory from all that can be
// read of the old one and says in `report`, in lines for a person, what was lost. The old files
// stay, as NNNNNNNNNN.wal.damaged.
//
// The new segments are written beside the old ones and have higher numbers; they take over one by
// one: first the last one, whose marks say that the log begins behind the old ones, and the state
// file at the end. If that is interrupted, a broker starts from the new segments or refuses to
// start because some are missing, and another salvage continues with them.
//
// kNotFound, and nothing changes, if there is no journal. The new files get the owner of the
// directory.
Status SalvageJournal(FileSystem& file_system, const std::string& directory, std::string& report,
                      std::uint64_t segment_size = kDefaultSegmentSize);

}  // namespace gearstalk
