#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admin/http/answer.h"
#include "admin/metrics/attention.h"
#include "admin/metrics/loop_lag.h"
#include "admin/metrics/metric_text.h"
#include "admin/metrics/server_facts.h"
#include "admin/metrics/tube_survey.h"
#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk {

// The system's numbers of this process, under the usual names of exporters. Unknown ones are left
// out.
void AddProcess(Time started, MetricText& text);

// 0: not known.
std::uint64_t ResidentBytes();
// Of this process, in user and in system mode.
double CpuSeconds();

// The sources of the numbers; they outlive the metrics.
struct MetricsSources {
  const Engine& engine;
  const ConnectionList& connections;
  const LoopLag& lag;
  const Attention& attention;
  std::vector<const Protocol*> protocols;
  std::function<ServerFacts()> server;
  std::function<Time()> now;
};

// The metrics of the broker in Prometheus' text format; docs/operations.md explains them. They walk
// nothing but the tubes, and these in slices.
class Metrics {
 public:
  explicit Metrics(MetricsSources sources) : sources_(std::move(sources)) {}

  // How many tubes have metrics of their own: the busiest.
  void set_tubes(std::size_t tubes) { tubes_ = tubes; }

  // A reading; it must not outlive the metrics. `all_tubes`: every tube is named.
  HttpBody Read(bool all_tubes);

 private:
  void AddTotals(const TubeSurvey& survey, Time now, std::string& out) const;

  const MetricsSources sources_;
  std::size_t tubes_ = 20;
  std::shared_ptr<const TubeHeat> heat_;  // of the last survey that ended
};

}  // namespace gearstalk
