#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/call.h"

namespace gearstalk::api {

inline constexpr std::uint64_t kMaxPage = 500;
inline constexpr std::uint64_t kUsualPage = 50;
inline constexpr std::uint64_t kMaxScan = 1'000'000;  // jobs looked at for a page

// Where the next page begins: numbers, perhaps a text, and the query that they belong to.
struct Cursor {
  std::vector<std::uint64_t> numbers;
  std::string text;

  std::string Encode(std::string_view query) const;
  // Nothing: not a cursor, or one of another query, or with another number of numbers.
  static std::optional<Cursor> Decode(std::string_view cursor, std::string_view query,
                                      std::size_t numbers);
};

// A page under construction; items are JSON texts.
struct Page {
  std::uint64_t limit = kUsualPage;
  std::string query;            // that cursors belong to
  std::optional<Cursor> after;  // the end of the page before
  std::size_t size = 0;
  std::string items;
  std::uint64_t scanned = 0;
  bool complete = true;
  std::string next;  // empty: the end

  // Reads `limit`, and `cursor`, which must be one of this query with so many numbers. `more`: what
  // cursors belong to beside the path and all parameters but these two.
  static Page Of(Call& call, std::size_t numbers, std::string_view more = {},
                 std::uint64_t most = kMaxPage);

  bool full() const { return size >= limit; }
  // The next page begins there.
  void GoOn(const Cursor& at) { next = at.Encode(query); }
  void Add(const Json& item) {
    if (size++ > 0) items += ',';
    items += Dump(item);
  }
  // `more`: further members.
  Reply Finish(const Json& more = Json::object()) const;
};

}  // namespace gearstalk::api
