#pragma once

#include <cstdint>
#include <ctime>

namespace gearstalk::bench {

// Nanoseconds of the monotonic clock.
inline int64_t Now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kMillisecond = 1'000'000;

inline int64_t FromSeconds(double seconds) {
  return static_cast<int64_t>(seconds * static_cast<double>(kSecond));
}

inline double ToSeconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / static_cast<double>(kSecond);
}

}  // namespace gearstalk::bench
