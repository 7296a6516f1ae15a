#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "broker/base/clock.h"

namespace gearstalk {

// Estimates how far the clock of the active broker is ahead of this host's, from the times in the
// parts that it writes. A part that arrives late, after a pause of the store or of this process,
// makes that clock look behind; so the estimate is the largest difference of the last two seconds
// in which parts arrived.
class ClockSkew {
 public:
  // `ahead`: the time that a part names, less the wall clock when it came. `now` is steady.
  void OnPart(Time ahead, Time now) {
    if (used_ > 0 && now < began_ + kSecond) {
      Newest() = std::max(Newest(), ahead);
      return;
    }
    began_ = now;
    ++used_;
    Newest() = ahead;
  }
  // Another broker leads.
  void Forget() { used_ = 0; }
  Time ahead() const {
    if (used_ == 0) return 0;
    return *std::max_element(seconds_.begin(), seconds_.begin() + std::min(used_, kSeconds));
  }

 private:
  static constexpr std::size_t kSeconds = 2;

  Time& Newest() { return seconds_[(used_ - 1) % kSeconds]; }

  std::array<Time, kSeconds> seconds_{};
  std::size_t used_ = 0;
  Time began_ = 0;  // the newest second
};

}  // namespace gearstalk
