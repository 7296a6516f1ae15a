#include "broker/binlog/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "broker/base/owner.h"

namespace gearstalk::binlog {
namespace {

struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// The name of the process, where the system tells it. gearstalkd holds an flock besides the fcntl
// lock; beanstalkd does not.
std::string HolderOf(int fd, pid_t process) {
  std::ifstream named(fmt::format("/proc/{}/comm", process));
  std::string name;
  if (std::getline(named, name) && name.starts_with("gearstalk")) return name;
  const bool ours = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return ours ? "gearstalkd" : "beanstalkd";
}

}  // namespace

Result<Lock> Lock::Hold(const std::string& directory) {
  const std::string path = directory + "/lock";
  const bool known = ::access(path.c_str(), F_OK) == 0;
  Descriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  const bool writable = fd >= 0;
  if (!writable) fd = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd < 0) {
    // Without a lock file or a directory, no process can hold the lock.
    if (errno == ENOENT || errno == EROFS || errno == EACCES) return Lock(std::move(fd));
    return Status(Code::kIo, fmt::format("open {}: {}", path, std::strerror(errno)));
  }
  // The server of the directory's owner has to be able to lock what root made.
  if (!known) GiveToOwnerOf(directory, path);
  struct flock lock = WholeFile();
  if (!writable || ::fcntl(fd, F_SETLK, &lock) != 0) {
    lock = WholeFile();
    ::fcntl(fd, F_GETLK, &lock);
    if (lock.l_type != F_UNLCK) {
      return Status(Code::kInUse, fmt::format("{}, pid {}, uses {}", HolderOf(fd, lock.l_pid),
                                              lock.l_pid, directory));
    }
  }
  return Lock(std::move(fd));
}

}  // namespace gearstalk::binlog
