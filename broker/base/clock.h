#pragma once

#include <cstdint>

namespace gearstalk {

// Nanoseconds since 1970. Steady: it is read from the system's wall clock once, at start, and
// from then on follows CLOCK_BOOTTIME, so that a step of the wall clock moves no deadline.
using Time = std::int64_t;

inline constexpr Time kMicrosecond = 1'000;
inline constexpr Time kMillisecond = 1'000'000;
inline constexpr Time kSecond = 1'000'000'000;
constexpr double Seconds(Time span) {
  return static_cast<double>(span) / static_cast<double>(kSecond);
}
// Seconds from `since` to `now`, at least 0.
constexpr double Age(Time now, Time since) { return Seconds(now > since ? now - since : 0); }

// Later than anything; what "never" is called in deadlines.
inline constexpr Time kNever = INT64_MAX;

// `seconds` after `from`, kNever where the sum does not fit.
inline Time After(Time from, std::uint64_t seconds) {
  const auto room = static_cast<std::uint64_t>(kNever - from) / static_cast<std::uint64_t>(kSecond);
  return seconds >= room ? kNever : from + static_cast<Time>(seconds) * kSecond;
}

// `span` after `from`; kNever where the sum does not fit. For spans that clients or the
// configuration choose, as After is for whole seconds.
inline Time Later(Time from, Time span) {
  Time sum = 0;
  return __builtin_add_overflow(from, span, &sum) ? kNever : sum;
}

// The time of the current round of the loop. Everybody reads it, only the loop (or a test) sets it.
class Clock {
 public:
  Time Now() const { return now_; }

 protected:
  ~Clock() = default;
  Time now_ = 0;
};

// CLOCK_BOOTTIME now: for what has to be right also if the process was stopped within a round.
Time BootTime();
// What CLOCK_REALTIME says, steps and all.
Time WallClock();

// The loop's clock.
class SystemClock final : public Clock {
 public:
  SystemClock();
  void Refresh();
  // Reads the wall clock anew: the time may step. Only where no deadline counts on it yet.
  void Resync();

 private:
  Time offset_;
};

class FakeClock final : public Clock {
 public:
  explicit FakeClock(Time start = 1'700'000'000 * kSecond) { now_ = start; }
  void Advance(Time by) { now_ += by; }
};

// CPU that a process has used, 0 if there is none. Process 0 is this one.
Time CpuTimeOf(int process);
// CPU that this thread has used.
Time CpuTimeOfThread();

}  // namespace gearstalk
