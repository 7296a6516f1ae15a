#pragma once

#include <cstdint>
#include <deque>

#include "broker/base/clock.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// Follows the free space of a file system: whether too little is left, and how long it will last.
// Pure: it is told space and time.
class DiskWatch {
 public:
  // Bytes that have to stay free; kUsualFreeDisk: a twentieth of the file system, 1 GiB at most.
  void KeepFree(std::uint64_t bytes);
  // Now and then, with rising times. A total of 0: not known.
  void Look(Time now, std::uint64_t free, std::uint64_t total);

  const DiskSpace& space() const { return space_; }

 private:
  static constexpr Time kWindow = 600 * kSecond;           // of the rate
  static constexpr Time kLeastWindow = 60 * kSecond;       // before there is one
  static constexpr Time kStep = 10 * kSecond;              // between two samples
  static constexpr Time kFar = 365 * 24 * 3600 * kSecond;  // further away is never
  struct Sample {
    Time at = 0;
    std::uint64_t free = 0;
  };

  void Judge();
  std::uint64_t Mark() const;
  void NoteSample(Time now);
  Time FullIn(Time now) const;

  std::uint64_t wanted_ = 0;
  DiskSpace space_;
  std::deque<Sample> samples_;  // of the window
};

}  // namespace gearstalk
