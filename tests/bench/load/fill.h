#pragma once

#include <cstdint>

#include "tests/bench/load/endpoint.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/protocol.h"

namespace gearstalk::bench {

struct FillPlan {
  Protocol protocol = Protocol::kBeanstalk;
  JobShape shape;
  int64_t jobs = 0;
  int64_t give_up = 0;  // of Now()
};

// Stores jobs over two pipelined connections; returns how many were stored when it gave up.
int64_t Fill(const Endpoint& endpoint, const FillPlan& plan);

}  // namespace gearstalk::bench
