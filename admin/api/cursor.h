#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk::api {

// Where a walk goes on: numbers, perhaps a text, and which query they belong to.
struct Cursor {
  std::vector<std::uint64_t> numbers;
  std::string text;

  std::string Encode(std::string_view query) const;
  // Nothing: it is none, or one of another query, or does not have so many numbers.
  static std::optional<Cursor> Decode(std::string_view cursor, std::string_view query,
                                      std::size_t numbers);
};

}  // namespace gearstalk::api
