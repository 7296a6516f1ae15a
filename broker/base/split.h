#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gearstalk {

// Parts of texts, and the numbers in them.

// The parts between the separators: one more than there are of these.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Those that are not empty. Each byte of `separators` is one.
std::vector<std::string_view> SplitWords(std::string_view text, std::string_view separators = " ");
// What is before the first separator, and what is behind it.
std::pair<std::string_view, std::string_view> SplitOnce(std::string_view text, char separator);
// Without the blanks and tabs at both ends.
std::string_view Trimmed(std::string_view text);

// Whether all of `text` is a number that fits, without blanks and '+'; it is in `number` then.
template <typename Integer>
bool ParseNumber(std::string_view text, Integer& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}
// The same for a number with a fraction or an exponent; "inf" and "nan" are numbers.
bool ParseNumber(std::string_view text, double& number);
// Whether all of `text` is a port from 0 to 65535, of at most 5 digits; it is in `port` then.
bool ParsePort(std::string_view text, std::uint16_t& port);

}  // namespace gearstalk
