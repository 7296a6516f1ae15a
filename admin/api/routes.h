#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/call.h"

namespace gearstalk::api {

// What a caller needs.
enum class Right : std::uint8_t { kAny, kViewer, kOperator, kAdmin, kBodies };

// One row. The checks of methods and rights, `Allow` and /openapi.json come from the table.
struct Route {
  std::string_view method;
  std::string_view path;  // behind /api/v1; "{...}" stands for one segment
  Right right;
  bool server;  // concerns the server: refused to callers with only some tubes
  Reply (*handler)(Call&);
  std::string_view summary;
  std::string_view answer = {};  // schema of the answer; empty: no JSON
  std::string_view query = {};   // names of parameters, separated by spaces
  std::string_view action = {};  // recorded as
  std::string_view body = {};    // schema of the request
  std::string_view statuses = "200";
};

std::span<const Route> Routes();

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> arguments;
  std::string allow;  // other methods of the path, if no route is for this one
};
// HEAD finds the route of GET.
Match FindRoute(std::string_view method, std::string_view path);

bool Allows(const Grant& grant, const Route& route);
// The actions that a caller has the rights to do.
std::vector<std::string_view> ActionsOf(const Grant& grant);

Json OpenApi(std::string_view version, std::string_view root);

// The handlers, one a row: each decodes, calls the engine once, and encodes.
// about_routes.cc
Reply GetIndex(Call& call);
Reply GetOpenApi(Call& call);
Reply GetSession(Call& call);
Reply OpenSession(Call& call);
Reply CloseSession(Call& call);
// server_routes.cc
Reply GetServer(Call& call);
Reply SetDraining(Call& call);
Reply SetLogLevel(Call& call);
Reply StepDown(Call& call);
Reply GetAudit(Call& call);
// tube_list.cc, tube_routes.cc
Reply ListTubes(Call& call);
Reply CreateTube(Call& call);
Reply GetTube(Call& call);
Reply DropTube(Call& call);
Reply PauseTube(Call& call);
Reply ResumeTube(Call& call);
Reply SetMaxQueue(Call& call);
Reply ResetMaxQueue(Call& call);
Reply KickTube(Call& call);
Reply PutJob(Call& call);
// job_list.cc, job_routes.cc, body_routes.cc
Reply ListJobs(Call& call);
Reply ListJobsOfTube(Call& call);
Reply GetJob(Call& call);
Reply DeleteJob(Call& call);
Reply KickJob(Call& call);
Reply BuryJob(Call& call);
Reply ReleaseJob(Call& call);
Reply MoveJob(Call& call);
Reply CopyJob(Call& call);
Reply GetBody(Call& call);
Reply ViewBody(Call& call);
// failure_list.cc, attention_routes.cc
Reply ListFailures(Call& call);
Reply GetAttention(Call& call);
// operation_routes.cc
Reply ListOperations(Call& call);
Reply BeginOperation(Call& call);
Reply GetOperation(Call& call);
Reply StopOperation(Call& call);
Reply ConfirmOperation(Call& call);
// connection_routes.cc
Reply ListConnections(Call& call);
Reply GetConnection(Call& call);
Reply CloseConnection(Call& call);
// group_routes.cc, policy_routes.cc, schedule_routes.cc
Reply ListGroups(Call& call);
Reply GetPolicy(Call& call);
Reply SetPolicy(Call& call);
Reply ResetPolicy(Call& call);
Reply ListSchedules(Call& call);
Reply RunSchedule(Call& call);
Reply EnableSchedule(Call& call);
// transfer_routes.cc
Reply ListTransfers(Call& call);
Reply ForgetTransfer(Call& call);
// history.cc, events.cc
Reply GetHistory(Call& call);
Reply GetEvents(Call& call);

}  // namespace gearstalk::api
