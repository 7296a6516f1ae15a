#pragma once

#include <cstdint>

#include "broker/base/time_histogram.h"

namespace gearstalk {

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
