#include "tests/bench/load/histogram.h"

#include <algorithm>
#include <bit>

namespace gearstalk::bench {

size_t Histogram::BucketOf(uint64_t value) {
  if (value < kSubBuckets) return value;
  const int shift = static_cast<int>(std::bit_width(value)) - 1 - kSubBits;
  return static_cast<size_t>(shift) * kSubBuckets + (value >> shift);
}

uint64_t Histogram::UpperEdge(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const size_t shift = bucket / kSubBuckets - 1;
  const uint64_t top = bucket - shift * kSubBuckets;
  return ((top + 1) << shift) - 1;
}

void Histogram::Add(int64_t value) {
  value = std::max<int64_t>(value, 0);
  ++buckets_[BucketOf(static_cast<uint64_t>(value))];
  ++count_;
  max_ = std::max(max_, value);
}

int64_t Histogram::Quantile(double fraction) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<uint64_t>(fraction * static_cast<double>(count_ - 1));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen > rank) return std::min(static_cast<int64_t>(UpperEdge(bucket)), max_);
  }
  return max_;
}

}  // namespace gearstalk::bench
