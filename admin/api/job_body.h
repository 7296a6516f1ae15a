#pragma once

#include <functional>

#include "admin/api/call.h"
#include "broker/engine/body_wait.h"

namespace gearstalk::api {

// Whether nothing more comes: the body is in memory, or damaged (has_body says which). If false, it
// is being read for `wait`: ask again in the next slice.
bool BodyIsKnown(Engine& engine, const Job& job, BodyWait& wait);

// Answers with what `make` makes of a job whose body is in memory; reads the body first if it is
// not. `make` outlives the call.
Reply WithBody(const Services& services, const Job& job, std::function<Reply(const Job& job)> make);

}  // namespace gearstalk::api
