#pragma once

#include <cstdint>

namespace gearstalk {

// When a record of a journal in files counts as durable.
enum class Sync : std::uint8_t {
  kAlways,    // on disk
  kInterval,  // written; on disk an interval later at the latest
  kSystem,    // written; the system decides when it is on disk
};

}  // namespace gearstalk
