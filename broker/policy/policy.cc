#include "broker/policy/policy.h"

#include <algorithm>

namespace gearstalk {

Time Backoff::After(std::uint32_t attempt) const {
  if (waits.empty() || attempt == 0) return 0;
  if (most == 0) return waits[std::min<std::size_t>(attempt, waits.size()) - 1];
  Time wait = waits.front();
  for (std::uint32_t n = 1; n < attempt && wait < most; ++n) wait = std::min(wait * 2, most);
  return wait;
}

namespace {

std::uint32_t BurstOf(const Rate& rate, std::uint32_t burst) {
  if (burst > 0) return burst;
  return rate.per == kSecond && rate.jobs > 0 ? rate.jobs : 1;
}

}  // namespace

std::uint32_t Policy::Burst() const { return BurstOf(rate, burst); }

std::uint32_t Policy::GroupBurst() const { return BurstOf(group_rate, group_burst); }

std::string Policy::DeadTubeOf(std::string_view tube) const {
  constexpr std::string_view kPlace = "{tube}";
  std::string name = dead_tube;
  for (std::size_t at = 0; (at = name.find(kPlace, at)) != std::string::npos; at += tube.size()) {
    name.replace(at, kPlace.size(), tube);
  }
  return name;
}

std::uint32_t Policy::TtrOf(std::uint32_t asked) const {
  std::uint32_t seconds = asked == 0 ? ttr : asked;
  if (seconds == 0) return 0;
  if (ttr_min > 0) seconds = std::max(seconds, ttr_min);
  if (ttr_max > 0) seconds = std::min(seconds, ttr_max);
  return seconds;
}

}  // namespace gearstalk
