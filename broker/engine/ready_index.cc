#include "broker/engine/ready_index.h"

#include <algorithm>
#include <utility>

namespace gearstalk {

// Moves the entry to where the front of its tube belongs now.
void ReadyIndex::Refresh(WatchEntry& watch) {
  const Job* front = watch.tube.FrontJob();
  if (front == nullptr) return Remove(watch);
  watch.front = OrderOf(watch.tube, *front);
  heap_.Set(front->priority, &watch);
}

void ReadyIndex::CatchUp(const WatchList& watched, const FreshTubes& fresh, std::uint64_t& effort) {
  const std::uint64_t missed = fresh.end() - seen_;
  const std::uint64_t few = std::min<std::uint64_t>(FreshTubes::kKept, watched.size());
  if (!std::exchange(built_, true) || missed > few) {
    effort += watched.size();
    for (const auto& watch : watched) Refresh(*watch);
  } else {
    effort += missed;
    for (std::uint64_t at = seen_; at < fresh.end(); ++at) {
      if (WatchEntry* watch = watched.Find(*fresh.At(at))) Refresh(*watch);
    }
  }
  seen_ = fresh.end();
}

Job* ReadyIndex::Best(const WatchList& watched, const FreshTubes& fresh, bool fair,
                      std::uint64_t& effort) {
  fair_ = fair;
  CatchUp(watched, fresh, effort);
  while (!heap_.empty()) {
    WatchEntry& top = *heap_.top();
    Job* front = top.tube.FrontJob();
    const bool same = front != nullptr && OrderOf(top.tube, *front) == top.front &&
                      front->priority == heap_.top_time();
    if (same) return front;
    ++effort;
    Refresh(top);
  }
  return nullptr;
}

}  // namespace gearstalk
