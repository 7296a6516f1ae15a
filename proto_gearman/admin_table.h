#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/base/slices.h"

namespace gearstalk::gearman {

class Session;

// Bytes of rows that a slice makes, about.
inline constexpr std::size_t kTableSliceBytes = 128 * 1024;

// Answers of many lines. Each is made in slices and sent when it is complete. It shows only what
// the session's rights let it see; a change during the walk may or may not show. `session` outlives
// it.

// `status`: name, unfinished jobs, reserved ones, workers; also of functions that were in use
// within the last day.
Slices ListStatus(Session& session);
// `prioritystatus`: the unfinished jobs by class instead.
Slices ListPriorityStatus(Session& session);
// `show jobs`: handle, lost tries, whether it is a foreground job for which no client waits any
// more, whether it is a background job.
Slices ListJobs(Session& session);
// `show unique jobs`.
Slices ListUniqueKeys(Session& session);
// `groups TUBE [N]`: the groups of the tube with the most ready jobs.
Slices ListGroups(Session& session, std::uint64_t tube_id, std::size_t most);
// `workers`: every connection of either protocol.
Slices ListConnections(Session& session);

}  // namespace gearstalk::gearman
