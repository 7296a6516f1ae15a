#include "broker/engine/ready_index.h"

#include <algorithm>

namespace gearstalk {

bool ReadyIndex::LessUrgent(const Entry& a, const Entry& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.id > b.id;
}

bool ReadyIndex::Add(std::vector<Entry>& entries, const Tube& tube) {
  if (tube.ready() == 0 || tube.paused()) return false;
  const Job& front = *tube.NextReady();
  entries.push_back({front.priority, front.id(), &tube});
  return true;
}

void ReadyIndex::CatchUp(const WatchList& watched, const FreshTubes& fresh) {
  const std::uint64_t missed = fresh.end() - seen_;
  const bool grown = heap_.size() > 2 * watched.size();
  if (stale_ || grown || missed > std::min<std::uint64_t>(FreshTubes::kKept, watched.size())) {
    heap_.clear();
    for (const auto& watch : watched) Add(heap_, watch->tube);
    std::make_heap(heap_.begin(), heap_.end(), LessUrgent);
    stale_ = false;
  } else {
    for (std::uint64_t at = seen_; at < fresh.end(); ++at) {
      const Watch* watch = watched.Find(*fresh.At(at));
      if (watch != nullptr && Add(heap_, watch->tube)) {
        std::push_heap(heap_.begin(), heap_.end(), LessUrgent);
      }
    }
  }
  seen_ = fresh.end();
}

Job* ReadyIndex::Best(const WatchList& watched, const FreshTubes& fresh) {
  CatchUp(watched, fresh);
  while (!heap_.empty()) {
    const Entry top = heap_.front();
    Job* front = top.tube->FrontJob();
    if (front != nullptr && front->id() == top.id && front->priority == top.priority) return front;
    std::pop_heap(heap_.begin(), heap_.end(), LessUrgent);
    heap_.pop_back();
    if (Add(heap_, *top.tube)) std::push_heap(heap_.begin(), heap_.end(), LessUrgent);
  }
  return nullptr;
}

}  // namespace gearstalk
