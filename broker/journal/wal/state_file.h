#pragma once

#include <optional>
#include <string>

#include "broker/base/status.h"
#include "broker/journal/wal/fault.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

inline constexpr char kStateName[] = "state";

// nullopt: there is none, as in what a version before wrote. kCorrupt names the file, kInvalid the
// version that is not known.
Result<std::optional<JournalState>> ReadState(FileSystem& file_system,
                                              const std::string& directory);

// It is on disk when it returns no fault; after one, it is as it was before. Needs no space if
// there is a state already.
Fault WriteState(FileSystem& file_system, const std::string& directory, const JournalState& state);

}  // namespace gearstalk
