#include "broker/policy/time_zone.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

// absl::LoadTimeZone also takes paths and "file:", "libc:": parts of plain letters are names only.
bool IsZoneName(std::string_view name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '+' || c == '-';
  };
  const std::vector<std::string_view> parts = Split(name, '/');
  return std::all_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), plain);
  });
}

}  // namespace

Result<TimeZone> FindTimeZone(std::string_view name) {
  TimeZone zone;
  if (!IsZoneName(name) || !absl::LoadTimeZone(std::string(name), &zone)) {
    return Status(
        Code::kInvalid,
        fmt::format("unknown time zone '{}': expected a name such as Europe/Berlin", name));
  }
  return zone;
}

std::string PrintTime(std::int64_t time, const TimeZone& zone) {
  return absl::FormatTime(absl::RFC3339_sec, absl::FromUnixSeconds(time), zone);
}

}  // namespace gearstalk
