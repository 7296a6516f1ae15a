#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/load/protocol.h"

namespace gearstalk::bench {

enum class Workload {
  kCycle,       // store, take, finish
  kForeground,  // submit and wait for the result
  kStore,       // store only
  kDrain,       // take and finish what was stored before
  kChurn,       // connect, store, close
  kIdle,        // open silent connections
};

struct Options {
  Workload workload = Workload::kCycle;
  Protocol protocol = Protocol::kBeanstalk;
  bool mixed = false;
  std::string server;
  pid_t pid = 0;
  std::vector<pid_t> routers;
  bool tls = false;
  bool pin_apart = false;

  int64_t ops = 0;
  double seconds = 1;
  double warm_up = 0.1;
  bool steps = false;
  unsigned limit_seconds = 300;
  double fill_limit_seconds = 60;

  int producers = 8;
  int consumers = 8;
  int depth = 1;
  size_t body_bytes = 100;
  int64_t tubes = 1;
  bool random_priorities = false;
  bool unique_keys = false;
  int64_t groups = 0;
  bool sleep = false;
  int64_t held = 0;
  double rate = 0;
  bool filled = false;
  bool verify = false;

  int64_t idle = 0;
  Protocol idle_protocol = Protocol::kBeanstalk;
  int64_t backlog = 0;
  int64_t backlog_tubes = 0;
  int64_t delayed = 0;
  int64_t delayed_tubes = 0;
  int64_t due = 0;
  double due_in_seconds = 20;
  std::vector<std::string> questions;
  double ask_every_ms = 100;
  int64_t burst = 0;
};

// What the producer, or the consumer, with this number speaks.
Protocol ProtocolOf(const Options& options, int index);

// Ends the program when the arguments are wrong or ask for help.
Options ParseOptions(int argc, char** argv);

}  // namespace gearstalk::bench
