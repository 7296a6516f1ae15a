#include "broker/process/user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gearstalk {
namespace {

Status Failed(const std::string& name, std::string_view why) {
  return {Code::kInvalid, fmt::format("user: cannot become '{}': {}", name, why)};
}

}  // namespace

Status BecomeUser(const std::string& name) {
  const passwd* entry = getpwnam(name.c_str());
  if (entry == nullptr) return Failed(name, "there is no such user");
  const uid_t user = entry->pw_uid;
  const gid_t group = entry->pw_gid;
  if (geteuid() == user && getuid() == user) return {};
  if (geteuid() != 0) return Failed(name, "only root can");
  if (initgroups(name.c_str(), group) != 0 || setgid(group) != 0 || setuid(user) != 0) {
    return Failed(name, std::strerror(errno));
  }
  if (user != 0 && setuid(0) == 0) return Failed(name, "the process could become root again");
  return {};
}

bool UserExists(const std::string& name) { return getpwnam(name.c_str()) != nullptr; }

bool GroupExists(const std::string& name) { return getgrnam(name.c_str()) != nullptr; }

std::string UserName(unsigned id) {
  const passwd* entry = getpwuid(id);
  return entry == nullptr ? "" : entry->pw_name;
}

bool MayAccess(const std::string& name, const std::string& path, int how) {
  if (name.empty() || geteuid() != 0) return access(path.c_str(), how) == 0;
  const pid_t child = fork();
  if (child == 0) _exit(BecomeUser(name).ok() && access(path.c_str(), how) == 0 ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

}  // namespace gearstalk
