#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/utf8.h"

namespace gearstalk::api {

// Members stay in the order in which they were added.
using Json = nlohmann::ordered_json;

// The bytes as a text: invalid UTF-8 becomes U+FFFD.
std::string TextOf(std::string_view bytes);

// Without optional spaces; invalid UTF-8 becomes U+FFFD.
std::string Dump(const Json& json);
constexpr std::size_t kDeepestJson = 128;

// Nothing: not JSON, deeper than kDeepestJson, or more than `most` values.
std::optional<Json> ParseJson(std::string_view text, std::size_t most = SIZE_MAX);

// RFC 3339 in UTC with milliseconds.
std::string Timestamp(Time time);

// The value; null if it is not there, an empty text, or no time (0 or kNever).
template <typename T>
Json OrNull(bool there, const T& value) {
  return there ? Json(value) : Json();
}
template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
inline Json TextOrNull(std::string_view bytes) { return OrNull(!bytes.empty(), TextOf(bytes)); }
inline Json TimeOrNull(Time time) {
  return time <= 0 || time == kNever ? Json() : Json(Timestamp(time));
}

// Long members X_base64 of an object become X, the bytes themselves, where there is no X.
void DecodeLongBase64(Json& object);

// A tube's name as it stands in a path: percent-encoded, or "~" and its bytes in base64url where a
// proxy might rewrite the first form.
std::string RefOf(std::string_view name);
// The name that either form stands for; nothing: it is none of them.
std::optional<std::string> NameOfRef(std::string_view ref);

}  // namespace gearstalk::api
