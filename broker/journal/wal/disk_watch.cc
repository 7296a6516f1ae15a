#include "broker/journal/wal/disk_watch.h"

#include <algorithm>

namespace gearstalk {

void DiskWatch::KeepFree(std::uint64_t bytes) {
  wanted_ = bytes;
  Judge();
}

void DiskWatch::Look(Time now, std::uint64_t free, std::uint64_t total) {
  if (total == 0) return;
  space_.total = total;
  space_.free = std::min(free, total);
  Judge();
  NoteSample(now);
  space_.full_in = FullIn(now);
}

void DiskWatch::Judge() {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30U;
  space_.limit = wanted_ == kUsualFreeDisk ? std::min(space_.total / 20, kMost) : wanted_;
  if (space_.total == 0) return;
  const std::uint64_t enough = space_.low ? space_.limit + space_.limit / 10 : space_.limit;
  space_.low = space_.free < enough;
  space_.mark = Mark();
}

std::uint64_t DiskWatch::Mark() const {
  const std::uint64_t used = space_.used_percent();
  for (const std::uint64_t mark : {90U, 75U, 50U}) {
    if (used >= mark || (space_.mark >= mark && used + 5 >= mark)) return mark;
  }
  return 0;
}

void DiskWatch::NoteSample(Time now) {
  while (!samples_.empty() && now - samples_.front().at > kWindow) samples_.pop_front();
  if (samples_.empty() || now - samples_.back().at >= kStep) samples_.push_back({now, space_.free});
}

Time DiskWatch::FullIn(Time now) const {
  if (space_.low) return 0;
  const Sample& oldest = samples_.front();
  const Time passed = now - oldest.at;
  if (passed < kLeastWindow || oldest.free <= space_.free) return kNever;
  const auto gone = static_cast<double>(oldest.free - space_.free);
  const auto left = static_cast<double>(space_.free - std::min(space_.free, space_.limit));
  const double time = left / gone * static_cast<double>(passed);
  return time < static_cast<double>(kFar) ? static_cast<Time>(time) : kNever;
}

}  // namespace gearstalk
