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
// one, the last one first, whose marks say that the log begins behind the old ones, and at last
// what is kept beside them. If that is interrupted, a broker refuses to start for want of the
// others, or starts from the new segments, and salvaging goes on with them.
//
// kNotFound, and nothing is touched, if there is no journal. The new files belong to whom the
// directory belongs.
Status SalvageJournal(FileSystem& file_system, const std::string& directory, std::string& report,
                      std::uint64_t segment_size = kDefaultSegmentSize);

}  // namespace gearstalk
