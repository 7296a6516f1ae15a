#pragma once

#include <string>
#include <string_view>

namespace gearstalk {

// The unique key that a body holds at an RFC 6901 pointer: a string's text, or a number, `true` or
// `false` as written; above 64 bytes the 32 hex digits of its XXH3-128. Empty: no JSON, nothing
// there, null, an empty string, a list or an object. O(body).
std::string BodyKey(std::string_view body, std::string_view pointer);

}  // namespace gearstalk
