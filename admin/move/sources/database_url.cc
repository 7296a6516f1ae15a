#include "admin/move/sources/database_url.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "broker/base/split.h"

namespace gearstalk::ctl {
namespace {

// nullopt: a % without two hexadecimal digits behind it, or a NUL.
std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    unsigned char byte = 0;
    if (text.size() - i <= 2 || !ParseNumber(text.substr(i + 1, 2), byte, 16) || byte == 0)
      return {};
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

struct HostAndPort {
  std::string_view host;
  std::uint16_t port = 0;
};

std::optional<HostAndPort> ParsePlace(std::string_view text) {
  // The colons of an address in brackets are no port's.
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == text.npos) return {};
  const std::size_t colon = text.find(':', bracket);
  HostAndPort place{.host = text.substr(0, colon)};
  const bool has_port = colon != text.npos;
  if (has_port && (!ParseNumber(text.substr(colon + 1), place.port) || place.port == 0)) return {};
  if (bracket > 0 && place.host.back() != ']') return {};
  if (bracket > 0) place.host = place.host.substr(1, place.host.size() - 2);
  if (place.host.empty()) return {};
  return place;
}

}  // namespace

Result<DatabaseUrl> DatabaseUrl::Parse(const std::string& text) {
  const std::string_view all = text;
  const std::size_t slash = all.rfind('/');
  const std::string_view before = all.substr(0, slash);
  const std::size_t at = before.rfind('@');
  const std::string_view who = at == all.npos ? std::string_view() : before.substr(0, at);
  const auto [name, secret] = SplitOnce(who, ':');
  const auto place = ParsePlace(at == all.npos ? before : before.substr(at + 1));
  if (!place) {
    return Status(Code::kInvalid, "expected HOST[:PORT] in the address of the source");
  }
  const auto user = Decoded(name);
  const auto password = Decoded(secret);
  const auto rest = Decoded(slash == all.npos ? std::string_view() : all.substr(slash + 1));
  if (!user || !password || !rest) {
    return Status(Code::kInvalid,
                  "a % in the address of the source needs two hexadecimal digits behind it: %25 "
                  "stands for the % itself");
  }
  DatabaseUrl url{.user = *user,
                  .password = *password,
                  .host = std::string(place->host),
                  .rest = *rest,
                  .port = place->port};
  const char* const given = std::getenv("GEARSTALK_SOURCE_PASSWORD");
  if (url.password.empty() && given != nullptr) url.password = given;
  return url;
}

std::string DatabaseUrl::Place() const {
  return port == 0 ? host : host + ":" + std::to_string(port);
}

}  // namespace gearstalk::ctl
