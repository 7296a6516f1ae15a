#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "admin/metrics/metric_text.h"
#include "broker/engine/engine.h"

namespace gearstalk {

// The numbers of tubes, family by family, in slices of tubes.
class TubeMetrics {
 public:
  static constexpr std::size_t kSlice = 64;  // tubes in one Advance

  // Of the tubes `named`, by id, with the jobs of all others in one sum; of all tubes without it.
  TubeMetrics(const Engine& engine, Time now, std::optional<std::vector<std::uint64_t>> named);

  // Appends the next slice; false: that was the last.
  bool Advance(MetricText& text);

 private:
  const Tube* NextTube();
  void AddTube(const Tube& tube, MetricText& text);
  void AddOthers(MetricText& text);

  const Engine& engine_;
  const Time now_;
  const std::optional<std::vector<std::uint64_t>> named_;
  std::size_t family_ = 0;
  std::size_t place_ = 0;                // in `named_`
  std::uint64_t cursor_ = 0;             // the last tube of this family
  std::array<std::uint64_t, 4> jobs_{};  // of the tubes so far, by state
};

}  // namespace gearstalk
