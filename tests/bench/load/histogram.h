#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gearstalk::bench {

// Counts of values in buckets that are at most 1/32 of the value wide.
class Histogram {
 public:
  void Add(int64_t value);
  void Clear() { *this = Histogram(); }

  // The upper edge of the bucket that holds the value of rank `fraction` (0 to 1); 0 when empty.
  int64_t Quantile(double fraction) const;

  uint64_t count() const { return count_; }
  int64_t max() const { return max_; }

 private:
  static constexpr int kSubBits = 5;
  static constexpr size_t kSubBuckets = size_t{1} << kSubBits;
  static constexpr size_t kBuckets = (64 - kSubBits) * kSubBuckets;

  static size_t BucketOf(uint64_t value);
  static uint64_t UpperEdge(size_t bucket);

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  int64_t max_ = 0;
};

}  // namespace gearstalk::bench
