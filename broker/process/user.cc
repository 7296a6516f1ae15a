#include "broker/process/user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
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
  if (user != 0 && setuid(0) == 0) return Failed(name, "root could be had back");
  return {};
}

}  // namespace gearstalk
