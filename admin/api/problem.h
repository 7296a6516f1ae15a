#pragma once

#include <string>
#include <string_view>

#include "admin/api/json.h"
#include "broker/base/status.h"

namespace gearstalk::api {

// Why a request failed; the closed list of codes is in problem.cc.
struct Problem {
  std::string_view code;
  std::string detail;
  std::string field{};         // the parameter or member that is wrong
  Json more = Json::object();  // further members: `state`, `count`
};

int StatusOf(std::string_view code);
// RFC 9457.
Json DocumentOf(const Problem& problem, std::string_view request_id);
// For the request itself, or its answer.
Problem NoMemory();
// An engine's refusal of a job, in the words of gearstalkd_refused_total.
Problem RefusalOf(Code code, std::string_view what);

}  // namespace gearstalk::api
