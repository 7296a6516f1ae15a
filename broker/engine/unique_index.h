#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/engine/job.h"

namespace gearstalk {

// Finds the unfinished job of a tube with a unique key. Buried jobs are in it, but are not found:
// they have failed, and their key is free until they are kicked.
//
// A linear hash table: it grows and shrinks by one bucket at a time, so no single command pays for
// a rehash. A bucket is a cache line. Beside its job an entry holds bits of the hash, so a look-up
// touches no jobs but those that match, and a split touches none.
class UniqueIndex {
 public:
  UniqueIndex();

  // What a job is found by: its key, or its body if the key is Gearman's "-".
  static std::string_view KeyOf(const Job& job) {
    return job.unique_is_body() ? job.body() : job.unique();
  }

  // The job with this key that is not buried (one of them, if another was kicked), or nullptr.
  // `is_body` says what kind of key it is: a text and an equal body are two keys.
  Job* Find(const Tube& tube, std::string_view key, bool is_body = false) const;
  void Insert(Job& job);
  void Remove(Job& job);
  std::size_t size() const { return size_; }

  // The job's end is near: fetches what Remove will touch, while there is something else to do.
  void Prefetch(const Job& job) const {
    __builtin_prefetch(&BucketAt(IndexOf(Hash(job.tube(), KeyOf(job)))));
  }

 private:
  // kTagBits of the hash above the job's address, which is a multiple of 8 and has 47 bits.
  using Entry = std::uint64_t;
  static constexpr int kTagBits = 20;
  static constexpr int kAddressBits = 44;

  static constexpr int kSegmentBits = 8;  // buckets allocated at a time, and the fewest there are
  static constexpr std::size_t kSegment = 1 << kSegmentBits;
  // The tag is the hash above its lowest kSegmentBits: enough to split up to here.
  static constexpr std::size_t kMostBuckets = std::size_t{1} << (kSegmentBits + kTagBits);
  static constexpr std::size_t kPerBucket = 4;  // jobs, on average

  struct alignas(64) Bucket {
    std::array<Entry, 7> entries{};  // filled from the front, 0 behind the last
    std::unique_ptr<Bucket> overflow;
  };

  static std::uint64_t Hash(const Tube& tube, std::string_view key);
  static Entry TagOf(std::uint64_t hash);
  static Entry EntryOf(std::uint64_t hash, const Job& job);
  static Job* JobOf(Entry entry);
  static void Add(Bucket& bucket, Entry entry);
  static Entry TakeLast(Bucket& bucket);
  template <typename Wanted>
  static Entry* FindEntry(Bucket& bucket, Wanted wanted);

  std::size_t IndexOf(std::uint64_t hash) const;
  Bucket& BucketAt(std::size_t index) const {
    return segments_[index / kSegment][index % kSegment];
  }
  void Split();
  void Merge();

  std::vector<std::unique_ptr<Bucket[]>> segments_;
  std::size_t buckets_ = kSegment;
  std::size_t size_ = 0;
};

}  // namespace gearstalk
