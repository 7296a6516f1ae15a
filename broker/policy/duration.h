#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "broker/base/clock.h"

namespace gearstalk {

inline constexpr Time kDay = 86'400 * kSecond;
inline constexpr Time kLongestDuration = 3'650 * kDay;

// "250ms", "30s", "10m", "24h", "7d"; a number without a unit is seconds. Nothing: it is no
// duration, or above kLongestDuration.
std::optional<Time> ParseDuration(std::string_view text);

// What is expected of a text that is no duration from `least` to `most`.
std::string DurationForm(Time least, Time most = kLongestDuration);

// The shortest text for it: "90s", "1h", "0". Whole milliseconds only.
std::string PrintDuration(Time duration);

}  // namespace gearstalk
