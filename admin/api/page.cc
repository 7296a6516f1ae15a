#include "admin/api/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "admin/api/users.h"
#include "broker/base/base64.h"
#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kCheck = 6;  // bytes of the query's hash

std::string CheckOfQuery(std::string_view query) {
  const Sha256 hash = HashOf(query);
  return {reinterpret_cast<const char*>(hash.data()), kCheck};
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

}  // namespace

// The query's hash, the numbers with a space behind each, the text.
std::string Cursor::Encode(std::string_view query) const {
  std::string bytes = CheckOfQuery(query);
  for (const std::uint64_t number : numbers) bytes += fmt::format("{:x} ", number);
  return ToBase64Url(bytes + text);
}

std::optional<Cursor> Cursor::Decode(std::string_view cursor, std::string_view query,
                                     std::size_t numbers) {
  const std::optional<std::string> bytes = FromBase64(cursor);
  if (!bytes || !bytes->starts_with(CheckOfQuery(query))) return std::nullopt;
  std::string_view rest = std::string_view(*bytes).substr(kCheck);
  Cursor decoded;
  while (decoded.numbers.size() < numbers) {
    std::uint64_t number = 0;
    const std::size_t end = rest.find(' ');
    if (end == rest.npos || !ParseNumber(rest.substr(0, end), number, 16)) return std::nullopt;
    decoded.numbers.push_back(number);
    rest.remove_prefix(end + 1);
  }
  decoded.text = rest;
  return decoded;
}

Page Page::Of(Call& call, std::size_t numbers, std::string_view more, std::uint64_t most) {
  Page page;
  page.limit = call.fields.IntegerOr("limit", 1, most, kUsualPage);
  page.query = QueryOf(call.request, more);
  const auto text = call.fields.Text("cursor");
  if (!text) return page;
  page.after = Cursor::Decode(*text, page.query, numbers);
  if (!page.after) {
    call.fields.Fail("cursor", "belongs to another query, or to tubes before a restart");
  }
  return page;
}

Reply Page::Finish(const Json& more) const {
  Json rest = {{"next", TextOrNull(next)}, {"complete", complete}, {"scanned", scanned}};
  rest.update(more);
  return Reply(200,
               fmt::format("{{\"items\":[{}],{}", items, std::string_view(Dump(rest)).substr(1)));
}

}  // namespace gearstalk::api
