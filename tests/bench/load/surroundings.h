#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/bench/load/asker.h"
#include "tests/bench/load/burst.h"
#include "tests/bench/load/idle.h"
#include "tests/bench/load/loop.h"
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

// Clients that do something else during the measured load: on a thread of their own, which has only
// the time that the load leaves, so that what is measured beside them is the server's delay.
class Disturbance {
 public:
  Disturbance(const Options& options, const Endpoint& endpoint);
  ~Disturbance() { End(); }

  void End();

  // When it has ended.
  const std::vector<std::unique_ptr<Asker>>& askers() const { return askers_; }
  const Burst* burst() const { return burst_.get(); }

 private:
  void Run();

  Loop loop_;
  std::vector<std::unique_ptr<Asker>> askers_;
  std::unique_ptr<Burst> burst_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace gearstalk::bench
