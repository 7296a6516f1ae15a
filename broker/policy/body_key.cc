#include "broker/policy/body_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstddef>

namespace gearstalk {
namespace {

constexpr std::size_t kLongestKey = 64;  // bytes, Gearman's limit

}  // namespace

std::string_view ShortName(std::string_view name, std::string& hash) {
  if (name.size() <= kLongestKey && name.find('\0') == std::string_view::npos) return name;
  const XXH128_hash_t digest = XXH3_128bits(name.data(), name.size());
  hash = fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
  return hash;
}

std::string BodyKey(std::string_view body, const JsonPointer& pointer) {
  std::string unescaped, hash;
  return std::string(ShortName(JsonValueOfWhole(body, pointer, unescaped), hash));
}

}  // namespace gearstalk
