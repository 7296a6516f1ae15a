#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/engine/job.h"
#include "broker/engine/job_counts.h"
#include "broker/journal/record.h"

namespace gearstalk {

// How a verb that changes something ended. Nobody may be told of it before `lsn` is durable.
struct Outcome {
  Code code = Code::kOk;
  Lsn lsn = 0;
  bool ok() const { return code == Code::kOk; }
};

// A submit of Gearman's, beside its job.
struct Submission {
  std::string_view tube{};
  JobObserver* waiter = nullptr;  // foreground: who waits; nullptr = background, durable
  Time due = 0;                   // not before, by the wall clock (epoch)
  std::string_view reducer{};
  bool unique_is_body = false;  // Gearman's "-"
};

// How a change of a policy ended.
struct PolicySet {
  Status status;
  Lsn lsn = 0;
};

struct Added {
  Code code = Code::kOk;
  JobId id = 0;
  Lsn lsn = 0;
  bool joined = false;  // there was one with the same unique key
  bool ok() const { return code == Code::kOk; }
};

struct Taken {
  Job* job = nullptr;  // nullptr: none
  Lsn lsn = 0;
};

// What a kick works on, from its first slice on: delayed jobs, or those buried before `end`, which
// that slice sets.
struct KickFrom {
  bool delayed = false;
  std::uint64_t end = 0;
};
struct Kicked {
  std::uint64_t count = 0;
  Lsn lsn = 0;
  Code code = Code::kOk;
};

// What `reserve` of a consumer came to at once.
enum class ReserveResult : std::uint8_t { kTaken, kWaits, kDeadlineSoon, kTimedOut };

struct EngineStats : JobCounts, PolicyCounts {
  std::size_t urgent = 0, ready = 0, reserved = 0, delayed = 0, buried = 0;
  std::size_t retrying = 0;  // of the delayed: they wait for their next attempt
  std::size_t dead = 0;      // of the buried: they were moved to a dead tube
  std::size_t tubes = 0;
  std::size_t remembered_keys = 0;  // of finished jobs; they stay taken
  BodyCounts bodies{};
  std::size_t producers = 0, workers = 0, waiting = 0;  // connections
  std::array<std::uint64_t, kCodes> refused{};          // jobs and tubes, by Code
};

// --- What the engine is told

struct EngineOptions {
  std::uint32_t default_ttr_s = 120;  // TTR of a job without one, for a consumer that needs one
  std::uint32_t normal_to = 65536;    // highest priority that counts as Band::kNormal
  std::uint32_t job_retries = 0;      // lost tries after which a job fails; 0 = no limit
  bool fair = false;                  // tubes take turns among jobs of one priority
  Time (*wall_clock)() = nullptr;     // of schedules; none: the time that verbs are given
  Time WallTime(Time now) const { return wall_clock == nullptr ? now : wall_clock(); }
  std::size_t idle_functions = 10'000;  // names kept of functions without workers and jobs
  bool wake_all = false;                // every new job wakes every sleeper, as gearmand does
  // False: bodies are in the journal alone, which then must not compact. For tools that add jobs.
  bool keep_bodies = true;
};

// What the engine takes at most. Producers are refused beyond it; consumers go on.
struct EngineLimits {
  // Bytes of JobMemory and TableMemory, bodies under way included, and of what waits to be sent;
  // 0 = no limit. A kTableShare-th of it is for tubes, watches and waiters.
  std::size_t memory = 0;
  static constexpr std::size_t kTableShare = 4;
  std::size_t bodies = 0;  // bytes of bodies in memory, if the journal keeps them; 0 = no limit
  std::size_t tubes = 0;   // 0 = no limit
  // Of tubes by name, whether they exist or not. `maxqueue` of the administration overrides it.
  std::map<std::string, MaxQueue, std::less<>> max_queue{};
};

}  // namespace gearstalk
