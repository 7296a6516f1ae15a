#pragma once

#include <memory>
#include <string>

#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"

namespace gearstalk {

// The directory belongs to this process while the file is open. kInvalid if it is another's.
Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory);

// The same for somebody who writes nothing there, not even a lock: nullptr if there is no lock, or
// none that can be taken.
Result<std::unique_ptr<File>> LockForReading(FileSystem& file_system, const std::string& directory);

}  // namespace gearstalk
