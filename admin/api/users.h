#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::api {

using Sha256 = std::array<unsigned char, 32>;

Sha256 HashOf(std::string_view bytes);
// Bytes of a secure random source, as base64url.
std::string RandomText(std::size_t bytes);

enum class Role : std::uint8_t { kNone, kViewer, kOperator, kAdmin };
// "" for kNone.
std::string_view NameOf(Role role);

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

// The users, found by the hash of their token. Tokens are random, so a fast hash is enough.
struct User {
  std::string name;
  Grant grant;
  Sha256 token{};

  // "NAME ROLE[+bodies] sha256:HEX [TUBES]"
  static Result<User> Parse(std::string_view text);
};

// "ROLE[+bodies]" or "none".
Result<Grant> ParseGrant(std::string_view text);

// The user with this token, or nullptr. Takes the same time for every token.
const User* FindUser(std::span<const User> users, std::string_view token);

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
