#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk::api {

// Where the next page begins: numbers, perhaps a text, and the query that they belong to.
struct Cursor {
  std::vector<std::uint64_t> numbers;
  std::string text;

  std::string Encode(std::string_view query) const;
  // Nothing: not a cursor, or one of another query, or with another number of numbers.
  static std::optional<Cursor> Decode(std::string_view cursor, std::string_view query,
                                      std::size_t numbers);
};

}  // namespace gearstalk::api
