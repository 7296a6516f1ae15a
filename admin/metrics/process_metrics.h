#pragma once

#include "admin/metrics/metric_text.h"
#include "broker/base/clock.h"

namespace gearstalk {

// The system's numbers of this process, under the usual names of exporters. Unknown ones are left
// out.
void AddProcess(Time started, MetricText& text);

// 0: not known.
std::uint64_t ResidentBytes();

}  // namespace gearstalk
