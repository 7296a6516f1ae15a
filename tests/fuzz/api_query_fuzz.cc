// What comes to the API in paths and queries: routes, refs of tubes, cursors, filters, paths into
// JSON. Whatever they hold is understood or refused.

#include <functional>
#include <string>

#include "admin/api/filter.h"
#include "admin/api/id_set.h"
#include "admin/api/json.h"
#include "admin/api/json_scan.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk::api {
namespace {

// "a=b&c=d", decoded as a request's.
HttpRequest::Pairs PairsOf(std::string_view query) {
  HttpRequest::Pairs pairs;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t sign = std::min(pair.find('='), pair.size());
    std::string name, value;
    if (!PercentDecode(pair.substr(0, sign), true, name)) continue;
    if (!PercentDecode(pair.substr(std::min(sign + 1, pair.size())), true, value)) continue;
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

void CheckNames(std::string_view path, std::string_view bytes) {
  for (const std::string_view method : {"GET", "POST", "DELETE"}) {
    const Match match = FindRoute(method, path);
    for (const std::string& argument : match.arguments) (void)NameOfRef(argument);
  }
  GS_CHECK(NameOfRef(RefOf(bytes)) == std::string(bytes));
}

void CheckCursors(std::string_view bytes) {
  for (const std::size_t numbers : {0U, 1U, 2U, 4U}) {
    const auto cursor = Cursor::Decode(bytes, "query", numbers);
    if (!cursor) continue;
    const auto again = Cursor::Decode(cursor->Encode("query"), "query", numbers);
    GS_CHECK(again && again->numbers == cursor->numbers && again->text == cursor->text);
  }
  if (const auto set = IdSet::Decode(bytes)) {
    const auto again = IdSet::Decode(set->Encode());
    GS_CHECK(again && again->Encode() == set->Encode());
  }
}

// The scan takes the texts that the parser takes, wherever its slices end.
void CheckScan(std::string_view path_text, std::string_view text, std::size_t slice) {
  const std::optional<JsonPath> path = JsonPath::Parse(path_text);
  if (!path) return;
  std::uint64_t elements = 0;
  const std::function<void(std::string_view)> element = [&](std::string_view each) {
    GS_CHECK(ParseJson(each).has_value());
    ++elements;
  };
  const bool good = ParseJson(text).has_value();
  const std::function<void(std::string_view)> none = [](std::string_view) {};
  JsonScan at_once(*path, good ? element : none);
  GS_CHECK(at_once.Read(text, text.size() + 1));
  JsonScan in_slices(*path, none);
  while (!in_slices.Read(text, slice)) continue;
  GS_CHECK(at_once.value() == in_slices.value());
  GS_CHECK(good || at_once.value().empty());
  if (at_once.value().empty()) return;
  const std::optional<Json> value = ParseJson(at_once.value());
  GS_CHECK(value.has_value());
  if (value->is_string()) {
    GS_CHECK(value->get_ref<const std::string&>() == TextOfJsonString(at_once.value()));
  }
}

}  // namespace
}  // namespace gearstalk::api

// A path, a query and a text, with line ends between them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  if (size == 0) return 0;
  std::string_view rest = AsBytes(data + 1, size - 1);
  const std::string_view path = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(path.size() + 1, rest.size()));
  const std::string_view query = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(query.size() + 1, rest.size()));
  api::CheckNames(path, rest);
  api::CheckCursors(rest);
  const HttpRequest::Pairs pairs = api::PairsOf(query);
  api::Fields fields = api::Fields::OfQuery(pairs);
  (void)api::Filter::Read(fields);
  GS_CHECK(fields.Finish() || !fields.problem().detail.empty());
  if (const auto body = api::ParseJson(rest); body && body->is_object()) {
    api::Fields members = api::Fields::OfObject(*body);
    (void)api::Filter::Read(members);
    GS_CHECK(members.Finish() || !members.problem().detail.empty());
  }
  for (const auto& [name, value] : pairs) {
    if (name == "json_path") api::CheckScan(value, rest, std::size_t{data[0]} + 1);
  }
  api::CheckScan("$", rest, std::size_t{data[0]} + 1);
  return 0;
}
