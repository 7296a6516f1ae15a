#include "broker/base/owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace gearstalk {

int GiveToOwnerOf(const std::string& directory, const std::string& path) {
  if (::geteuid() != 0) return 0;
  struct stat owner {};
  struct stat now {};
  if (::stat(directory.c_str(), &owner) != 0 || ::lstat(path.c_str(), &now) != 0) return -errno;
  if (owner.st_uid == now.st_uid && owner.st_gid == now.st_gid) return 0;
  return ::lchown(path.c_str(), owner.st_uid, owner.st_gid) != 0 ? -errno : 0;
}

}  // namespace gearstalk
