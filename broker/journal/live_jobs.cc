#include "broker/journal/live_jobs.h"

#include <bit>

namespace gearstalk {

// 5 bits of exponent, 11 of mantissa.
std::uint16_t LiveJobs::Pack(std::uint64_t bytes) {
  const int width = static_cast<int>(std::bit_width(bytes));
  const int shift = width > 11 ? width - 11 : 0;
  return static_cast<std::uint16_t>((static_cast<std::uint64_t>(shift) << 11U) | (bytes >> shift));
}

std::uint64_t LiveJobs::Unpack(std::uint16_t packed) {
  return static_cast<std::uint64_t>(packed & 0x7FFU) << (packed >> 11U);
}

LiveJobs::Place LiveJobs::Find(std::uint64_t id) const {
  const auto page = pages_.find(id / kPageIds);
  if (page == pages_.end()) return {};
  const std::uint64_t slot = id % kPageIds;
  const std::uint64_t segment = page->second->segment[slot];
  return segment == 0 ? Place{} : Place{segment, Unpack(page->second->size[slot])};
}

LiveJobs::Place LiveJobs::Set(std::uint64_t id, std::uint64_t segment, std::uint64_t bytes) {
  std::unique_ptr<Page>& page = pages_[id / kPageIds];
  if (page == nullptr) page = std::make_unique<Page>();
  const std::uint64_t slot = id % kPageIds;
  Place before;
  if (page->segment[slot] != 0) {
    before = {page->segment[slot], Unpack(page->size[slot])};
  } else {
    ++page->used;
    ++size_;
  }
  page->segment[slot] = static_cast<std::uint32_t>(segment);
  page->size[slot] = Pack(bytes);
  return before;
}

LiveJobs::Place LiveJobs::Erase(std::uint64_t id) {
  const Place before = Find(id);
  if (before.segment == 0) return before;
  const auto page = pages_.find(id / kPageIds);
  page->second->segment[id % kPageIds] = 0;
  --size_;
  if (--page->second->used == 0) pages_.erase(page);
  return before;
}

}  // namespace gearstalk
