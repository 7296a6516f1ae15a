#include "broker/journal/live_jobs.h"

namespace gearstalk {

LiveJobs::Place LiveJobs::Find(std::uint64_t id) const {
  const auto page = pages_.find(id / kPageIds);
  return page == pages_.end() ? Place{} : PlaceAt(*page->second, id % kPageIds);
}

LiveJobs::Place LiveJobs::Set(std::uint64_t id, const Place& place) {
  std::unique_ptr<Page>& page = pages_[id / kPageIds];
  if (page == nullptr) page = std::make_unique<Page>();
  const std::uint64_t slot = id % kPageIds;
  const Place before = PlaceAt(*page, slot);
  if (before.segment == 0) {
    ++page->used;
    ++size_;
  }
  page->segment[slot] = static_cast<std::uint32_t>(place.segment);
  page->size[slot] = static_cast<std::uint32_t>(place.bytes);
  page->offset[slot] = static_cast<std::uint32_t>(place.offset);
  if (place.check != 0 && page->check == nullptr) page->check = std::make_unique<Words>();
  if (page->check != nullptr) (*page->check)[slot] = place.check;
  return before;
}

LiveJobs::Place LiveJobs::Erase(std::uint64_t id) {
  const Place before = Find(id);
  if (before.segment == 0) return before;
  const auto page = pages_.find(id / kPageIds);
  const std::uint64_t slot = id % kPageIds;
  page->second->segment[slot] = page->second->size[slot] = page->second->offset[slot] = 0;
  if (page->second->check != nullptr) (*page->second->check)[slot] = 0;
  --size_;
  if (--page->second->used == 0) pages_.erase(page);
  return before;
}

}  // namespace gearstalk
