#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk {

inline constexpr Time kDay = 86'400 * kSecond;
inline constexpr Time kLongestDuration = 3'650 * kDay;

// "250ms", "30s", "10m", "24h", "7d"; a number without a unit is seconds. Nothing: it is no
// duration, or above kLongestDuration.
std::optional<Time> ParseDuration(std::string_view text);

// Sets the field; a message says what a good value is.
Status ReadDuration(std::string_view text, Time least, Time most, Time& field);
// The same of whole seconds.
Status ReadSeconds(std::string_view text, std::uint32_t& field);

// The shortest text for it: "90s", "1h", "0". Whole milliseconds only.
std::string PrintDuration(Time duration);

}  // namespace gearstalk
