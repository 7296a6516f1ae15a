#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "tests/bench/load/histogram.h"

namespace gearstalk::bench {

// What bounds the making of jobs.
struct FlowLimits {
  int64_t jobs = std::numeric_limits<int64_t>::max();
  int64_t unfinished = std::numeric_limits<int64_t>::max();
  double per_second = 0;  // jobs start at this pace; 0: as soon as the other limits allow
};

struct JobStart {
  int64_t index;
  int64_t stamp;  // when it started, or should have
};

// The jobs of one run on their way through producers, server and consumers: who may start another
// one, how many wait to be taken, what was finished and how long it took.
class Flow {
 public:
  explicit Flow(const FlowLimits& limits) : limits_(limits) {}

  // The next job, if one may start now.
  std::optional<JobStart> Start(int64_t now);

  // A job is known to wait in the server, so that somebody can take it without waiting.
  void Stored(int64_t jobs = 1) { ready_ += jobs; }
  bool Take();
  void GiveBack();

  void Finish(int64_t now, int64_t stamp);
  void CommandAnswered(int64_t now, int64_t sent) { commands_.Add(now - sent); }

  void Stop() { running_ = false; }
  void Resume(int64_t now);
  // Forgets what was counted before.
  void BeginMeasuring(int64_t now);

  // Until when a producer has nothing to start; far in the future without a pace.
  int64_t next_start() const;
  bool paced() const { return limits_.per_second > 0; }
  // Whether no more jobs will come to those that are ready.
  bool exhausted() const { return ready_ == 0 && (!running_ || started_ >= limits_.jobs); }

  int64_t done() const { return done_; }
  int64_t started() const { return started_; }
  int64_t unfinished() const { return started_ - finished_; }
  int64_t refusals() const { return refusals_; }
  const Histogram& cycles() const { return cycles_; }
  const Histogram& commands() const { return commands_; }

 private:
  FlowLimits limits_;
  bool running_ = true;
  int64_t started_ = 0;
  int64_t finished_ = 0;
  int64_t ready_ = 0;
  int64_t next_start_ = 0;
  int64_t measured_since_ = 0;
  int64_t done_ = 0;
  int64_t refusals_ = 0;
  Histogram cycles_;
  Histogram commands_;
};

}  // namespace gearstalk::bench
