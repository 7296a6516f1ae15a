#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "broker/base/clock.h"

namespace gearstalk {

// How far the clock of the active broker is ahead of this host's, from the times in the parts that
// it writes. A part may have been under way for any time, so it shows two bounds only:
//
//   at least   the time that it names, less the wall clock when it came
//   at most    the time that it names, less the wall clock at a moment before it was written
//
// So a standby that lags does not take that for a clock that is behind. A part that waited for the
// store makes both bounds too low: they are the largest of the last two seconds in which parts
// arrived.
class ClockSkew {
 public:
  // nullopt: no moment before it was written is known. `now` is steady.
  void OnPart(Time at_least, std::optional<Time> at_most, Time now) {
    if (used_ == 0 || now >= began_ + kSecond) {
      began_ = now;
      seconds_[used_++ % kSeconds] = {};
    }
    seconds_[(used_ - 1) % kSeconds].Add({at_least, at_most});
  }
  // Another broker leads.
  void Forget() { used_ = 0; }
  // What is certain of it: the least difference within the bounds.
  Time ahead() const {
    Bounds known;
    for (std::size_t i = 0; i < std::min(used_, kSeconds); ++i) known.Add(seconds_[i]);
    if (known.at_least > 0) return known.at_least;
    return std::min<Time>(known.at_most.value_or(0), 0);
  }

 private:
  static constexpr std::size_t kSeconds = 2;

  struct Bounds {
    void Add(const Bounds& other) {
      at_least = std::max(at_least, other.at_least);
      if (other.at_most) at_most = std::max(at_most.value_or(*other.at_most), *other.at_most);
    }

    Time at_least = -kNever;
    std::optional<Time> at_most;
  };

  std::array<Bounds, kSeconds> seconds_{};
  std::size_t used_ = 0;
  Time began_ = 0;  // the newest second
};

}  // namespace gearstalk
