#pragma once

#include <cstdint>
#include <string>

#include "broker/base/clock.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk::simulation {

// A tube whose policy has groups, and what follows for those who take from it. All jobs of such
// tubes have bodies of which every `group` but `none` makes the same groups.
struct GroupPlan {
  std::string tube;
  PolicyValues values{};
  bool grouped = true;
  bool line = false;   // group_order: fifo
  bool turns = false;  // group_order: fair
  bool holds = false;
  bool may_hold = false;     // after a reload
  bool by_attempts = false;  // jobs leave their group after some bad ends that nobody counts here
  bool retries = false;      // a job that fails keeps its place
  std::uint32_t running = 0;
  Time apart = 0;  // group_rate; 0: none
  std::uint32_t burst = 1;
  std::uint32_t max_jobs = 0;  // group_max_jobs; 0: any number
  bool needs_name = false;     // group_missing: refuse
  Time since = 0;              // what was handed out before it was so by another policy
  Time settled = 0;            // by then all jobs have been looked at
};

}  // namespace gearstalk::simulation
