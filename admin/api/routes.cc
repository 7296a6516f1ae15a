#include "admin/api/routes.h"

#include <algorithm>

namespace gearstalk::api {
namespace {

using enum Right;

constexpr std::string_view kFilter =
    "tube tube_base64 tube_match state id_from id_to min_age_seconds max_age_seconds min_priority "
    "max_priority min_reserves max_reserves min_timeouts min_buries unique holder group cause "
    "origin "
    "origin_base64 failed_within_seconds text text_base64 json_path json_value json_op order "
    "preview max_scan limit cursor";
constexpr std::string_view kFailureFilter =
    "since tube tube_base64 tube_match state id_from id_to min_age_seconds max_age_seconds "
    "min_priority max_priority min_reserves max_reserves min_timeouts min_buries unique holder "
    "group cause origin origin_base64 failed_within_seconds text text_base64 json_path json_value "
    "json_op preview limit cursor";

const Route kRoutes[] = {
    {"GET", "/", kAny, false, GetIndex, "The paths of this API", "", "", "", "Index"},
    {"GET", "/openapi.json", kAny, false, GetOpenApi, "This API in OpenAPI 3.0", "", "", "",
     "Anything"},
    {"GET", "/session", kAny, false, GetSession, "The caller and its rights", "", "", "",
     "Session"},
    {"POST", "/session", kAny, false, OpenSession, "Log in: sets a cookie for a token",
     "session.open", "", "Token", "Session", "201"},
    {"DELETE", "/session", kAny, false, CloseSession, "Log out", "", "", "", "", "204"},
    {"GET", "/server", kViewer, false, GetServer, "The server in numbers", "", "", "", "Server"},
    {"PUT", "/server/draining", kAdmin, true, SetDraining, "Take no new jobs, or take them again",
     "server.drain", "", "Draining", "Draining"},
    {"PUT", "/server/log-level", kAdmin, true, SetLogLevel,
     "Set the log level until reload or restart", "server.log_level", "", "LogLevel", "LogLevel"},
    {"POST", "/server/step-down", kAdmin, true, StepDown, "Let another broker lead",
     "server.step_down", "", "StepDown", "SteppingDown", "202"},
    {"GET", "/attention", kViewer, false, GetAttention,
     "What needs attention, a line for each kind", "", "tube tube_base64", "", "Attention"},
    {"GET", "/tubes", kViewer, false, ListTubes, "Tubes, filtered and sorted", "",
     "match sort order only limit cursor", "", "TubePage"},
    {"POST", "/tubes", kAdmin, false, CreateTube, "Create a tube that stays when it is empty",
     "tube.create", "", "TubeName", "Tube", "201 200"},
    {"GET", "/tubes/{tube}", kViewer, false, GetTube, "A tube", "", "", "", "Tube"},
    {"DELETE", "/tubes/{tube}", kAdmin, false, DropTube, "Drop a tube that nobody uses",
     "tube.drop", "", "", "", "204"},
    {"POST", "/tubes/{tube}/pause", kOperator, false, PauseTube, "Hand out no jobs for a time",
     "tube.pause", "", "Pause", "Tube"},
    {"POST", "/tubes/{tube}/resume", kOperator, false, ResumeTube, "End a pause", "tube.resume", "",
     "Nothing", "Tube"},
    {"PUT", "/tubes/{tube}/maxqueue", kAdmin, false, SetMaxQueue, "Limit the jobs of a tube",
     "tube.maxqueue", "", "MaxQueue", "Tube"},
    {"DELETE", "/tubes/{tube}/maxqueue", kAdmin, false, ResetMaxQueue,
     "Limit the jobs of a tube as the configuration says", "tube.maxqueue", "", "", "Tube"},
    {"GET", "/tubes/{tube}/groups", kViewer, false, ListGroups,
     "The groups of a tube that have unfinished jobs", "", "sort order limit cursor", "",
     "GroupPage"},
    {"GET", "/tubes/{tube}/policy", kViewer, false, GetPolicy,
     "The policy of a tube, and where each value comes from", "", "", "", "Policy"},
    {"PUT", "/tubes/{tube}/policy/{key}", kAdmin, false, SetPolicy,
     "Set a policy, above the configuration", "tube.policy", "", "PolicyValue", "PolicyItem"},
    {"DELETE", "/tubes/{tube}/policy/{key}", kAdmin, false, ResetPolicy,
     "Have the configuration decide again", "tube.policy", "", "", "PolicyItem"},
    {"POST", "/tubes/{tube}/kick", kOperator, false, KickTube, "Make buried or delayed jobs ready",
     "tube.kick", "", "Kick", "Kicked"},
    {"POST", "/tubes/{tube}/jobs", kOperator, false, PutJob, "Put a job", "job.put", "", "Put",
     "Job", "201 200"},
    {"GET", "/tubes/{tube}/jobs", kViewer, false, ListJobsOfTube, "Jobs of a tube", "", kFilter, "",
     "JobPage"},
    {"GET", "/jobs", kViewer, false, ListJobs, "Jobs, filtered", "", kFilter, "", "JobPage"},
    {"GET", "/failures", kViewer, false, ListFailures,
     "Buried and dead jobs, the newest failure first, and their groups", "", kFailureFilter, "",
     "FailurePage"},
    {"GET", "/jobs/{id}", kViewer, false, GetJob, "A job", "", "", "", "Job"},
    {"DELETE", "/jobs/{id}", kOperator, false, DeleteJob, "Delete a job", "job.delete", "force", "",
     "", "204"},
    {"GET", "/jobs/{id}/body", kBodies, false, GetBody, "The bytes of a body"},
    {"GET", "/jobs/{id}/body/view", kBodies, false, ViewBody, "A body, decoded", "",
     "as limit offset", "", "BodyView"},
    {"POST", "/jobs/{id}/kick", kOperator, false, KickJob, "Make a buried or delayed job ready",
     "job.kick", "", "Nothing", "Job"},
    {"POST", "/jobs/{id}/bury", kOperator, false, BuryJob, "Bury a job", "job.bury", "", "Bury",
     "Job"},
    {"POST", "/jobs/{id}/release", kOperator, false, ReleaseJob, "Take a job from its holder",
     "job.release", "", "Release", "Job"},
    {"POST", "/jobs/{id}/move", kOperator, false, MoveJob, "Put a job into another tube",
     "job.move", "", "Move", "Job"},
    {"POST", "/jobs/{id}/copy", kOperator, false, CopyJob, "Put a job with the same body",
     "job.copy", "", "Copy", "Job", "201"},
    {"GET", "/operations", kOperator, false, ListOperations, "Operations, the newest first", "",
     "limit cursor", "", "OperationPage"},
    {"POST", "/operations", kOperator, false, BeginOperation,
     "Count the jobs that an operation would act on", "", "", "NewOperation", "Operation", "201"},
    {"GET", "/operations/{id}", kOperator, false, GetOperation, "An operation", "", "", "",
     "Operation"},
    {"DELETE", "/operations/{id}", kOperator, false, StopOperation, "Stop an operation where it is",
     "", "", "", "Operation"},
    {"POST", "/operations/{id}/confirm", kOperator, false, ConfirmOperation,
     "Begin an operation whose count is known", "", "", "Confirm", "Operation", "202"},
    {"GET", "/connections", kViewer, true, ListConnections, "Clients' connections", "",
     "role protocol tube address sort limit cursor", "", "ConnectionPage"},
    {"GET", "/connections/{id}", kViewer, true, GetConnection, "A connection", "", "", "",
     "Connection"},
    {"DELETE", "/connections/{id}", kAdmin, true, CloseConnection, "Disconnect a client",
     "connection.close", "", "", "", "204"},
    {"GET", "/schedules", kViewer, false, ListSchedules, "Schedules by name", "", "limit cursor",
     "", "SchedulePage"},
    {"POST", "/schedules/{name}/run", kOperator, false, RunSchedule,
     "Put a schedule's job now; its plan stays", "schedule.run", "", "Nothing", "Job", "201"},
    {"PUT", "/schedules/{name}/enabled", kAdmin, false, EnableSchedule,
     "Switch a schedule on or off", "schedule.enabled", "", "Enabled", "Schedule"},
    {"GET", "/transfers", kViewer, true, ListTransfers, "Jobs that move in or out", "",
     "limit cursor", "", "TransferPage"},
    {"DELETE", "/transfers/{name}", kAdmin, true, ForgetTransfer, "Forget a transfer",
     "transfer.delete", "held", "", "", "204"},
    {"GET", "/history", kViewer, false, GetHistory, "Numbers of the last hour or 30 days", "",
     "series range tube tube_base64 points", "", "History"},
    {"GET", "/events", kViewer, false, GetEvents, "Server-sent events", "", "topics tubes"},
    {"GET", "/audit", kOperator, true, GetAudit, "Acts, the newest first", "", "limit cursor", "",
     "AuditPage"},
};

// The acts of ActionsOf, in the order of the documentation. All other acts follow from the role.
constexpr std::string_view kNamedActs[] = {
    "job.put",          "job.delete",  "job.kick",      "job.bury",     "job.release",
    "job.move",         "job.copy",    "tube.create",   "tube.drop",    "tube.pause",
    "tube.resume",      "tube.kick",   "tube.maxqueue", "server.drain", "server.log_level",
    "connection.close", "session.open"};

// Whether the path matches the pattern; fills `arguments` with the parts that stand for {...}.
bool Matches(std::string_view pattern, std::string_view path, std::vector<std::string>& arguments) {
  arguments.clear();
  while (!pattern.empty() && !path.empty()) {
    pattern.remove_prefix(1);  // the slashes
    path.remove_prefix(1);
    const std::string_view wanted = pattern.substr(0, pattern.find('/'));
    const std::string_view given = path.substr(0, path.find('/'));
    if (wanted.starts_with('{')) {
      if (given.empty()) return false;
      arguments.emplace_back(given);
    } else if (wanted != given) {
      return false;
    }
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(given.size());
  }
  return pattern.empty() && path.empty();
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

Match FindRoute(std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  Match match;
  for (const Route& route : kRoutes) {
    std::vector<std::string> arguments;
    if (!Matches(route.path, path, arguments)) continue;
    if (route.method == method) return {&route, std::move(arguments), ""};
    match.allow += match.allow.empty() ? "" : ", ";
    match.allow += route.method == "GET" ? "GET, HEAD" : route.method;
  }
  return match;
}

bool Allows(const Grant& grant, const Route& route) {
  if (route.server && !grant.SeesAll()) return false;
  switch (route.right) {
    case kAny:
      return true;
    case kBodies:
      return grant.role >= Role::kViewer && grant.bodies;
    case kViewer:
      return grant.role >= Role::kViewer;
    case kOperator:
      return grant.role >= Role::kOperator;
    case kAdmin:
      return grant.role >= Role::kAdmin;
  }
  return false;
}

std::vector<std::string_view> ActionsOf(const Grant& grant) {
  std::vector<std::string_view> allowed;
  if (grant.role == Role::kNone) return allowed;
  for (const std::string_view action : kNamedActs) {
    const auto route = std::find_if(std::begin(kRoutes), std::end(kRoutes),
                                    [&](const Route& each) { return each.action == action; });
    if (Allows(grant, *route)) allowed.push_back(action);
  }
  return allowed;
}

}  // namespace gearstalk::api
