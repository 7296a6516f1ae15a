// What the parameters of queries may be. The handlers hold the values to it, by Fields.

#include "admin/api/parameters.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "admin/api/decode.h"
#include "admin/api/fields.h"
#include "admin/api/history.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

Json Integer(std::uint64_t least, std::uint64_t most) {
  return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
}

Json Word(std::initializer_list<std::string_view> words) {
  return {{"type", "string"}, {"enum", words}};
}

Json ListOf(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

struct Row {
  std::string_view name;
  Json schema;
  std::string_view path = {};  // where it means this; empty: everywhere else
};

// Texts have no row.
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"as", Word({"auto", "text", "json", "base64", "hex", "php", "msgpack"})},
      {"cause", ListOf(Word({"none", "failed", "exception", "timeout", "lost", "released", "buried",
                             "expired"}))},
      {"failed_within_seconds", {{"type", "number"}, {"minimum", 0}}},
      {"force", {{"type", "boolean"}}},
      {"held", Word({"commit", "drop"})},
      {"holder", Integer(1, kMostId)},
      {"id_from", Integer(0, kMostId)},
      {"id_to", Integer(0, kMostId)},
      {"json_op", Word({"eq", "ne", "lt", "gt", "contains"})},
      {"limit", Integer(1, kMaxDecoded), "/jobs/{id}/body/view"},
      {"limit", Integer(1, kMaxPage)},
      {"max_age_seconds", {{"type", "number"}, {"minimum", 0}}},
      {"max_priority", Integer(0, kMost32)},
      {"max_reserves", Integer(0, kMost32)},
      {"max_scan", Integer(1, kMaxScan)},
      {"min_age_seconds", {{"type", "number"}, {"minimum", 0}}},
      {"min_buries", Integer(0, kMost32)},
      {"min_priority", Integer(0, kMost32)},
      {"min_reserves", Integer(0, kMost32)},
      {"min_timeouts", Integer(0, kMost32)},
      {"offset", Integer(0, kMost32)},
      {"only", Word({"jobs", "idle", "buried", "paused", "unserved", "falls_behind",
                     "silent_workers", "held_back"})},
      {"order", Word({"asc", "desc"}), "/tubes"},
      {"order", Word({"id", "next"})},
      {"points", Integer(kMinPoints, kMaxPoints)},
      {"preview", Integer(0, 1)},
      {"protocol", Word({"beanstalk", "gearman"})},
      {"range", Word({"1h", "30d"})},
      {"role", Word({"producer", "worker", "waiting"})},
      {"series", ListOf({{"type", "string"}, {"enum", kSeries}})},
      {"sort", Word({"id"}), "/connections"},
      {"sort", Word({"id", "name", "busy", "ready", "reserved", "delayed", "buried", "workers",
                     "waiting", "oldest"})},
      {"state", ListOf(Word({"ready", "reserved", "delayed", "buried"}))},
      {"topics", ListOf(Word({"server", "tube", "operation", "audit", "notice"}))},
      {"tubes", ListOf({{"type", "string"}})},
  };
  return rows;
}

}  // namespace

Json QueryParameter(std::string_view path, std::string_view name) {
  const auto row = std::find_if(Rows().begin(), Rows().end(), [&](const Row& each) {
    return each.name == name && (each.path.empty() || each.path == path);
  });
  Json schema = row == Rows().end() ? Json{{"type", "string"}} : row->schema;
  Json parameter = {{"name", name}, {"in", "query"}, {"required", false}};
  if (schema["type"] == "array") parameter.update({{"style", "form"}, {"explode", false}});
  parameter["schema"] = std::move(schema);
  return parameter;
}

}  // namespace gearstalk::api
