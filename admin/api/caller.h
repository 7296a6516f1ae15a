#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk::api {

using Sha256 = std::array<unsigned char, 32>;

enum class Role : std::uint8_t { kNone, kViewer, kOperator, kAdmin };
// "" for kNone.
std::string_view NameOf(Role role);
// kNone: there is none of this name.
Role RoleNamed(std::string_view name);

// The rights of a caller.
struct Grant {
  Role role = Role::kNone;
  bool bodies = false;                     // sees bodies, raw and decoded
  std::vector<std::string> tubes = {"*"};  // shell patterns

  bool Sees(std::string_view tube) const;
  // Whether it includes all tubes, and so requests that concern the server.
  bool SeesAll() const;
  bool operator==(const Grant&) const = default;
};

bool MatchesPattern(const std::string& pattern, std::string_view name);

// The caller of a request.
struct Caller {
  enum class Via : std::uint8_t { kNobody, kToken, kCookie, kAnonymous };

  Grant grant;
  std::string user;  // empty: anonymous
  Sha256 token{};    // hash of the user's token
  Via via = Via::kNobody;
  std::string session;  // of a cookie
  Time expires = 0;     // of the session; 0: does not
  std::string address;
  bool local = false;  // on this machine, and not behind a proxy on it

  // For limits: a name, or an address without one.
  std::string key() const { return user.empty() ? "@" + address : user; }
};

}  // namespace gearstalk::api
