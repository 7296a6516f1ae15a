#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "admin/metrics/metric_text.h"
#include "admin/metrics/server_facts.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk {

// Calls `visit` with the word and the count of each reason to refuse something, always in the same
// order.
template <typename Visit>
void ForEachRefusal(const EngineStats& stats, const ServerFacts& facts, Visit visit) {
  for (const auto& [code, reason] : kJobRefusals) {
    visit(reason, stats.refused[static_cast<std::size_t>(code)]);
  }
  visit(std::string_view("tube_memory"), stats.refused_memory);
  for (const auto& [reason, count] : facts.refused) visit(reason, count);
}

// A counter that the broker keeps for each tube and for all together.
struct JobCounter {
  static constexpr std::string_view kPrefix = "gearstalkd_";

  std::string_view name;  // of all
  std::string_view help;
  std::uint64_t JobCounts::*count = nullptr;
  std::uint64_t PolicyCounts::*policy_count = nullptr;  // instead of `count`

  // As members of the API's objects are called: put_total.
  std::string_view short_name() const {
    return name.substr(std::string_view("gearstalkd_jobs_").size());
  }
  // Of a tube.
  std::string tube_name() const {
    return "gearstalkd_tube_" + std::string(name.substr(kPrefix.size()));
  }
  std::uint64_t Of(const EngineStats& stats) const {
    return count == nullptr ? stats.*policy_count : stats.*count;
  }
  std::uint64_t Of(const Tube& tube) const {
    return count == nullptr ? tube.policy_state().counts.*policy_count : tube.*count;
  }
};
std::span<const JobCounter> JobCounters();

// In seconds, of the oldest ready job of a tube; nothing: none is ready.
std::optional<double> OldestReadyAge(const Tube& tube, Time now);

// The numbers of all jobs together.
void AddJobs(const Engine& engine, MetricText& text);
void AddSchedules(const Engine& engine, MetricText& text);

}  // namespace gearstalk
