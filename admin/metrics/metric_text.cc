#include "admin/metrics/metric_text.h"

#include <prometheus/text_serializer.h>

#include <limits>

namespace gearstalk {

using prometheus::ClientMetric;
using prometheus::MetricType;

MetricText& MetricText::Begin(MetricType type, std::string_view name, std::string_view help) {
  families_.push_back({std::string(name), std::string(help), type, {}});
  return *this;
}

ClientMetric& MetricText::AddValue(Labels labels) {
  ClientMetric& metric = families_.back().metric.emplace_back();
  for (const auto& [name, text] : labels) {
    metric.label.push_back({std::string(name), std::string(text)});
  }
  return metric;
}

MetricText& MetricText::Add(double value, Labels labels) {
  ClientMetric& metric = AddValue(labels);
  const bool is_gauge = families_.back().type == MetricType::Gauge;
  (is_gauge ? metric.gauge.value : metric.counter.value) = value;
  return *this;
}

MetricText& MetricText::AddTimes(std::span<const Time> bounds,
                                 std::span<const std::uint64_t> counts, double sum_seconds,
                                 Labels labels) {
  ClientMetric::Histogram& histogram = AddValue(labels).histogram;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    histogram.sample_count += counts[i];
    const double bound =
        i < bounds.size() ? Seconds(bounds[i]) : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({histogram.sample_count, bound});
  }
  histogram.sample_sum = sum_seconds;
  return *this;
}

std::string MetricText::Take() {
  std::string text = prometheus::TextSerializer().Serialize(families_);
  if (std::exchange(goes_on_, false)) {
    // The text before has "# HELP ..." and "# TYPE ...".
    for (int line = 0; line < 2; ++line) text.erase(0, text.find('\n') + 1);
  }
  families_.clear();
  return text;
}

}  // namespace gearstalk
