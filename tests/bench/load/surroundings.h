#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/bench/load/asker.h"
#include "tests/bench/load/burst.h"
#include "tests/bench/load/idle.h"
#include "tests/bench/load/options.h"

namespace gearstalk::bench {

// What is in the server beside the measured load: jobs and silent connections.
class Surroundings {
 public:
  // Stores the jobs, which takes as long as it takes, and opens the connections.
  Surroundings(const Options& options, const Endpoint& endpoint);

  // Jobs that were stored, and in which time.
  int64_t stored() const { return stored_; }
  int64_t nanoseconds() const { return nanoseconds_; }
  // Of them, ready ones in the tubes of the load.
  int64_t ready() const { return ready_; }

  // When the jobs of Options::due begin to fall due; 0 without such jobs.
  int64_t due() const { return due_; }

 private:
  int64_t ready_ = 0;
  int64_t stored_ = 0;
  int64_t nanoseconds_ = 0;
  int64_t due_ = 0;
  IdleConnections idle_;
};

// Clients that do something else during the measured load.
class Disturbance {
 public:
  Disturbance(const Options& options, Loop& loop, const Endpoint& endpoint);

  const std::vector<std::unique_ptr<Asker>>& askers() const { return askers_; }
  const Burst* burst() const { return burst_.get(); }

 private:
  std::vector<std::unique_ptr<Asker>> askers_;
  std::unique_ptr<Burst> burst_;
};

}  // namespace gearstalk::bench
