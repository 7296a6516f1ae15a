#pragma once

#include <algorithm>
#include <cstdint>

#include "broker/base/clock.h"
#include "broker/policy/policy.h"

namespace gearstalk {

// A bucket of hand-outs that fills at a rate, kept as one time: the one at which an even pace would
// have made the hand-outs so far. The bucket is full at and before it. `rate` has jobs.
namespace bucket {

// The most that a bucket saves up or owes, so that its time stamp fits.
inline constexpr Time kFullest = kNever / 4;

inline Time Apart(const Rate& rate) { return rate.per / rate.jobs; }
// When the next hand-out may be.
inline Time Next(Time paced, const Rate& rate, std::uint32_t burst) {
  return paced - Apart(rate) * std::min(Time{burst} - 1, kFullest / Apart(rate));
}
// After a hand-out.
inline Time After(Time paced, Time now, const Rate& rate) {
  return Later(std::max(paced, now), Apart(rate));
}
// Hand-outs that may be now.
inline std::uint64_t Saved(Time paced, Time now, const Rate& rate, std::uint32_t burst) {
  const Time saved = now - Next(paced, rate, burst);
  if (saved < 0) return 0;
  return std::min(static_cast<std::uint64_t>(saved / Apart(rate)) + 1, std::uint64_t{burst});
}
// When one that is empty now will be full.
inline Time FullAt(Time now, const Rate& rate, std::uint32_t burst) {
  return now + Apart(rate) * std::min(Time{burst}, (kNever - now) / Apart(rate));
}

}  // namespace bucket
}  // namespace gearstalk
