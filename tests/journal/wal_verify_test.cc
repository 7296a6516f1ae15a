// What a start did not read is read again in the background.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/journal/no_events.h"
#include "broker/journal/wal/verifier.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

class WalVerify : public testing::Test {
 protected:
  static constexpr Time kWeek = 7 * 24 * 3600 * kSecond;

  WalVerify() {
    EXPECT_TRUE(rig_.Start().ok());
    for (int i = 0; i < 40; ++i) {
      rig_.model->Put(*rig_.journal, "t", std::string(300, 'b'));
      rig_.Flush();
    }
  }

  std::string Segment(std::uint64_t number) {
    return std::string(Rig::kDirectory) + "/" + SegmentName(number);
  }
  // Flips a bit in a body.
  void Damage(std::uint64_t number) {
    std::string content = rig_.disk.Content(Segment(number));
    content[content.find("bbb")] ^= 1;
    rig_.disk.SetContent(Segment(number), content);
  }
  VerifyStats VerifyAt(Time now) {
    rig_.journal->Tick(now);
    rig_.Flush();
    rig_.journal->OnNotify();
    return rig_.journal->Verified();
  }

  Rig rig_;
};

TEST_F(WalVerify, AllSealedSegmentsAreReadOnceAndThenEveryWeek) {
  rig_.journal->Verify(1);
  const VerifyStats first = VerifyAt(kSecond);
  EXPECT_GT(first.bytes, rig_.journal->Segments().stored_bytes / 2);
  EXPECT_EQ(first.left_bytes, 0U);
  EXPECT_EQ(first.ended, kSecond);
  EXPECT_EQ(first.damaged, 0U);
  EXPECT_EQ(VerifyAt(kWeek).bytes, first.bytes);
  const VerifyStats second = VerifyAt(kWeek + kSecond);
  EXPECT_EQ(second.bytes, 2 * first.bytes);
  EXPECT_EQ(second.ended, kWeek + kSecond);
}

TEST_F(WalVerify, DamageIsCountedAndTheRestIsRead) {
  const std::uint64_t all = (rig_.journal->Verify(1), VerifyAt(kSecond).bytes);
  Damage(2);
  Damage(4);
  const VerifyStats stats = VerifyAt(kWeek + kSecond);
  EXPECT_EQ(stats.damaged, 2U);
  EXPECT_EQ(stats.bytes, 2 * all);
  EXPECT_TRUE(rig_.journal->Health().ok());
}

TEST_F(WalVerify, NothingIsReadWithoutAPace) {
  const VerifyStats stats = VerifyAt(kSecond);
  EXPECT_EQ(stats.bytes, 0U);
  EXPECT_EQ(stats.ended, 0);
  EXPECT_GT(stats.left_bytes, 0U);
}

TEST_F(WalVerify, TheDamagedStretchIsNamed) {
  Damage(2);
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Begin(2, 2);
  verifier.Work();
  const std::vector<Verifier::Damage> found = verifier.Take();
  ASSERT_EQ(found.size(), 1U);
  const std::size_t flipped = rig_.disk.Content(Segment(2)).find("cbb");
  EXPECT_LT(found[0].offset, flipped);
  EXPECT_GT(found[0].end, flipped);
  EXPECT_EQ(found[0].problem.find(Segment(2) + " at offset "), 0U);
}

TEST_F(WalVerify, AMissingFileIsDamageToo) {
  rig_.disk.Unlink(Segment(3));
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Begin(2, 4);
  verifier.Work();
  ASSERT_EQ(verifier.Take().size(), 1U);
}

TEST_F(WalVerify, WhatLeavesTheLogIsPassedOver) {
  Damage(2);
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Begin(1, 4);
  verifier.Release(3);
  verifier.Work();
  EXPECT_TRUE(verifier.Take().empty());
  EXPECT_EQ(verifier.progress().next, 5U);
}

}  // namespace
}  // namespace gearstalk
