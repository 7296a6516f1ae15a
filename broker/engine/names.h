#pragma once

#include <string_view>

#include "broker/engine/job.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// The words of stats-job and stats-tube, which the API has, too.
std::string_view NameOf(JobState state);  // "ready" and so on; "gone"
std::string_view NameOf(HeldBack why);    // "none", "running", "rate"

}  // namespace gearstalk
