#include "broker/base/slices.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace gearstalk {
namespace {

Slices Count(std::vector<int>& seen, int to, std::shared_ptr<int> kept) {
  for (int i = 0; i < to; ++i) {
    seen.push_back(i);
    co_await NextSlice();
  }
  seen.push_back(-*kept);
}

TEST(Slices, RunOneAfterTheOther) {
  std::vector<int> seen;
  Slices work = Count(seen, 2, std::make_shared<int>(7));
  EXPECT_TRUE(seen.empty());
  EXPECT_TRUE(work.Advance());
  EXPECT_EQ(seen, std::vector{0});
  EXPECT_TRUE(work.Advance());
  EXPECT_FALSE(work.Advance());
  EXPECT_EQ(seen, (std::vector{0, 1, -7}));
  EXPECT_FALSE(work);
}

TEST(Slices, WhatTheyHoldIsReleasedWhenTheyAreDropped) {
  std::vector<int> seen;
  const auto kept = std::make_shared<int>(7);
  Slices work;
  EXPECT_FALSE(work);
  work = Count(seen, 9, kept);
  EXPECT_TRUE(work.Advance());
  EXPECT_EQ(kept.use_count(), 2);
  work = Slices();
  EXPECT_EQ(kept.use_count(), 1);
  const Slices never_begun = Count(seen, 9, kept);
  Slices moved = Count(seen, 0, kept);
  Slices target = std::move(moved);
  EXPECT_EQ(kept.use_count(), 3);
  EXPECT_FALSE(target.Advance());
  EXPECT_EQ(kept.use_count(), 2);
}

}  // namespace
}  // namespace gearstalk
