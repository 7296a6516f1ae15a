#include "admin/api/users.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>

#include "broker/base/base64.h"
#include "broker/base/check.h"
#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::string_view kRoles[] = {"", "viewer", "operator", "admin"};
constexpr std::string_view kHash = "sha256:";

bool ParseHex(std::string_view text, Sha256& hash) {
  if (text.size() != 2 * hash.size()) return false;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    if (!ParseNumber(text.substr(2 * i, 2), hash[i], 16)) return false;
  }
  return true;
}

// Documents once showed the hashes of these tokens.
bool IsKnown(const Sha256& hash) { return hash == HashOf("test") || hash == HashOf("test2"); }

Status Bad(std::string_view text, std::string_view why) {
  return {Code::kInvalid,
          fmt::format("'{}': {}: expected NAME ROLE[+bodies] sha256:HEX [TUBES]", text, why)};
}

}  // namespace

std::string_view NameOf(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

bool MatchesPattern(const std::string& pattern, std::string_view name) {
  if (pattern == "*") return true;
  // fnmatch stops at a NUL and would match the front of such a name only.
  if (name.find('\0') != std::string_view::npos) return false;
  return fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

bool Grant::Sees(std::string_view tube) const {
  return std::any_of(tubes.begin(), tubes.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, tube); });
}

bool Grant::SeesAll() const { return std::find(tubes.begin(), tubes.end(), "*") != tubes.end(); }

Sha256 HashOf(std::string_view bytes) {
  Sha256 hash{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  return hash;
}

std::string RandomText(std::size_t bytes) {
  std::string random(bytes, '\0');
  GS_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(random.data()),
                      static_cast<int>(random.size())) == 1);
  return ToBase64Url(random);
}

Result<Grant> ParseGrant(std::string_view text) {
  if (text == "none") return Grant{};
  Grant grant;
  const std::size_t plus = std::min(text.find('+'), text.size());
  const auto* const role = std::find(std::begin(kRoles), std::end(kRoles), text.substr(0, plus));
  if (role != std::end(kRoles)) grant.role = static_cast<Role>(role - std::begin(kRoles));
  grant.bodies = plus < text.size();
  const bool good = plus == text.size() || text.substr(plus) == "+bodies";
  if (good && grant.role != Role::kNone) return grant;
  return Status(Code::kInvalid,
                fmt::format("'{}': expected viewer, operator or admin, each with +bodies or "
                            "without, or none",
                            text));
}

Result<User> User::Parse(std::string_view text) {
  const std::vector<std::string_view> words = SplitWords(text);
  if (words.size() < 3 || words.size() > 4) return Bad(text, "three or four words are needed");
  User user;
  user.name = words[0];
  const Result<Grant> grant = ParseGrant(words[1]);
  if (!grant.ok() || grant.value().role == Role::kNone) {
    return Bad(text, fmt::format("unknown role '{}'", words[1]));
  }
  user.grant = grant.value();
  const bool hash =
      words[2].starts_with(kHash) && ParseHex(words[2].substr(kHash.size()), user.token);
  if (!hash) {
    return Bad(text,
               "the hash is 64 hexadecimal digits behind sha256:, as `gearstalkctl token` prints "
               "them");
  }
  if (IsKnown(user.token)) {
    return Bad(text, "everybody knows the token of this example: `gearstalkctl token` makes one");
  }
  if (words.size() == 4) {
    const std::vector<std::string_view> tubes = SplitWords(words[3], ",");
    user.grant.tubes.assign(tubes.begin(), tubes.end());
  }
  return user;
}

const User* FindUser(std::span<const User> users, std::string_view token) {
  const Sha256 hash = HashOf(token);
  const User* found = nullptr;
  for (const User& user : users) {
    if (CRYPTO_memcmp(user.token.data(), hash.data(), hash.size()) == 0) found = &user;
  }
  return found;
}

}  // namespace gearstalk::api
