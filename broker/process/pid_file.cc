#include "broker/process/pid_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gearstalk {
namespace {

Status Failed(const std::string& path) {
  return {Code::kIo, fmt::format("pid_file: cannot write '{}': {}", path, std::strerror(errno))};
}

}  // namespace

Result<std::unique_ptr<PidFile>> PidFile::Create(const std::string& path) {
  Descriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (fd < 0) return Failed(path);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Status(Code::kIo,
                  fmt::format("pid_file: '{}' belongs to a process that still runs", path));
  }
  return std::unique_ptr<PidFile>(new PidFile(path, std::move(fd)));
}

Status PidFile::Write() {
  const std::string text = fmt::format("{}\n", getpid());
  const bool written = ftruncate(fd_, 0) == 0 && pwrite(fd_, text.data(), text.size(), 0) ==
                                                     static_cast<ssize_t>(text.size());
  return written ? Status() : Failed(path_);
}

PidFile::~PidFile() {
  if (unlink(path_.c_str()) != 0 && ftruncate(fd_, 0) != 0) {
    // Nothing can report an error at this point.
  }
}

}  // namespace gearstalk
