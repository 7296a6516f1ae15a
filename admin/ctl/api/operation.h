#pragma once

#include <optional>
#include <string>

#include "admin/ctl/api/api.h"

namespace gearstalk::ctl::api {

// An act on all jobs that a filter finds: the server counts, the user confirms the number, the
// server does it.
struct Operation {
  std::string action;  // delete, kick, bury, release, move, copy
  Json filter;
  std::string to;                      // move, copy
  std::optional<std::uint64_t> count;  // confirms this number; another one is refused
};

// Returns the exit code. Shows progress on standard error; an interrupt stops the operation where
// it is.
int RunOperation(Api& api, const Operation& operation);

void ShowOperations(const Json& operations);

}  // namespace gearstalk::ctl::api
