// What the parameters of queries may be. The handlers hold the values to it, by Fields.

#include "admin/api/parameters.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "admin/api/decode.h"
#include "admin/api/history.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kMost32 = UINT32_MAX;
constexpr std::uint64_t kMostId = (std::uint64_t{1} << 53) - 1;

Json Integer(std::uint64_t least, std::uint64_t most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

Json Word(std::initializer_list<std::string_view> words) {
  return {{"type", "string"}, {"enum", words}};
}

Json Words(Json words) {
  return {{"type", "array"}, {"items", {{"type", "string"}, {"enum", std::move(words)}}}};
}

struct Row {
  std::string_view name;
  Json (*schema)();
  std::string_view path = {};  // where it means this; empty: everywhere else
};

// Texts have no row.
constexpr Row kRows[] = {
    {"as",
     [] {
       return Word({"auto", "text", "json", "base64", "hex", "php", "msgpack"});
     }},
    {"force",
     [] {
       return Json{{"type", "boolean"}};
     }},
    {"held",
     [] {
       return Word({"commit", "drop"});
     }},
    {"holder", [] { return Integer(1, kMostId); }},
    {"id_from", [] { return Integer(0, kMostId); }},
    {"id_to", [] { return Integer(0, kMostId); }},
    {"json_op",
     [] {
       return Word({"eq", "ne", "lt", "gt", "contains"});
     }},
    {"limit", [] { return Integer(1, kMaxDecoded); }, "/jobs/{id}/body/view"},
    {"limit", [] { return Integer(1, kMaxPage); }},
    {"max_age_seconds",
     [] {
       return Json{{"type", "number"}, {"minimum", 0}};
     }},
    {"max_priority", [] { return Integer(0, kMost32); }},
    {"max_reserves", [] { return Integer(0, kMost32); }},
    {"max_scan", [] { return Integer(1, 1'000'000); }},
    {"min_age_seconds",
     [] {
       return Json{{"type", "number"}, {"minimum", 0}};
     }},
    {"min_buries", [] { return Integer(0, kMost32); }},
    {"min_priority", [] { return Integer(0, kMost32); }},
    {"min_reserves", [] { return Integer(0, kMost32); }},
    {"min_timeouts", [] { return Integer(0, kMost32); }},
    {"offset", [] { return Integer(0, kMost32); }},
    {"only",
     [] {
       return Word({"jobs", "idle", "buried", "paused"});
     }},
    {"order",
     [] {
       return Word({"asc", "desc"});
     },
     "/tubes"},
    {"order",
     [] {
       return Word({"id", "next"});
     }},
    {"points", [] { return Integer(10, 3600); }},
    {"preview", [] { return Integer(0, 1); }},
    {"protocol",
     [] {
       return Word({"beanstalk", "gearman"});
     }},
    {"range",
     [] {
       return Word({"1h", "30d"});
     }},
    {"role",
     [] {
       return Word({"producer", "worker", "waiting"});
     }},
    {"series", [] { return Words(kSeries); }},
    {"sort", [] { return Word({"id"}); }, "/connections"},
    {"sort",
     [] {
       return Word({"id", "name", "busy", "ready", "reserved", "delayed", "buried", "workers",
                    "waiting", "oldest"});
     }},
    {"state",
     [] {
       return Words({"ready", "reserved", "delayed", "buried"});
     }},
    {"topics",
     [] {
       return Words({"server", "tube", "operation", "audit", "notice"});
     }},
    {"tubes",
     [] {
       return Json{{"type", "array"}, {"items", {{"type", "string"}}}};
     }},
};

}  // namespace

Json QueryParameter(std::string_view path, std::string_view name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) {
    return each.name == name && (each.path.empty() || each.path == path);
  });
  Json schema = row == std::end(kRows) ? Json{{"type", "string"}} : row->schema();
  Json parameter = {{"name", name}, {"in", "query"}, {"required", false}};
  if (schema["type"] == "array") parameter.update({{"style", "form"}, {"explode", false}});
  parameter["schema"] = std::move(schema);
  return parameter;
}

}  // namespace gearstalk::api
