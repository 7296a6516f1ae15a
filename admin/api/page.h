#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "admin/api/call.h"
#include "admin/api/cursor.h"
#include "admin/api/fields.h"

namespace gearstalk::api {

inline constexpr std::uint64_t kMaxPage = 500;
inline constexpr std::uint64_t kUsualPage = 50;
inline constexpr std::uint64_t kMaxScan = 1'000'000;  // jobs looked at for a page

// A page under construction; items are JSON texts.
struct Page {
  std::uint64_t limit = kUsualPage;
  std::size_t size = 0;
  std::string items;
  std::uint64_t scanned = 0;
  bool complete = true;
  std::string next;  // empty: the end

  void Add(const Json& item) {
    if (size++ > 0) items += ',';
    items += Dump(item);
  }
  // `more`: further members.
  Reply Finish(const Json& more = Json::object()) const;
};

// Reads `cursor`, which must be one of this query, into `numbers` numbers and a text.
std::optional<Cursor> CursorOf(Fields& fields, std::string_view query, std::size_t numbers);
// What cursors of a request belong to: its path and all parameters but limit and cursor.
std::string QueryOf(const HttpRequest& request, std::string_view more = {});

}  // namespace gearstalk::api
