#include "broker/engine/unique_index.h"

#include <bit>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/tube.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {

UniqueIndex::UniqueIndex() { segments_.push_back(std::make_unique<Bucket[]>(kSegment)); }

std::uint64_t UniqueIndex::Hash(const Tube& tube, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(), tube.id());
}

UniqueIndex::Entry UniqueIndex::TagOf(std::uint64_t hash) {
  return (hash >> kSegmentBits) << kAddressBits;
}

UniqueIndex::Entry UniqueIndex::EntryOf(std::uint64_t hash, const Job& job) {
  return TagOf(hash) | reinterpret_cast<std::uintptr_t>(&job) / 8;
}

Job* UniqueIndex::JobOf(Entry entry) {
  constexpr Entry kAddress = (Entry{1} << kAddressBits) - 1;
  return reinterpret_cast<Job*>((entry & kAddress) * 8);  // NOLINT(performance-no-int-to-ptr)
}

void UniqueIndex::Add(Bucket& first, Entry entry) {
  Bucket* bucket = &first;
  while (bucket->overflow != nullptr) bucket = bucket->overflow.get();
  for (Entry& place : bucket->entries) {
    if (place != 0) continue;
    place = entry;
    return;
  }
  bucket->overflow = std::make_unique<Bucket>();
  bucket->overflow->entries[0] = entry;
}

// The last entry, taken out; 0 if there is none.
UniqueIndex::Entry UniqueIndex::TakeLast(Bucket& first) {
  std::unique_ptr<Bucket>* link = nullptr;
  Bucket* bucket = &first;
  while (bucket->overflow != nullptr) {
    link = &bucket->overflow;
    bucket = link->get();
  }
  std::size_t used = bucket->entries.size();
  while (used > 0 && bucket->entries[used - 1] == 0) --used;
  if (used == 0) return 0;
  const Entry last = std::exchange(bucket->entries[used - 1], 0);
  if (used == 1 && link != nullptr) link->reset();
  return last;
}

template <typename Wanted>
UniqueIndex::Entry* UniqueIndex::FindEntry(Bucket& first, Wanted wanted) {
  for (Bucket* bucket = &first; bucket != nullptr; bucket = bucket->overflow.get()) {
    for (Entry& entry : bucket->entries) {
      if (entry == 0) break;
      if (wanted(entry)) return &entry;
    }
  }
  return nullptr;
}

// Bucket b < buckets_ holds the hashes that end in b's bits; those whose bucket is not there yet
// are still with the bucket it will be split from.
std::size_t UniqueIndex::IndexOf(std::uint64_t hash) const {
  const std::uint64_t mask = std::bit_ceil(buckets_) - 1;
  const std::size_t index = hash & mask;
  return index < buckets_ ? index : index & (mask >> 1);
}

Job* UniqueIndex::Find(const Tube& tube, std::string_view key, bool is_body) const {
  const std::uint64_t hash = Hash(tube, key);
  const Entry tag = TagOf(hash);
  const Entry* found = FindEntry(BucketAt(IndexOf(hash)), [&](Entry entry) {
    if ((entry ^ tag) >> kAddressBits != 0) return false;
    const Job& job = *JobOf(entry);
    return job.tube_ == &tube && job.unique_is_body_ == is_body && KeyOf(job) == key &&
           job.state_ != JobState::kBuried;
  });
  return found == nullptr ? nullptr : JobOf(*found);
}

void UniqueIndex::Insert(Job& job) {
  const std::uint64_t hash = Hash(job.tube(), KeyOf(job));
  Add(BucketAt(IndexOf(hash)), EntryOf(hash, job));
  if (++size_ > buckets_ * kPerBucket && buckets_ < kMostBuckets) Split();
}

void UniqueIndex::Remove(Job& job) {
  const std::uint64_t hash = Hash(job.tube(), KeyOf(job));
  Bucket& bucket = BucketAt(IndexOf(hash));
  const Entry entry = EntryOf(hash, job);
  const Entry last = TakeLast(bucket);
  if (last != entry) {
    Entry* place = FindEntry(bucket, [=](Entry other) { return other == entry; });
    GS_CHECK(place != nullptr);
    *place = last;
  }
  --size_;
  if (buckets_ > kSegment && size_ < buckets_ / 4 * kPerBucket) Merge();
}

void UniqueIndex::Split() {
  const std::size_t added = buckets_++;
  if (added % kSegment == 0) segments_.push_back(std::make_unique<Bucket[]>(kSegment));
  const std::size_t level = std::bit_floor(added);
  const Entry decides = Entry{level >> kSegmentBits} << kAddressBits;
  Bucket& stays = BucketAt(added - level);
  Bucket& goes = BucketAt(added);
  const Bucket whole = std::exchange(stays, Bucket());
  for (const Bucket* part = &whole; part != nullptr; part = part->overflow.get()) {
    for (const Entry entry : part->entries) {
      if (entry != 0) Add((entry & decides) != 0 ? goes : stays, entry);
    }
  }
}

void UniqueIndex::Merge() {
  const std::size_t gone = --buckets_;
  Bucket& into = BucketAt(gone - std::bit_floor(gone));
  while (const Entry entry = TakeLast(BucketAt(gone))) Add(into, entry);
  if (gone % kSegment == 0) segments_.pop_back();
}

}  // namespace gearstalk
