#include "admin/api/ring.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gearstalk::api {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

}  // namespace

void Ring::Add(Time at, std::span<const float> sample) {
  const std::int64_t step = at / step_;
  if (step != open_) Close();
  if (open_ < 0) {
    open_ = step;
    samples_ = 0;
    sums_.assign(series_, 0);
  }
  ++samples_;
  for (std::size_t i = 0; i < series_; ++i) {
    sums_[i] = i >= peaks_from_ ? std::max(sums_[i], sample[i]) : sums_[i] + sample[i];
  }
}

// Fills in the numbers of the step that has ended.
void Ring::Close() {
  if (open_ < 0) return;
  for (std::size_t i = 0; i < std::min(peaks_from_, series_); ++i) {
    sums_[i] /= static_cast<float>(samples_);
  }
  Put(std::exchange(open_, -1), sums_);
}

void Ring::Put(std::int64_t step, std::span<const float> sample) {
  if (values_.empty()) {
    values_.assign(steps_ * series_, kNothing);
    first_ = step;
    last_ = step - 1;
  }
  if (step <= last_) return;
  const auto steps = static_cast<std::int64_t>(steps_);
  for (std::int64_t gap = std::max(last_ + 1, step - steps + 1); gap < step; ++gap) {
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(Place(gap)), series_, kNothing);
  }
  std::copy(sample.begin(), sample.end(),
            values_.begin() + static_cast<std::ptrdiff_t>(Place(step)));
  last_ = step;
  first_ = std::max(first_, step - steps + 1);
}

float Ring::At(std::int64_t step, std::size_t series) const {
  if (step < first_ || step > last_) return kNothing;
  return values_[Place(step) + series];
}

std::span<const float> Ring::Step(std::int64_t step) const {
  return {values_.data() + Place(step), series_};
}

}  // namespace gearstalk::api
