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
  std::string_view action = {};  // recorded as
  std::string_view query = {};   // names of parameters, separated by spaces
  std::string_view body = {};    // schema of the request
  std::string_view answer = {};  // schema of the answer; empty: no JSON
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

}  // namespace gearstalk::api
