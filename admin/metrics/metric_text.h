#pragma once

#include <prometheus/metric_family.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/time_histogram.h"

namespace gearstalk {

using MetricLabel = std::pair<std::string_view, std::string_view>;

// Writes numbers in Prometheus' text format: begins a family, then adds its values.
class MetricText {
 public:
  using Labels = std::initializer_list<MetricLabel>;

  MetricText& Gauge(std::string_view name, std::string_view help) {
    return Begin(prometheus::MetricType::Gauge, name, help);
  }
  MetricText& Counter(std::string_view name, std::string_view help) {
    return Begin(prometheus::MetricType::Counter, name, help);
  }
  MetricText& Histogram(std::string_view name, std::string_view help) {
    return Begin(prometheus::MetricType::Histogram, name, help);
  }
  // Families of one number, or of one histogram.
  void Gauge(std::string_view name, auto value, std::string_view help) {
    Gauge(name, help).Add(value);
  }
  void Counter(std::string_view name, auto value, std::string_view help) {
    Counter(name, help).Add(value);
  }
  void Histogram(std::string_view name, const auto& times, std::string_view help) {
    Histogram(name, help).Add(times);
  }
  MetricText& Add(double value, Labels labels = {});
  template <std::integral Number>
  MetricText& Add(Number value, Labels labels = {}) {
    return Add(static_cast<double>(value), labels);
  }
  template <Time kLeast, std::size_t kCount>
  MetricText& Add(const HistogramFrom<kLeast, kCount>& times, Labels labels = {}) {
    return AddTimes(times.kBounds, times.counts(), times.sum_seconds(), labels);
  }

  // The head of the first family is in a text that Take returned before.
  void GoOn() { goes_on_ = true; }
  std::string Take();

 private:
  // `counts` has one more than `bounds`, which are inclusive.
  MetricText& AddTimes(std::span<const Time> bounds, std::span<const std::uint64_t> counts,
                       double sum_seconds, Labels labels);
  prometheus::ClientMetric& AddValue(Labels labels);
  MetricText& Begin(prometheus::MetricType type, std::string_view name, std::string_view help);

  std::vector<prometheus::MetricFamily> families_;
  bool goes_on_ = false;
};

}  // namespace gearstalk
