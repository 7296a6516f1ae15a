#pragma once

#include <array>
#include <string_view>

namespace gearstalk {

// What a body that is its job's unique key is known by where the body is not there: XXH3-128 with
// seed 1, most significant byte first.
using BodyHash = std::array<char, 16>;

BodyHash HashOfBody(std::string_view body);

inline std::string_view View(const BodyHash& hash) { return {hash.data(), hash.size()}; }

}  // namespace gearstalk
