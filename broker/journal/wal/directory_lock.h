#pragma once

#include <memory>
#include <string>

#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"

namespace gearstalk {

// Locks the directory while the file is open. kInvalid if another process has locked it.
Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory);

// The same for readers, who create no file: nullptr if there is no lock file, or it cannot be
// locked.
Result<std::unique_ptr<File>> LockForReading(FileSystem& file_system, const std::string& directory);

}  // namespace gearstalk
