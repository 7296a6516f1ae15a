#include "admin/api/routes.h"

#include <algorithm>

namespace gearstalk::api {
namespace {

using enum Right;

const std::string kOfJobs =
    "tube tube_base64 tube_match state id_from id_to min_age_seconds max_age_seconds min_priority "
    "max_priority min_reserves max_reserves min_timeouts min_buries unique holder group cause "
    "origin origin_base64 failed_within_seconds text text_base64 json_path json_value json_op ";
const std::string kFilter = kOfJobs + "order preview max_scan limit cursor";
const std::string kFailureFilter = "since " + kOfJobs + "preview limit cursor";

const Route kRoutes[] = {
    {"GET", "/", kAny, false, GetIndex, "The paths of this API", "Index"},
    {"GET", "/openapi.json", kAny, false, GetOpenApi, "This API in OpenAPI 3.0", "Anything"},
    {"GET", "/session", kAny, false, GetSession, "The caller and its rights", "Session"},
    {"POST", "/session", kAny, false, OpenSession, "Log in: sets a cookie for a token", "Session",
     "", "session.open", "Token", "201"},
    {"DELETE", "/session", kAny, false, CloseSession, "Log out", "", "", "", "", "204"},
    {"GET", "/server", kViewer, false, GetServer, "The server in numbers", "Server"},
    {"PUT", "/server/draining", kAdmin, true, SetDraining, "Take no new jobs, or take them again",
     "Draining", "", "server.drain", "Draining"},
    {"PUT", "/server/log-level", kAdmin, true, SetLogLevel,
     "Set the log level until reload or restart", "LogLevel", "", "server.log_level", "LogLevel"},
    {"POST", "/server/step-down", kAdmin, true, StepDown, "Let another broker lead", "SteppingDown",
     "", "server.step_down", "StepDown", "202"},
    {"GET", "/attention", kViewer, false, GetAttention,
     "What needs attention, a line for each kind", "Attention", "tube tube_base64"},
    {"GET", "/tubes", kViewer, false, ListTubes, "Tubes, filtered and sorted", "TubePage",
     "match sort order only limit cursor"},
    {"POST", "/tubes", kAdmin, false, CreateTube, "Create a tube that stays when it is empty",
     "Tube", "", "tube.create", "TubeName", "201 200"},
    {"GET", "/tubes/{tube}", kViewer, false, GetTube, "A tube", "Tube"},
    {"DELETE", "/tubes/{tube}", kAdmin, false, DropTube, "Drop a tube that nobody uses", "", "",
     "tube.drop", "", "204"},
    {"POST", "/tubes/{tube}/pause", kOperator, false, PauseTube, "Hand out no jobs for a time",
     "Tube", "", "tube.pause", "Pause"},
    {"POST", "/tubes/{tube}/resume", kOperator, false, ResumeTube, "End a pause", "Tube", "",
     "tube.resume", "Nothing"},
    {"PUT", "/tubes/{tube}/maxqueue", kAdmin, false, SetMaxQueue, "Limit the jobs of a tube",
     "Tube", "", "tube.maxqueue", "MaxQueue"},
    {"DELETE", "/tubes/{tube}/maxqueue", kAdmin, false, ResetMaxQueue,
     "Limit the jobs of a tube as the configuration says", "Tube", "", "tube.maxqueue"},
    {"GET", "/tubes/{tube}/groups", kViewer, false, ListGroups,
     "The groups of a tube that have unfinished jobs", "GroupPage", "sort order limit cursor"},
    {"GET", "/tubes/{tube}/policy", kViewer, false, GetPolicy,
     "The policy of a tube, and where each value comes from", "Policy"},
    {"PUT", "/tubes/{tube}/policy/{key}", kAdmin, false, SetPolicy,
     "Set a policy, above the configuration", "PolicyItem", "", "tube.policy", "PolicyValue"},
    {"DELETE", "/tubes/{tube}/policy/{key}", kAdmin, false, ResetPolicy,
     "Have the configuration decide again", "PolicyItem", "", "tube.policy"},
    {"POST", "/tubes/{tube}/kick", kOperator, false, KickTube, "Make buried or delayed jobs ready",
     "Kicked", "", "tube.kick", "Kick"},
    {"POST", "/tubes/{tube}/jobs", kOperator, false, PutJob, "Put a job", "Job", "", "job.put",
     "Put", "201 200"},
    {"GET", "/tubes/{tube}/jobs", kViewer, false, ListJobsOfTube, "Jobs of a tube", "JobPage",
     kFilter},
    {"GET", "/jobs", kViewer, false, ListJobs, "Jobs, filtered", "JobPage", kFilter},
    {"GET", "/failures", kViewer, false, ListFailures,
     "Buried and dead jobs, the newest failure first, and their groups", "FailurePage",
     kFailureFilter},
    {"GET", "/jobs/{id}", kViewer, false, GetJob, "A job", "Job"},
    {"DELETE", "/jobs/{id}", kOperator, false, DeleteJob, "Delete a job", "", "force", "job.delete",
     "", "204"},
    {"GET", "/jobs/{id}/body", kBodies, false, GetBody, "The bytes of a body"},
    {"GET", "/jobs/{id}/body/view", kBodies, false, ViewBody, "A body, decoded", "BodyView",
     "as limit offset"},
    {"POST", "/jobs/{id}/kick", kOperator, false, KickJob, "Make a buried or delayed job ready",
     "Job", "", "job.kick", "Nothing"},
    {"POST", "/jobs/{id}/bury", kOperator, false, BuryJob, "Bury a job", "Job", "", "job.bury",
     "Bury"},
    {"POST", "/jobs/{id}/release", kOperator, false, ReleaseJob, "Take a job from its holder",
     "Job", "", "job.release", "Release"},
    {"POST", "/jobs/{id}/move", kOperator, false, MoveJob, "Put a job into another tube", "Job", "",
     "job.move", "Move"},
    {"POST", "/jobs/{id}/copy", kOperator, false, CopyJob, "Put a job with the same body", "Job",
     "", "job.copy", "Copy", "201"},
    {"GET", "/operations", kOperator, false, ListOperations, "Operations, the newest first",
     "OperationPage", "limit cursor"},
    {"POST", "/operations", kOperator, false, BeginOperation,
     "Count the jobs that an operation would act on", "Operation", "", "", "NewOperation", "201"},
    {"GET", "/operations/{id}", kOperator, false, GetOperation, "An operation", "Operation"},
    {"DELETE", "/operations/{id}", kOperator, false, StopOperation, "Stop an operation where it is",
     "Operation"},
    {"POST", "/operations/{id}/confirm", kOperator, false, ConfirmOperation,
     "Begin an operation whose count is known", "Operation", "", "", "Confirm", "202"},
    {"GET", "/connections", kViewer, true, ListConnections, "Clients' connections",
     "ConnectionPage", "role protocol tube address sort limit cursor"},
    {"GET", "/connections/{id}", kViewer, true, GetConnection, "A connection", "Connection"},
    {"DELETE", "/connections/{id}", kAdmin, true, CloseConnection, "Disconnect a client", "", "",
     "connection.close", "", "204"},
    {"GET", "/schedules", kViewer, false, ListSchedules, "Schedules by name", "SchedulePage",
     "limit cursor"},
    {"POST", "/schedules/{name}/run", kOperator, false, RunSchedule,
     "Put a schedule's job now; its plan stays", "Job", "", "schedule.run", "Nothing", "201"},
    {"PUT", "/schedules/{name}/enabled", kAdmin, false, EnableSchedule,
     "Switch a schedule on or off", "Schedule", "", "schedule.enabled", "Enabled"},
    {"GET", "/transfers", kViewer, true, ListTransfers, "Jobs that move in or out", "TransferPage",
     "limit cursor"},
    {"DELETE", "/transfers/{name}", kAdmin, true, ForgetTransfer, "Forget a transfer", "", "held",
     "transfer.delete", "", "204"},
    {"GET", "/history", kViewer, false, GetHistory, "Numbers of the last hour or 30 days",
     "History", "series range tube tube_base64 points"},
    {"GET", "/events", kViewer, false, GetEvents, "Server-sent events", "", "topics tubes"},
    {"GET", "/audit", kOperator, true, GetAudit, "Acts, the newest first", "AuditPage",
     "limit cursor"},
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
