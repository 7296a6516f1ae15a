#include "broker/engine/unique_index.h"

#include <bit>

#include "broker/base/check.h"
#include "broker/engine/tube.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {

UniqueIndex::UniqueIndex() { segments_.push_back(std::make_unique<Job*[]>(kSegment)); }

std::uint64_t UniqueIndex::Hash(const Tube& tube, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(), tube.id());
}

// Bucket b < buckets_ holds the hashes that end in b's bits; those whose bucket is not there yet
// are still with the bucket it will be split from.
std::size_t UniqueIndex::BucketOf(std::uint64_t hash) const {
  const std::uint64_t mask = std::bit_ceil(buckets_) - 1;
  const std::size_t index = hash & mask;
  return index < buckets_ ? index : index & (mask >> 1);
}

Job* UniqueIndex::Find(const Tube& tube, std::string_view key, bool is_body) const {
  for (Job* job = Bucket(BucketOf(Hash(tube, key))); job != nullptr; job = job->UniqueNext()) {
    const bool same = job->tube_ == &tube && job->unique_is_body_ == is_body && KeyOf(*job) == key;
    if (same && job->state_ != JobState::kBuried) return job;
  }
  return nullptr;
}

void UniqueIndex::Insert(Job& job) {
  Job*& head = Bucket(BucketOf(Hash(job.tube(), KeyOf(job))));
  job.UniqueNext() = head;
  head = &job;
  if (++size_ > buckets_) Split();
}

void UniqueIndex::Remove(Job& job) {
  Job** link = &Bucket(BucketOf(Hash(job.tube(), KeyOf(job))));
  while (*link != &job) {
    GS_CHECK(*link != nullptr);
    link = &(*link)->UniqueNext();
  }
  *link = job.UniqueNext();
  --size_;
  if (buckets_ > kSegment && size_ < buckets_ / 4) Merge();
}

void UniqueIndex::Split() {
  const std::size_t added = buckets_++;
  if (added % kSegment == 0) segments_.push_back(std::make_unique<Job*[]>(kSegment));
  const std::size_t from = added & (std::bit_ceil(buckets_) / 2 - 1);
  Job** keep = &Bucket(from);
  Job** moved = &Bucket(added);
  for (Job* job = *keep; job != nullptr; job = job->UniqueNext()) {
    Job**& link = BucketOf(Hash(job->tube(), KeyOf(*job))) == added ? moved : keep;
    *link = job;
    link = &job->UniqueNext();
  }
  *keep = nullptr;
  *moved = nullptr;
}

void UniqueIndex::Merge() {
  const std::size_t gone = buckets_ - 1;
  const std::size_t into = gone & (std::bit_ceil(buckets_) / 2 - 1);
  Job** end = &Bucket(into);
  while (*end != nullptr) end = &(*end)->UniqueNext();
  *end = Bucket(gone);
  buckets_ = gone;
  if (gone % kSegment == 0) segments_.pop_back();
}

}  // namespace gearstalk
