#pragma once

#include <functional>
#include <string>

#include "admin/api/call.h"
#include "broker/engine/bodies.h"

namespace gearstalk::api {

// A body was awaited for too long.
Problem NoDisk();

// Answers with what `make` makes of a job whose body is in memory; reads the body first if it is
// not. `make` outlives the call.
Reply WithBody(const Services& services, const Job& job, std::function<Reply(const Job& job)> make);

// Puts a job into a tube and answers with what `make` makes of that; waits first if the job has to
// be compared.
Reply PutInto(const Services& services, const std::string& tube, JobPtr job,
              std::function<Reply(const Added& added)> make);

}  // namespace gearstalk::api
