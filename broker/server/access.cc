#include "broker/server/access.h"

#include <fnmatch.h>

#include <algorithm>

namespace gearstalk {
namespace {

constexpr std::string_view kEveryTube = "*";

bool IsFor(const Access::Rule& rule, const std::string& tube) {
  return std::any_of(rule.tubes.begin(), rule.tubes.end(), [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), tube.c_str(), 0) == 0;
  });
}

bool IsForAll(const Access::Rule& rule) {
  return std::find(rule.tubes.begin(), rule.tubes.end(), kEveryTube) != rule.tubes.end();
}

}  // namespace

bool Access::Allows(std::uint8_t rights, std::string_view tube) const {
  const std::string name(tube);
  const auto first = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const Rule& rule) { return IsFor(rule, name); });
  return first != rules_.end() && (first->rights & rights) != 0;
}

bool Access::AllowsAll(std::uint8_t rights) const {
  const auto first = std::find_if(rules_.begin(), rules_.end(), IsForAll);
  return first != rules_.end() && (first->rights & rights) != 0;
}

bool Access::AllowsSome(std::uint8_t rights) const {
  for (const Rule& rule : rules_) {
    if ((rule.rights & rights) != 0) return true;
    if (IsForAll(rule)) return false;
  }
  return false;
}

}  // namespace gearstalk
