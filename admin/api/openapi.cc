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
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "admin/metrics/job_metrics.h"
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
    "Jobs ready:integer reserved:integer delayed:integer buried:integer urgent:integer",
    "Connections open:integer limit:integer beanstalk:integer gearman:integer undecided:integer "
    "producers:integer workers:integer waiting:integer stalled:integer accepted_total:integer",
    "Memory job_bytes:integer job_limit_bytes:integer bodies_bytes:integer "
    "bodies_limit_bytes:integer bodies_in_journal:integer bodies_in_journal_bytes:integer "
    "resident_bytes:integer",
    "Journal sync:text failed:truth full:truth disk_bytes:integer live_bytes:integer "
    "filesystem_bytes:integer? free_bytes:integer? free_limit_bytes:integer? low:truth "
    "full_seconds:number? segments:integer waiting_bytes:integer sync_seconds_p99:number?",
    "Leader name:text address:text",
    "Store kind:text version:text primary:text synchronous_commit:text fsync:text "
    "full_page_writes:text synchronous_standby_names:text synchronous_standbys:*text?",
    "Replica role:text epoch:integer leader:Leader? behind_batches:integer "
    "lease_left_seconds:number? takeovers_total:integer store:Store~",
    "StepDown force:truth~",
    "SteppingDown stepping_down:truth",
    "Router name:text pid:integer? connections:integer accepted_total:integer "
    "handshakes_total:integer cpu_seconds_total:number received_bytes_total:integer "
    "sent_bytes_total:integer",
    "Server version:text commit:text server_name:text pid:integer started_at:time now:time "
    "uptime_seconds:number listen:*text admin:*text ready:truth not_ready_reason:text? "
    "draining:truth log_level:text jobs:Jobs counters:Counters tubes:integer "
    "connections:Connections memory:Memory journal:Journal refused:any "
    "oldest_ready_age_seconds:number? loop_lag_seconds_p99:number? received_bytes_total:integer "
    "sent_bytes_total:integer cpu_seconds_total:number loop_cpu_seconds_total:number "
    "routers:*Router router_restarts_total:integer held_jobs:integer replica:Replica?",
    "TubeLimits high:integer normal:integer low:integer source:text",
    "Tube name:text ref:text id:integer? jobs:Jobs counters:Counters "
    "oldest_ready_age_seconds:number? workers:integer using:integer watching:integer "
    "waiting:integer paused:truth pause_seconds:number? pause_left_seconds:number? "
    "pauses_total:integer maxqueue:TubeLimits created_function:truth retrying:integer "
    "held_back:text? groups:integer groups_held_back:integer jobs_without_group:integer",
    "Group name:text? ready:integer reserved:integer delayed:integer handed_out:integer "
    "oldest_ready_age_seconds:number? held_back:text?",
    "GroupPage items:*Group next:text? complete:truth scanned:integer total:integer",
    "PolicyItem key:text value:text source:text",
    "Policy items:*PolicyItem",
    "PolicyValue value:text",
    "Schedule name:text tube:text cron:text? every_seconds:number? time_zone:text next_at:time? "
    "last_at:time? runs:integer skipped:integer missed:integer enabled:truth",
    "SchedulePage items:*Schedule next:text? complete:truth scanned:integer",
    "Enabled enabled:truth",
    "Transfer name:text ref:text kind:text ids:text finished:truth settled:integer moved:integer "
    "joined:integer refused:integer altered:integer uncertain:integer held:integer",
    "TransferPage items:*Transfer next:text? complete:truth scanned:integer",
    "TubePage items:*Tube next:text? complete:truth scanned:integer total:integer",
    "TubeName name:text~ name_base64:text~",
    "Pause seconds:integer",
    "MaxQueue all:integer~ high:integer~ normal:integer~ low:integer~",
    "Kick count:integer state:text?~",
    "Kicked kicked:integer state:text",
    "Put body:text~ body_base64:text~ priority:integer~ delay_seconds:integer~ "
    "ttr_seconds:integer~ unique:text?~",
    "Holder connection:integer address:text client_id:text?",
    "Progress numerator:integer denominator:integer",
    "Job id:integer tube:text tube_ref:text state:text priority:integer class:text "
    "size_bytes:integer created_at:time age_seconds:number delay_seconds:number "
    "ttr_seconds:number? due_in_seconds:number? ttr_left_seconds:number? "
    "reserved_at:time? running_seconds:number? reserves:integer "
    "timeouts:integer releases:integer buries:integer kicks:integer lost_tries:integer "
    "unique:text? group:text? waiters:integer durable:truth on_failure:text holder:Holder? "
    "progress:Progress? preview:text? body_in_memory:truth attempts:integer? max_attempts:integer? "
    "expires_in_seconds:number? cause:text? failed_at:time? "
    "cause_text:text? origin:text?",
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
    "Connection id:integer protocol:text? address:text listen:text tls:truth certificate:text? "
    "client_id:text? roles:*text waiting:truth uses:text? watches:*text watches_total:integer "
    "holds:integer connected_at:time idle_seconds:number",
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

Json MemberOf(std::string_view type, bool& required) {
  required = !type.ends_with('~');
  if (!required) type.remove_suffix(1);
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

Json ObjectOf(std::string_view members) {
  Json properties = Json::object();
  Json needed = Json::array();
  for (const std::string_view member : SplitWords(members)) {
    const auto [name, type] = SplitOnce(member, ':');
    bool required = false;
    properties[std::string(name)] = MemberOf(type, required);
    if (required) needed.push_back(name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!needed.empty()) schema["required"] = std::move(needed);
  return schema;
}

Json Schemas() {
  Json schemas = {{"Anything", Json::object()}};
  for (const std::string_view object : kObjects) {
    const auto [name, members] = SplitOnce(object, ' ');
    schemas[std::string(name)] = ObjectOf(members);
  }
  std::string counters;
  for (const JobCounter& counter : JobCounters()) {
    counters.append(counter.short_name()).append(":integer ");
  }
  schemas["Counters"] = ObjectOf(counters);
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
