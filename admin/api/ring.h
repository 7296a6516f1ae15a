#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk::api {

// The last numbers of several series, at equal steps of time. The number of a step is the mean of
// the samples in it, or their maximum (KeepPeaks).
class Ring {
 public:
  Ring(Time step, std::size_t steps, std::size_t series)
      : step_(step), steps_(steps), series_(series) {}

  // The series from this index on keep the maximum.
  void KeepPeaks(std::size_t from) { peaks_from_ = from; }

  // Times rise.
  void Add(Time at, std::span<const float> sample);
  // As it was read back: steps between are empty.
  void Put(std::int64_t step, std::span<const float> sample);

  Time step() const { return step_; }
  std::size_t steps() const { return steps_; }
  bool IsPeak(std::size_t series) const { return series >= peaks_from_; }
  // The last complete step and the first one, by number since 1970; last < first: none.
  std::int64_t last() const { return last_; }
  std::int64_t first() const { return first_; }
  // NaN where nothing is known.
  float At(std::int64_t step, std::size_t series) const;
  std::span<const float> Step(std::int64_t step) const;

 private:
  void Close();
  std::size_t Place(std::int64_t step) const {
    return static_cast<std::size_t>(step % static_cast<std::int64_t>(steps_)) * series_;
  }

  const Time step_;
  const std::size_t steps_;
  const std::size_t series_;
  std::size_t peaks_from_ = SIZE_MAX;
  std::vector<float> values_;  // made with the first sample
  std::int64_t first_ = 0, last_ = -1;
  std::int64_t open_ = -1;  // the step that samples are gathered for
  std::vector<float> sums_;
  std::size_t samples_ = 0;
};

}  // namespace gearstalk::api
