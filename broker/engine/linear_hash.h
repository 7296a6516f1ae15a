#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "broker/base/check.h"

namespace gearstalk {

std::uint64_t NewHashSeed();

// Makes hashes of names that clients choose unpredictable: another number in each process.
inline std::uint64_t HashSeed() {
  static const std::uint64_t seed = NewHashSeed();
  return seed;
}

// Finds objects by a hash of 64 bits that the caller makes of what is unique about them. The
// objects are somebody else's, at addresses that are multiples of 8.
//
// A linear hash table: it grows and shrinks by one bucket at a time, so no single command pays for
// a rehash. A bucket is a cache line. Beside its object an entry holds bits of the hash, so a
// look-up touches no objects but those that match, and a split touches none.
//
// It never has fewer than 2^SegmentBits buckets, and allocates so many at a time.
template <typename T, int SegmentBits = 8>
class LinearHash {
 public:
  LinearHash() { segments_.push_back(std::make_unique<Bucket[]>(kSegment)); }

  std::size_t size() const { return size_; }

  // An object of this hash that is `wanted`, or nullptr.
  template <typename Wanted>
  T* Find(std::uint64_t hash, Wanted wanted) const {
    const Entry tag = TagOf(hash);
    const Entry* found = FindEntry(BucketAt(IndexOf(hash)), [&](Entry entry) {
      return (entry ^ tag) >> kAddressBits == 0 && wanted(*ObjectOf(entry));
    });
    return found == nullptr ? nullptr : ObjectOf(*found);
  }

  void Insert(std::uint64_t hash, T& object) {
    Add(BucketAt(IndexOf(hash)), EntryOf(hash, object));
    if (++size_ > buckets_ * kPerBucket && buckets_ < kMostBuckets) Split();
  }

  // `object` must be present, under this hash.
  void Remove(std::uint64_t hash, T& object) {
    Bucket& bucket = BucketAt(IndexOf(hash));
    const Entry entry = EntryOf(hash, object);
    const Entry last = TakeLast(bucket);
    if (last != entry) {
      Entry* place = FindEntry(bucket, [=](Entry other) { return other == entry; });
      GS_CHECK(place != nullptr);
      *place = last;
    }
    --size_;
    if (buckets_ > kSegment && size_ < buckets_ / 4 * kPerBucket) Merge();
  }

  // For walks in slices: those of one bucket. Between two buckets the table may grow or shrink;
  // then an object may be visited twice or not at all.
  std::size_t buckets() const { return buckets_; }
  template <typename Visit>
  void VisitBucket(std::size_t index, Visit visit) const {
    for (Bucket* bucket = &BucketAt(index); bucket != nullptr; bucket = bucket->overflow.get()) {
      for (const Entry entry : bucket->entries) {
        if (entry != 0) visit(*ObjectOf(entry));
      }
    }
  }

  // Fetches what Find and Remove will touch, while there is something else to do. Always inline:
  // GCC drops the call of a function that only fetches.
  [[gnu::always_inline]] void Prefetch(std::uint64_t hash) const {
    __builtin_prefetch(&BucketAt(IndexOf(hash)));
  }

 private:
  // kTagBits of the hash above the object's address, which is a multiple of 8 and has 47 bits.
  using Entry = std::uint64_t;
  static constexpr int kTagBits = 20;
  static constexpr int kAddressBits = 44;

  static constexpr std::size_t kSegment = 1 << SegmentBits;
  // The tag is the hash above its lowest SegmentBits: enough to split up to here.
  static constexpr std::size_t kMostBuckets = std::size_t{1} << (SegmentBits + kTagBits);
  static constexpr std::size_t kPerBucket = 4;  // objects, on average

  // With its overflow, which gets long when many objects have one hash. All are full but the one
  // that is open.
  struct alignas(64) Bucket {
    Bucket() = default;
    Bucket(Bucket&&) noexcept = default;
    Bucket& operator=(Bucket&&) noexcept = default;
    ~Bucket() {
      while (overflow != nullptr) DropOverflow();
    }
    Bucket& open() { return overflow == nullptr ? *this : *overflow; }
    void DropOverflow() { overflow = std::move(overflow->overflow); }

    std::array<Entry, 7> entries{};  // filled from the front, 0 behind the last
    std::unique_ptr<Bucket> overflow;
  };

  static Entry TagOf(std::uint64_t hash) { return (hash >> SegmentBits) << kAddressBits; }
  static Entry EntryOf(std::uint64_t hash, const T& object) {
    return TagOf(hash) | reinterpret_cast<std::uintptr_t>(&object) / 8;
  }
  static T* ObjectOf(Entry entry) {
    constexpr Entry kAddress = (Entry{1} << kAddressBits) - 1;
    return reinterpret_cast<T*>((entry & kAddress) * 8);  // NOLINT(performance-no-int-to-ptr)
  }

  static void Add(Bucket& first, Entry entry) {
    for (Entry& place : first.open().entries) {
      if (place != 0) continue;
      place = entry;
      return;
    }
    auto more = std::make_unique<Bucket>();
    more->entries[0] = entry;
    more->overflow = std::move(first.overflow);
    first.overflow = std::move(more);
  }

  // The last entry of the open bucket, taken out; 0 if there is none.
  static Entry TakeLast(Bucket& first) {
    auto& entries = first.open().entries;
    std::size_t used = entries.size();
    while (used > 0 && entries[used - 1] == 0) --used;
    if (used == 0) return 0;
    const Entry last = std::exchange(entries[used - 1], 0);
    if (used == 1 && first.overflow != nullptr) first.DropOverflow();
    return last;
  }

  template <typename Wanted>
  static Entry* FindEntry(Bucket& first, Wanted wanted) {
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
  std::size_t IndexOf(std::uint64_t hash) const {
    const std::uint64_t mask = std::bit_ceil(buckets_) - 1;
    const std::size_t index = hash & mask;
    return index < buckets_ ? index : index & (mask >> 1);
  }
  Bucket& BucketAt(std::size_t index) const {
    return segments_[index / kSegment][index % kSegment];
  }

  void Split() {
    const std::size_t added = buckets_++;
    if (added % kSegment == 0) segments_.push_back(std::make_unique<Bucket[]>(kSegment));
    const std::size_t level = std::bit_floor(added);
    const Entry decides = Entry{level >> SegmentBits} << kAddressBits;
    Bucket& stays = BucketAt(added - level);
    Bucket& goes = BucketAt(added);
    const Bucket whole = std::exchange(stays, Bucket());
    for (const Bucket* part = &whole; part != nullptr; part = part->overflow.get()) {
      for (const Entry entry : part->entries) {
        if (entry != 0) Add((entry & decides) != 0 ? goes : stays, entry);
      }
    }
  }

  void Merge() {
    const std::size_t gone = --buckets_;
    Bucket& into = BucketAt(gone - std::bit_floor(gone));
    while (const Entry entry = TakeLast(BucketAt(gone))) Add(into, entry);
    if (gone % kSegment == 0) segments_.pop_back();
  }

  std::vector<std::unique_ptr<Bucket[]>> segments_;
  std::size_t buckets_ = kSegment;
  std::size_t size_ = 0;
};

}  // namespace gearstalk
