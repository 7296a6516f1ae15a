#pragma once

#include <cstdint>

namespace gearstalk {

// A position in the journal: how many records were appended up to and including one. 0 is "before
// everything" and therefore always durable; replies that wait for nothing carry it.
using Lsn = std::uint64_t;

// When a record of a journal in files counts as durable.
enum class Sync : std::uint8_t {
  kAlways,    // on disk
  kInterval,  // written; on disk an interval later at the latest
  kSystem,    // written; the system decides when it is on disk
};

}  // namespace gearstalk
