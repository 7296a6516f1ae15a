#include "broker/journal/wal/disk_watch.h"

#include <gtest/gtest.h>

#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kMega = std::uint64_t{1} << 20U, kGiga = std::uint64_t{1} << 30U;
constexpr Time kMinute = 60 * kSecond, kHour = 60 * kMinute;

TEST(DiskWatch, KnowsNothingBeforeItHasLooked) {
  DiskWatch watch;
  watch.KeepFree(kGiga);
  EXPECT_EQ(0u, watch.space().total);
  EXPECT_FALSE(watch.space().low);
  watch.Look(0, UINT64_MAX, 0);
  EXPECT_FALSE(watch.space().low) << "a file system that does not say";
  EXPECT_EQ(kNever, watch.space().full_in);
}

TEST(DiskWatch, KeepsATwentiethAndOneGibibyteAtMost) {
  DiskWatch watch;
  watch.KeepFree(kUsualFreeDisk);
  watch.Look(0, kGiga, 2 * kGiga);
  EXPECT_EQ(2 * kGiga / 20, watch.space().limit);
  watch.Look(1, kGiga, 4000 * kGiga);
  EXPECT_EQ(kGiga, watch.space().limit);
}

TEST(DiskWatch, IsLowBelowTheLimitAndUntilATenthAboveIt) {
  DiskWatch watch;
  watch.KeepFree(100 * kMega);
  const auto low_with = [&](std::uint64_t free) {
    watch.Look(0, free, kGiga);
    return watch.space().low;
  };
  EXPECT_FALSE(low_with(100 * kMega));
  EXPECT_TRUE(low_with(100 * kMega - 1));
  EXPECT_EQ(0, watch.space().full_in);
  EXPECT_TRUE(low_with(110 * kMega - 1));
  EXPECT_FALSE(low_with(110 * kMega));
  EXPECT_FALSE(low_with(100 * kMega));
}

TEST(DiskWatch, AnotherLimitHoldsAtOnce) {
  DiskWatch watch;
  watch.Look(0, 100 * kMega, kGiga);
  EXPECT_FALSE(watch.space().low) << "without a limit only a full disk refuses";
  watch.KeepFree(200 * kMega);
  EXPECT_TRUE(watch.space().low);
  watch.KeepFree(0);
  EXPECT_FALSE(watch.space().low);
  watch.Look(1, 0, kGiga);
  EXPECT_FALSE(watch.space().low);
}

TEST(DiskWatch, SaysWhenTheLimitIsReached) {
  DiskWatch watch;
  watch.KeepFree(10 * kGiga);
  Time now = kHour;
  std::uint64_t free = 70 * kGiga;
  const auto pass = [&](Time time, std::uint64_t less) {
    now += time;
    free -= less;
    watch.Look(now, free, 100 * kGiga);
  };
  pass(0, 0);
  pass(30 * kSecond, kGiga);
  EXPECT_EQ(kNever, watch.space().full_in) << "half a minute is no rate";
  pass(30 * kSecond, kGiga);
  EXPECT_EQ(29 * kMinute, watch.space().full_in);
  for (int minute = 0; minute < 11; ++minute) pass(kMinute, 0);
  EXPECT_EQ(kNever, watch.space().full_in) << "nothing was written in the last ten minutes";
}

TEST(DiskWatch, WhatIsAYearAwayIsNever) {
  DiskWatch watch;
  watch.Look(0, 99 * kGiga, 100 * kGiga);
  watch.Look(10 * kMinute, 99 * kGiga - 4096, 100 * kGiga);
  EXPECT_EQ(kNever, watch.space().full_in);
}

TEST(DiskWatch, MarksAreGivenUpFivePercentBelow) {
  DiskWatch watch;
  const auto mark_at = [&](std::uint64_t percent) {
    watch.Look(0, 100 - percent, 100);
    return watch.space().mark;
  };
  EXPECT_EQ(0u, mark_at(49));
  EXPECT_EQ(50u, mark_at(50));
  EXPECT_EQ(50u, mark_at(45));
  EXPECT_EQ(0u, mark_at(44));
  EXPECT_EQ(90u, mark_at(95));
  EXPECT_EQ(90u, mark_at(85));
  EXPECT_EQ(75u, mark_at(84));
  EXPECT_EQ(75u, mark_at(89));
  EXPECT_EQ(90u, mark_at(90));
}

TEST(DiskSpace, OfAnUnknownFileSystemNothingIsUsed) {
  EXPECT_EQ(DiskSpace().used_percent(), 0U);
  DiskSpace space;
  space.total = 200;
  space.free = 50;
  EXPECT_EQ(space.used_percent(), 75U);
}

TEST(FreeDisk, AJournalLooksTwiceASecond) {
  Rig rig;
  rig.disk.SetCapacity(kMega);
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(kMega, rig.journal->Disk().total);
  EXPECT_LT(rig.journal->Disk().free, kMega);
  rig.journal->KeepFree(kMega / 2);
  EXPECT_FALSE(rig.journal->Disk().low);
  rig.disk.SetCapacity(kMega / 2);
  rig.Flush();
  EXPECT_FALSE(rig.journal->Disk().low) << "it has just looked";
  rig.disk.Advance(500 * kMillisecond);
  rig.Flush();
  EXPECT_TRUE(rig.journal->Disk().low);
  EXPECT_TRUE(rig.journal->Accepts(Record::Kind::kPut)) << "what is stored may change";
}

TEST(FreeDisk, ASmallChangeIsSeenWithoutANotice) {
  Rig rig;
  rig.disk.SetCapacity(kMega);
  ASSERT_TRUE(rig.Start().ok());
  const std::uint64_t free = rig.journal->Disk().free;
  rig.disk.SetCapacity(kMega - 1000);
  rig.disk.Advance(500 * kMillisecond);
  rig.journal->Flush(0);
  rig.journal->Tick(kSecond);
  EXPECT_GE(free - 1000, rig.journal->Disk().free);
}

}  // namespace
}  // namespace gearstalk
