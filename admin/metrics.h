#pragma once

#include <cstdint>
#include <string>

#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk {

struct TrafficCounts {
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_bytes = 0;
};

// The broker's numbers in Prometheus' text form. Counters only, nothing is walked.
std::string MetricsText(const Engine& engine, const ConnectionList& connections,
                        const TrafficCounts& traffic);

}  // namespace gearstalk
