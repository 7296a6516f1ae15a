#include "admin/api/cursor.h"

#include <fmt/format.h>

#include <charconv>

#include "admin/api/json.h"
#include "admin/api/users.h"
#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kCheck = 6;  // bytes of the query's hash

std::string CheckOfQuery(std::string_view query) {
  const Sha256 hash = HashOf(query);
  return {reinterpret_cast<const char*>(hash.data()), kCheck};
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
    const auto [end, error] = std::from_chars(rest.begin(), rest.end(), number, 16);
    if (error != std::errc() || end == rest.end() || *end != ' ') return std::nullopt;
    decoded.numbers.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.begin()) + 1);
  }
  decoded.text = rest;
  return decoded;
}

}  // namespace gearstalk::api
