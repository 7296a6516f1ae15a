#include "broker/journal/live_jobs.h"

#include <algorithm>

#include "broker/journal/journal.h"

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

void Census::Count(const Record& record, std::uint64_t segment, std::size_t bytes) {
  ++records_;
  next_id_ = std::max(next_id_, NextIdAfter(record));
  const Keeps keeps = KeptAfter(record.kind);
  if (keeps == Keeps::kSame) return;
  const LiveJobs::Place job = jobs_.Erase(record.id);
  if (job.segment != 0) --jobs_in_[job.segment];
  bytes_ -= job.bytes + keys_.Erase(record.id).bytes;
  if (keeps == Keeps::kNothing) return;
  (keeps == Keeps::kJob ? jobs_ : keys_).Set(record.id, {segment, bytes});
  bytes_ += bytes;
  if (keeps == Keeps::kJob) ++jobs_in_[segment];
}

std::uint64_t Census::JobsIn(std::uint64_t segment) const {
  const auto found = jobs_in_.find(segment);
  return found == jobs_in_.end() ? 0 : found->second;
}

bool Census::Needs(const Record& record) const {
  switch (KeptAfter(record.kind)) {
    case Keeps::kJob:
      return jobs_.Find(record.id).segment != 0;
    case Keeps::kKey:
      return keys_.Find(record.id).segment != 0;
    case Keeps::kNothing:
      return false;
    case Keeps::kSame:
      break;
  }
  const bool changes = record.kind == Record::Kind::kChange || record.kind == Record::Kind::kCount;
  if (changes) return jobs_.Find(record.id).segment != 0;
  return record.kind != Record::Kind::kEnd;
}

}  // namespace gearstalk
