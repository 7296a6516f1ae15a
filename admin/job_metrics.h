#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "admin/metric_text.h"
#include "broker/engine/engine.h"

namespace gearstalk {

// A counter that is kept of every tube and of all together.
struct JobCounter {
  std::string_view name;       // of all: "gearstalkd_..."
  std::string_view tube_name;  // of a tube: "gearstalkd_tube_..."
  std::string_view help;
  std::uint64_t JobCounts::*count;
};
std::span<const JobCounter> JobCounters();

// What jobs are counted by, in this order.
inline constexpr std::string_view kJobStates[] = {"ready", "reserved", "delayed", "buried"};

// What is counted of all jobs.
void AddJobs(const Engine& engine, MetricText& text);

}  // namespace gearstalk
