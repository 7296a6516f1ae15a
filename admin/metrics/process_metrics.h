#pragma once

#include "admin/metrics/metric_text.h"
#include "broker/base/clock.h"

namespace gearstalk {

// What the system says of this process, under the names that all exporters use. What it does not
// say is left out.
void AddProcess(Time started, MetricText& text);

// 0: the system does not say.
std::uint64_t ResidentBytes();

}  // namespace gearstalk
