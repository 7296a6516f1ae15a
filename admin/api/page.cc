#include "admin/api/page.h"

#include <fmt/format.h>

#include <algorithm>

namespace gearstalk::api {

Reply Page::Finish(const Json& more) const {
  Json rest = {
      {"next", next.empty() ? Json() : Json(next)}, {"complete", complete}, {"scanned", scanned}};
  rest.update(more);
  Reply reply;
  reply.body = fmt::format("{{\"items\":[{}],{}", items, std::string_view(Dump(rest)).substr(1));
  return reply;
}

std::optional<Cursor> CursorOf(Fields& fields, std::string_view query, std::size_t numbers) {
  const auto text = fields.Text("cursor");
  if (!text) return std::nullopt;
  std::optional<Cursor> cursor = Cursor::Decode(*text, query, numbers);
  if (!cursor) fields.Fail("cursor", "belongs to another query, or to tubes before a restart");
  return cursor;
}

// The order of parameters does not matter.
std::string QueryOf(const HttpRequest& request, std::string_view more) {
  HttpRequest::Pairs sorted = request.query;
  std::sort(sorted.begin(), sorted.end());
  std::string query = request.path + '\n' + std::string(more);
  for (const auto& [name, value] : sorted) {
    if (name == "limit" || name == "cursor") continue;
    query += fmt::format("\n{}={}:{}", name, value.size(), value);
  }
  return query;
}

}  // namespace gearstalk::api
