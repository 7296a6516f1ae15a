#include "broker/base/time_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace gearstalk {
namespace {

constexpr auto& kBounds = TimeHistogram::kBounds;

std::size_t BucketOf(Time span) {
  TimeHistogram histogram;
  histogram.Add(span);
  const auto& counts = histogram.counts();
  EXPECT_EQ(1u, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  return static_cast<std::size_t>(std::find(counts.begin(), counts.end(), 1) - counts.begin());
}

TEST(TimeHistogram, BoundsAreRoundNumbers) {
  EXPECT_EQ(100 * kMicrosecond, kBounds.front());
  EXPECT_EQ(10'000 * kSecond, kBounds.back());
  EXPECT_EQ(1, std::count(kBounds.begin(), kBounds.end(), 500 * kMillisecond));
  EXPECT_TRUE(std::is_sorted(kBounds.begin(), kBounds.end()));
}

TEST(TimeHistogram, ASpanIsInTheFirstBucketThatHoldsIt) {
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    EXPECT_EQ(i, BucketOf(kBounds[i])) << "bounds are inclusive";
    EXPECT_EQ(i, BucketOf(kBounds[i] - 1));
    EXPECT_EQ(i + 1, BucketOf(kBounds[i] + 1));
  }
  for (Time span = 1; span < kBounds.back() * 4; span *= 2) {
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), span);
    EXPECT_EQ(static_cast<std::size_t>(bound - kBounds.begin()), BucketOf(span)) << span;
  }
}

TEST(TimeHistogram, TheFarEndsHaveTheirPlace) {
  EXPECT_EQ(0u, BucketOf(0));
  EXPECT_EQ(0u, BucketOf(-5)) << "time does not run backwards";
  EXPECT_EQ(kBounds.size(), BucketOf(kNever));
}

TEST(TimeHistogram, SumsUp) {
  TimeHistogram histogram;
  histogram.Add(kSecond);
  histogram.Add(-kSecond);
  histogram.Add(500 * kMillisecond);
  EXPECT_EQ(1.5, histogram.sum_seconds());
}

}  // namespace
}  // namespace gearstalk
