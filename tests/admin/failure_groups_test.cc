#include "admin/api/failure_groups.h"

#include <gtest/gtest.h>

#include "tests/admin/reading.h"

namespace gearstalk::api {
namespace {

class FailureGroupsTest : public ::testing::Test {
 protected:
  FailureGroupsTest() {
    reading_.now = 100 * 3600 * kSecond;
    reading_.engine.Tick(reading_.now);
  }
  void Bury(const std::string& tube, int times) {
    for (int i = 0; i < times; ++i) {
      const JobId id = reading_.Put(tube);
      EXPECT_TRUE(reading_.engine.Bury(id, std::nullopt, false).ok());
    }
  }
  FailureGroups Grouped() {
    FailureGroups groups(reading_.engine, std::nullopt, reading_.now);
    for (const Job* job = reading_.engine.NextJob(0); job != nullptr;
         job = reading_.engine.NextJob(job->id())) {
      groups.Add(*job);
    }
    return groups;
  }

  Reading reading_;
};

TEST_F(FailureGroupsTest, TheLargestAreShown) {
  for (int i = 0; i < 300; ++i) Bury("t" + std::to_string(i), 1 + i % 150);
  FailureGroups groups = Grouped();
  while (groups.Rank()) continue;
  while (groups.Tell()) continue;
  EXPECT_EQ(groups.total(), 300U);
  const Json objects = groups.TakeObjects();
  ASSERT_EQ(objects.size(), FailureGroups::kShown);
  for (std::size_t i = 0; i < objects.size(); ++i) EXPECT_EQ(objects[i]["count"], 150 - i / 2) << i;
  EXPECT_EQ(objects[0]["per_step"][23], 150);
}

TEST_F(FailureGroupsTest, ManyAreRankedInSlices) {
  constexpr std::size_t kGroups = 1000;
  for (std::size_t i = 0; i < kGroups; ++i) Bury("t" + std::to_string(i), 1);
  FailureGroups groups = Grouped();
  std::size_t slices = 0;
  while (groups.Rank()) ++slices;
  EXPECT_GE(slices, kGroups / FailureGroups::kRanked);
  slices = 0;
  while (groups.Tell()) ++slices;
  EXPECT_GE(slices, FailureGroups::kShown / FailureGroups::kTold - 1);
}

}  // namespace
}  // namespace gearstalk::api
