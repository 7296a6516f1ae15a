#include "broker/process/user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

namespace gearstalk {
namespace {

Status Failed(const std::string& name, std::string_view why) {
  return {Code::kInvalid, fmt::format("user: cannot become '{}': {}", name, why)};
}

// What `ask` says as the user `name`. Only root can ask for others.
bool AsUser(const std::string& name, const std::function<bool()>& ask) {
  if (name.empty() || geteuid() != 0) return ask();
  const pid_t child = fork();
  if (child == 0) _exit(BecomeUser(name).ok() && ask() ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
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
  return AsUser(name, [&] { return access(path.c_str(), how) == 0; });
}

bool MayChown(const std::string& name, const std::string& owner, const std::string& group) {
  const passwd* user = owner.empty() ? nullptr : getpwnam(owner.c_str());
  const struct group* of = group.empty() ? nullptr : getgrnam(group.c_str());
  const uid_t uid = user == nullptr ? static_cast<uid_t>(-1) : user->pw_uid;
  const gid_t gid = of == nullptr ? static_cast<gid_t>(-1) : of->gr_gid;
  return AsUser(name, [&] {
    if (geteuid() == 0) return true;
    return (owner.empty() || geteuid() == uid) &&
           (group.empty() || getegid() == gid || group_member(gid) != 0);
  });
}

}  // namespace gearstalk
