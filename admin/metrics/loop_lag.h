#pragma once

#include <algorithm>
#include <utility>

#include "broker/base/clock.h"
#include "broker/base/time_histogram.h"

namespace gearstalk {

// Measures how late the loop is: the time between a moment at which a round was due and the round.
// Reads no clock. It wakes an idle loop at whole seconds only.
class LoopLag {
 public:
  static constexpr Time kPeriod = 100 * kMillisecond;  // from a round to the next one that is due

  // Called in every round; returns when the next round is due.
  Time Note(Time now) {
    if (now >= due_) {
      if (due_ > 0) {
        lags_.Add(now - due_);
        longest_ = std::max(longest_, now - due_);
      }
      due_ = (now / kSecond + 1) * kSecond;
    } else {
      due_ = std::min(due_, now + kPeriod);
    }
    return due_;
  }
  const TimeHistogram& lags() const { return lags_; }
  // The longest lag since the last call.
  Time TakeLongest() { return std::exchange(longest_, 0); }

 private:
  Time due_ = 0;
  Time longest_ = 0;
  TimeHistogram lags_;
};

}  // namespace gearstalk
