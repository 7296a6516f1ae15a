#pragma once

#include <cstddef>

#include "broker/base/slices.h"

namespace gearstalk::gearman {

class Session;

// Bytes of rows that a slice makes, about.
inline constexpr std::size_t kTableSliceBytes = 128 * 1024;

// Answers of many lines. Each is made in slices, shows only what the session's rights let it see,
// may or may not show what changes meanwhile, and is sent when it is complete. `session` outlives
// them.

// `status`: name, unfinished jobs, reserved ones, workers; with the functions that were here today.
Slices ListStatus(Session& session);
// `prioritystatus`: the unfinished jobs by class instead.
Slices ListPriorityStatus(Session& session);
// `show jobs`: handle, lost tries, whether it is a foreground job for which no client waits any
// more, whether it is a background job.
Slices ListJobs(Session& session);
// `show unique jobs`.
Slices ListUniqueKeys(Session& session);
// `workers`: every connection of either protocol.
Slices ListConnections(Session& session);

}  // namespace gearstalk::gearman
