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
      const LiveJobs::Place place{1 + lot() % 1000, lot() % 100'000, lot() % UINT32_MAX,
                                  i < 50'000 ? 0 : static_cast<std::uint32_t>(lot() % 3)};
      reported = jobs.Set(id, place);
      expected[id] = place;
    } else {
      reported = jobs.Erase(id);
      expected.erase(id);
    }
    ASSERT_EQ(reported.segment, before.segment);
    ASSERT_EQ(reported.bytes, before.bytes);
    ASSERT_EQ(reported.offset, before.offset);
    ASSERT_EQ(reported.check, before.check);
    ASSERT_EQ(jobs.size(), expected.size());
  }
  for (const auto& [id, place] : expected) EXPECT_EQ(jobs.Find(id).segment, place.segment);
}

}  // namespace
}  // namespace gearstalk
