#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "broker/base/clock.h"

namespace gearstalk {

// How many spans of time were how long. Adding one costs an increment and an addition.
template <Time kLeast, std::size_t kCount>
class HistogramFrom {
 public:
  // Upper bounds, inclusive: 1, 2 and 5 of every power of ten from kLeast on. No two lie between a
  // power of two and the next one.
  static constexpr std::array<Time, kCount> kBounds = [] {
    std::array<Time, kCount> bounds{};
    Time next = kLeast;
    for (Time& bound : bounds) {
      bound = next;
      Time digit = bound;
      while (digit >= 10) digit /= 10;
      next = digit == 2 ? bound / 2 * 5 : bound * 2;
    }
    return bounds;
  }();
  // By bucket: each span is in one of them, the last is for what is longer than all bounds.
  using Counts = std::array<std::uint64_t, kBounds.size() + 1>;

  // A negative one counts as 0.
  void Add(Time span) {
    if (span < 0) span = 0;
    const std::size_t bucket =
        kFirst[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(span)))];
    ++counts_[bucket + (bucket < kBounds.size() && span > kBounds[bucket] ? 1 : 0)];
    sum_ += static_cast<double>(span);
  }

  const Counts& counts() const { return counts_; }
  double sum_seconds() const { return sum_ / static_cast<double>(kSecond); }

 private:
  // By bits of a number: the bucket of the least such number.
  static constexpr auto kFirst = [] {
    std::array<std::uint8_t, 65> first{};
    for (std::size_t bits = 1; bits < first.size(); ++bits) {
      std::uint8_t bucket = 0;
      while (bucket < kBounds.size() &&
             static_cast<std::uint64_t>(kBounds[bucket]) < std::uint64_t{1} << (bits - 1)) {
        ++bucket;
      }
      first[bits] = bucket;
    }
    return first;
  }();

  Counts counts_{};
  double sum_ = 0;  // nanoseconds
};

// Up to 10000 s.
using TimeHistogram = HistogramFrom<100 * kMicrosecond, 25>;

}  // namespace gearstalk
