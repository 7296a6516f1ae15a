#pragma once

#include <string>
#include <string_view>

#include "broker/policy/json_value.h"

namespace gearstalk {

// The name of a key or a group of any length, in 64 bytes: those that are longer, or have a NUL,
// which would end them in Gearman's packets, are the 32 hex digits of their XXH3-128, which are
// written to `hash`.
std::string_view ShortName(std::string_view name, std::string& hash);

// The unique key that a body holds at a pointer: what JsonValueOfWhole reads, as a ShortName.
std::string BodyKey(std::string_view body, const JsonPointer& pointer);

}  // namespace gearstalk
