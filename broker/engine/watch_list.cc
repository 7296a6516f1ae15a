#include "broker/engine/watch_list.h"

#include <algorithm>

#include "broker/base/check.h"

namespace gearstalk {

WatchEntry* WatchList::Find(const Tube& tube) const {
  if (wide()) {
    const auto found = index_.find(&tube);
    return found == index_.end() ? nullptr : watches_[found->second].get();
  }
  for (const auto& watch : watches_) {
    if (&watch->tube == &tube) return watch.get();
  }
  return nullptr;
}

WatchEntry& WatchList::Add(Tube& tube, Consumer& consumer) {
  watches_.push_back(std::make_unique<WatchEntry>(tube, consumer));
  if (wide()) {
    // Crossing the bound indexes all of them once.
    for (std::size_t i = index_.size(); i < watches_.size(); ++i) {
      index_[&watches_[i]->tube] = static_cast<std::uint32_t>(i);
    }
  }
  return *watches_.back();
}

void WatchList::Remove(WatchEntry& watch) {
  std::size_t at = 0;
  if (wide()) {
    at = index_.find(&watch.tube)->second;
    index_.erase(&watch.tube);
  } else {
    const auto found = std::find_if(watches_.begin(), watches_.end(),
                                    [&](const auto& one) { return one.get() == &watch; });
    GS_CHECK(found != watches_.end());
    at = static_cast<std::size_t>(found - watches_.begin());
  }
  if (at + 1 < watches_.size()) {
    watches_[at] = std::move(watches_.back());
    if (!index_.empty()) index_[&watches_[at]->tube] = static_cast<std::uint32_t>(at);
  }
  watches_.pop_back();
  if (!wide()) index_.clear();
}

}  // namespace gearstalk
