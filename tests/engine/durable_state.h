#pragma once

#include <string>

#include "broker/engine/engine.h"

namespace gearstalk {

// What of an engine outlives a restart, in words: a line for each journalled job and for each tube
// with settings, in the order of ids and names. Counters that change without a record (reserves,
// timeouts, lost tries) and the pauses of tubes without anything else to keep are left out.
std::string DurableState(Engine& engine);

// The id that the next job would get at least.
JobId NextId(Engine& engine);

}  // namespace gearstalk
