#pragma once

#include "admin/metrics/metric_text.h"
#include "broker/engine/engine.h"

namespace gearstalk {

// Of the engine's journal, if several brokers share it.
void AddReplica(const Engine& engine, MetricText& text);

}  // namespace gearstalk
