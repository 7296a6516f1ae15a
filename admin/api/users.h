#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "admin/api/caller.h"
#include "broker/base/status.h"

namespace gearstalk::api {

Sha256 HashOf(std::string_view bytes);
// Bytes of a secure random source, as base64url.
std::string RandomText(std::size_t bytes);

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

}  // namespace gearstalk::api
