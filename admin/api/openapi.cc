// OpenAPI 3.0 from the route table; the schemas come first.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/api/decode.h"
#include "admin/api/fields.h"
#include "admin/api/history.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "broker/base/split.h"

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
                             "expired", "damaged"}))},
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
      {"order", Word({"asc", "desc"}), "/tubes/{tube}/groups"},
      {"order", Word({"id", "next"})},
      {"points", Integer(kMinPoints, kMaxPoints)},
      {"preview", Integer(0, 1)},
      {"protocol", Word({"beanstalk", "gearman"})},
      {"range", Word({"1h", "30d"})},
      {"role", Word({"producer", "worker", "waiting", "idle"})},
      {"series", ListOf({{"type", "string"}, {"enum", kSeries}})},
      {"sort", Word({"id"}), "/connections"},
      {"sort", Word({"name", "ready", "reserved", "delayed", "handed_out", "oldest"}),
       "/tubes/{tube}/groups"},
      {"sort", Word({"id", "name", "busy", "ready", "reserved", "delayed", "buried", "workers",
                     "waiting", "oldest"})},
      {"state", ListOf(Word({"ready", "reserved", "delayed", "buried"}))},
      {"topics", ListOf(Word({"server", "tube", "operation", "audit", "notice"}))},
      {"tubes", ListOf({{"type", "string"}})},
  };
  return rows;
}

Json SchemaOf(std::string_view path, std::string_view name) {
  const auto row = std::find_if(Rows().begin(), Rows().end(), [&](const Row& each) {
    return each.name == name && (each.path.empty() || each.path == path);
  });
  return row == Rows().end() ? Json{{"type", "string"}} : row->schema;
}

// NOLINTBEGIN(bugprone-suspicious-missing-comma): long entries have several lines.
// The objects that objects.h does not describe: requests, pages, and what is made for one answer.
// "NAME: MEMBER MEMBER?..." with the type behind a colon: a member is "name:type", the type one of
// text number integer truth time list any or the name of a schema; "?" behind it: may be null, "*"
// before it: a list of them, "~" behind it: may be left out (of requests).
constexpr std::string_view kObjects[] = {
    "Nothing",
    "Index api:integer version:text paths:*text",
    "Token token:text",
    "Session user:text? role:text? bodies:truth tubes:*text via:text? expires_at:time? can:*text",
    "Draining draining:truth",
    "LogLevel level:text",
    "StepDown force:truth~",
    "SteppingDown stepping_down:truth",
    "GroupPage items:*Group next:text? complete:truth scanned:integer total:integer",
    "PolicyItem key:text value:text source:text",
    "Policy items:*PolicyItem",
    "PolicyValue value:text",
    "SchedulePage items:*Schedule next:text? complete:truth scanned:integer",
    "Enabled enabled:truth",
    "TransferPage items:*Transfer next:text? complete:truth scanned:integer",
    "TubePage items:*Tube next:text? complete:truth scanned:integer total:integer",
    "TubeName name:text~ name_base64:text~",
    "Pause seconds:integer",
    "MaxQueue all:integer~ high:integer~ normal:integer~ low:integer~",
    "Kick count:integer state:text?~",
    "Kicked kicked:integer state:text",
    "Put body:text~ body_base64:text~ priority:integer~ delay_seconds:integer~ "
    "ttr_seconds:integer~ unique:text?~",
    "FailureGroup tube:text tube_ref:text origin:text? cause:text? count:integer buried:integer "
    "first_failed_at:time? last_failed_at:time? per_step:*integer",
    "FailurePage items:*Job next:text? complete:truth scanned:integer matched:integer "
    "groups:*FailureGroup groups_total:integer step_seconds:number",
    "AttentionTube name:text ref:text since_at:time jobs:integer workers:integer reason:text",
    "AttentionItem kind:text count:integer jobs:integer? since_at:time? reason:text link:text "
    "tubes:*AttentionTube",
    "Attention items:*AttentionItem at:time?",
    "JobPage items:*Job next:text? complete:truth scanned:integer matched:integer "
    "as_of_id:integer count:integer?",
    "BodyView id:integer size_bytes:integer offset:integer shown_bytes:integer truncated:truth "
    "as:text detected:text? value:any text:text? error:text?",
    "Bury priority:integer~ force:truth~",
    "Release delay_seconds:integer~",
    "Move to:text~ to_base64:text~",
    "Copy to:text~ to_base64:text~ priority:integer~ delay_seconds:integer~ ttr_seconds:integer~",
    "NewOperation action:text filter:any to:text~ to_base64:text~",
    "Confirm count:integer",
    "Operation id:integer action:text filter:any to:text? state:text count:integer? done:integer "
    "skipped:integer failed:integer scanned:integer as_of_id:integer user:text? created_at:time "
    "ended_at:time? problem:any",
    "OperationPage items:*Operation next:text? complete:truth scanned:integer",
    "ConnectionPage items:*Connection next:text? complete:truth scanned:integer total:integer",
    "History range:text step_seconds:integer tube:text? times:*integer series:any",
    "Act id:integer at:time user:text? role:text? address:text? action:text? tube:text? "
    "job:integer? filter:any count:integer? times:integer result:text request_id:text?",
    "AuditPage items:*Act next:text? complete:truth scanned:integer",
    "Problem type:text title:text status:integer code:text detail:text field:text? "
    "request_id:text state:text~ count:integer~ retry_after_seconds:integer~",
};
// NOLINTEND(bugprone-suspicious-missing-comma)

Json TypeOf(std::string_view type) {
  if (type == "text") return {{"type", "string"}};
  if (type == "time") return {{"type", "string"}, {"format", "date-time"}};
  if (type == "number" || type == "integer") return {{"type", type}};
  if (type == "truth") return {{"type", "boolean"}};
  if (type == "any") return Json::object();
  return {{"$ref", "#/components/schemas/" + std::string(type)}};
}

Json MemberOf(std::string_view type) {
  if (type.ends_with('~')) type.remove_suffix(1);
  const bool nullable = type.ends_with('?');
  if (nullable) type.remove_suffix(1);
  const bool list = type.starts_with('*');
  if (list) type.remove_prefix(1);
  Json schema = TypeOf(type);
  if (list) schema = ListOf(std::move(schema));
  if (!nullable) return schema;
  // A reference has no neighbours in OpenAPI 3.0.
  if (schema.contains("$ref")) schema = {{"allOf", Json::array({std::move(schema)})}};
  schema["nullable"] = true;
  return schema;
}

void AddMember(Json& object, std::string_view name, std::string_view type, std::string_view means) {
  if (object.is_null()) object = {{"type", "object"}, {"properties", Json::object()}};
  Json member = MemberOf(type);
  if (!means.empty()) {
    if (member.contains("$ref")) member = {{"allOf", Json::array({std::move(member)})}};
    member["description"] = means;
  }
  object["properties"][std::string(name)] = std::move(member);
  if (!type.ends_with('~')) object["required"].push_back(name);
}

Json Schemas() {
  Json schemas = {{"Anything", Json::object()}};
  for (const std::string_view object : kObjects) {
    const auto [name, members] = SplitOnce(object, ' ');
    Json& schema = schemas[std::string(name)];
    schema = {{"type", "object"}, {"properties", Json::object()}};
    for (const std::string_view member : SplitWords(members)) {
      const auto [called, type] = SplitOnce(member, ':');
      AddMember(schema, called, type, {});
    }
  }
  DescribeObjects(
      [&](std::string_view object, std::string_view name, std::string_view type,
          std::string_view means) { AddMember(schemas[std::string(object)], name, type, means); });
  return schemas;
}

Json Content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

Json Parameter(std::string_view name, std::string_view in, Json schema) {
  Json parameter = {{"name", name}, {"in", in}, {"required", in == "path"}};
  if (schema["type"] == "array") parameter.update({{"style", "form"}, {"explode", false}});
  parameter["schema"] = std::move(schema);
  return parameter;
}

Json ParametersOf(const Route& route) {
  Json parameters = Json::array();
  for (std::size_t at = route.path.find('{'); at != std::string_view::npos;
       at = route.path.find('{', at + 1)) {
    const std::string_view name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    parameters.push_back(Parameter(name, "path", {{"type", name == "id" ? "integer" : "string"}}));
  }
  for (const std::string_view name : SplitWords(route.query)) {
    parameters.push_back(Parameter(name, "query", SchemaOf(route.path, name)));
  }
  if (route.method == "POST") {
    parameters.push_back(Parameter("Idempotency-Key", "header",
                                   {{"type", "string"}, {"pattern", "^[A-Za-z0-9._-]{1,64}$"}}));
  }
  return parameters;
}

Json AnswerOf(const Route& route) {
  Json answer = {{"description", route.summary}};
  if (!route.answer.empty()) {
    answer["content"] = Content("application/json", TypeOf(route.answer));
  } else if (route.path == "/events") {
    answer["content"] = Content("text/event-stream", {{"type", "string"}});
  } else if (route.statuses == "200") {
    answer["content"] =
        Content("application/octet-stream", {{"type", "string"}, {"format", "binary"}});
  }
  return answer;
}

Json OperationOf(const Route& route) {
  constexpr std::string_view kRights[] = {"anybody", "viewer", "operator", "admin",
                                          "viewer+bodies"};
  Json responses = Json::object();
  for (const std::string_view status : SplitWords(route.statuses)) {
    responses[std::string(status)] = AnswerOf(route);
  }
  responses["default"] = {{"description", "A problem"},
                          {"content", Content("application/problem+json", TypeOf("Problem"))}};
  Json operation = {{"summary", route.summary},
                    {"x-right", kRights[static_cast<std::size_t>(route.right)]},
                    {"parameters", ParametersOf(route)},
                    {"responses", std::move(responses)}};
  if (!route.action.empty()) operation["x-action"] = route.action;
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", true},
                                {"content", Content("application/json", TypeOf(route.body))}};
  }
  return operation;
}

}  // namespace

Json OpenApi(std::string_view version, std::string_view root) {
  Json paths = Json::object();
  for (const Route& route : Routes()) {
    paths[std::string(route.path)][Lower(route.method)] = OperationOf(route);
  }
  return {
      {"openapi", "3.0.3"},
      {"info", {{"title", "gearstalkd"}, {"version", version}}},
      {"servers", Json::array({{{"url", root}}})},
      {"security", Json::array({{{"token", Json::array()}}, {{"session", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", Schemas()},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "gearstalk_session"}}}}}}}};
}

}  // namespace gearstalk::api
