#include "broker/journal/wal/directory_lock.h"

#include <cerrno>
#include <utility>

#include "broker/base/try.h"
#include "broker/journal/wal/file_system.h"

namespace gearstalk {
namespace {

constexpr char kLockName[] = "lock";

Status InUse(const std::string& directory) {
  return {Code::kInvalid, directory + " is in use by another process"};
}

}  // namespace

Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory) {
  const std::string path = directory + "/" + kLockName;
  auto file = GS_TRY(OpenFile(file_system, path, FileSystem::Mode::kCreate));
  const int error = file->Lock();
  if (error == 0) return file;
  if (error != -EWOULDBLOCK) return Fault{error, "flock", path}.ToStatus();
  return InUse(directory);
}

Result<std::unique_ptr<File>> LockForReading(FileSystem& file_system,
                                             const std::string& directory) {
  auto opened = file_system.Open(directory + "/" + kLockName, FileSystem::Mode::kRead);
  if (opened.error != 0) return std::unique_ptr<File>();
  const int error = opened.file->Lock();
  if (error == -EWOULDBLOCK) return InUse(directory);
  return std::move(opened.file);
}

}  // namespace gearstalk
