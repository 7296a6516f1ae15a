#include "broker/journal/directory_lock.h"

#include <cerrno>
#include <utility>

#include "broker/journal/fault.h"

namespace gearstalk {

Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory) {
  const std::string path = directory + "/lock";
  auto opened = file_system.Open(path, FileSystem::Mode::kCreate);
  if (opened.error != 0) return Fault{opened.error, "open", path}.ToStatus();
  const int error = opened.file->Lock();
  if (error == 0) return std::move(opened.file);
  if (error != -EWOULDBLOCK) return Fault{error, "flock", path}.ToStatus();
  return Status(Code::kInvalid, directory + " is in use by another process");
}

}  // namespace gearstalk
