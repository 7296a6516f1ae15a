#include "broker/policy/duration.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

struct Unit {
  std::string_view name;
  Time length;
};

// Longest first.
constexpr Unit kUnits[] = {
    {"d", kDay}, {"h", 3'600 * kSecond}, {"m", 60 * kSecond}, {"s", kSecond}, {"ms", kMillisecond}};

Time UnitNamed(std::string_view name) {
  if (name.empty()) return kSecond;
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.length;
  }
  return 0;
}

// What is expected of a text that is no duration from `least` to `most`.
std::string DurationForm(Time least, Time most) {
  return fmt::format(
      "a duration from {} to {}: one whole number with ms, s, m, h or d, such as 90m",
      PrintDuration(least), PrintDuration(most));
}

}  // namespace

std::optional<Time> ParseDuration(std::string_view text) {
  std::uint64_t number = 0;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!ParseNumber(text.substr(0, digits), number)) return std::nullopt;
  const Time unit = UnitNamed(text.substr(digits));
  if (unit == 0 || number > static_cast<std::uint64_t>(kLongestDuration / unit)) {
    return std::nullopt;
  }
  return static_cast<Time>(number) * unit;
}

Status ReadDuration(std::string_view text, Time least, Time most, Time& field) {
  const std::optional<Time> duration = ParseDuration(text);
  if (!duration.has_value() || *duration < least || *duration > most) {
    return Expected(DurationForm(least, most));
  }
  field = *duration;
  return {};
}

Status ReadSeconds(std::string_view text, std::uint32_t& field) {
  const std::optional<Time> duration = ParseDuration(text);
  if (!duration.has_value() || *duration % kSecond != 0) {
    return Expected("whole seconds: " + DurationForm(0, kLongestDuration));
  }
  field = static_cast<std::uint32_t>(*duration / kSecond);
  return {};
}

std::string PrintDuration(Time duration) {
  if (duration == 0) return "0";
  for (const Unit& unit : kUnits) {
    if (duration % unit.length == 0) return fmt::format("{}{}", duration / unit.length, unit.name);
  }
  return fmt::format("{}ms", duration / kMillisecond);
}

}  // namespace gearstalk
