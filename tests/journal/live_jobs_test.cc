#include "broker/journal/live_jobs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gearstalk {
namespace {

TEST(LiveJobs, AgreesWithAMap) {
  LiveJobs jobs;
  std::map<std::uint64_t, LiveJobs::Place> expected;
  std::mt19937_64 lot(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t id = lot() % 3 == 0 ? lot() % 1000 : UINT64_MAX - lot() % 1000;
    const auto known = expected.find(id);
    const LiveJobs::Place before = known == expected.end() ? LiveJobs::Place{} : known->second;
    LiveJobs::Place reported;
    if (lot() % 2 == 0) {
      const std::uint64_t segment = 1 + lot() % 1000, bytes = lot() % 100'000;
      reported = jobs.Set(id, segment, bytes);
      expected[id] = {segment, LiveJobs::Rounded(bytes)};
    } else {
      reported = jobs.Erase(id);
      expected.erase(id);
    }
    ASSERT_EQ(reported.segment, before.segment);
    ASSERT_EQ(reported.bytes, before.bytes);
    ASSERT_EQ(jobs.size(), expected.size());
  }
  for (const auto& [id, place] : expected) EXPECT_EQ(jobs.Find(id).segment, place.segment);
}

TEST(LiveJobs, SizesAreRoundedDownALittle) {
  for (const std::uint64_t bytes : {0ULL, 1ULL, 2047ULL})
    EXPECT_EQ(LiveJobs::Rounded(bytes), bytes);
  for (std::uint64_t bytes = 2048; bytes < (1ULL << 40U); bytes = bytes * 9 / 7 + 1) {
    EXPECT_LE(LiveJobs::Rounded(bytes), bytes);
    EXPECT_GE(LiveJobs::Rounded(bytes), bytes - bytes / 1000);
  }
}

}  // namespace
}  // namespace gearstalk
