#pragma once

#include <cstdint>

#include "broker/base/time_histogram.h"

namespace gearstalk {

// What happened to jobs: of a tube since it was made, of all tubes since the start. The statistics
// of both protocols and the metrics read these same numbers.
struct JobCounts {
  std::uint64_t total_jobs = 0;  // new ones, by put or submit; not those joined by unique key
  std::uint64_t reserves = 0;    // handed to a consumer
  std::uint64_t completed = 0;   // ended by their holder: WORK_COMPLETE, delete
  std::uint64_t failed = 0;      // WORK_FAIL, WORK_EXCEPTION, tries used up; kept ones are buried
  std::uint64_t deletes = 0;     // taken away by delete, also by their holder
  std::uint64_t cancelled = 0;   // taken away by `cancel job`
  std::uint64_t dropped = 0;     // foreground jobs that went because nobody waited any more
  std::uint64_t releases = 0;
  std::uint64_t timeouts = 0;  // TTR or CAN_DO_TIMEOUT passed
  std::uint64_t lost = 0;      // came back because their holder went away
  std::uint64_t buries = 0;    // by bury, or as a failed job that is kept
  std::uint64_t kicks = 0;
};

// The same, of what only tubes with a policy do. See docs/policies.md.
struct PolicyCounts {
  std::uint64_t retries = 0;  // attempts that are followed by another
  std::uint64_t dead = 0;     // moved out of the tube as dead
  std::uint64_t expired = 0;
  std::uint64_t pruned = 0;          // buried jobs removed by retention
  std::uint64_t duplicates = 0;      // puts that joined a job with the same key
  std::uint64_t refused_memory = 0;  // new jobs refused because of max_bytes
  std::uint64_t copies = 0;          // made in other tubes of jobs that came into this one
};

// Of the bodies that may leave memory: those of Job::kBlockFrom bytes or more.
struct BodyCounts {
  std::uint64_t in_memory = 0, memory_bytes = 0;
  std::uint64_t in_journal = 0, journal_bytes = 0;  // in the journal alone
  std::uint64_t limit = 0;                          // bytes in memory; 0: bodies never leave
  std::uint64_t reads = 0, read_bytes = 0;
  std::uint64_t waits = 0;    // replies that had to wait
  std::uint64_t damaged = 0;  // finds
  TimeHistogram read_times;   // from asking to having
};

}  // namespace gearstalk
