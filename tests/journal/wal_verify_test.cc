// What a start did not read is read again in the background.

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "broker/journal/journal.h"
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

TEST_F(WalVerify, WhileThePauseLastsNothingIsRead) {
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Pause(true);
  verifier.Begin(1, 4);
  verifier.Work();
  verifier.Pause(true);
  verifier.Work();
  EXPECT_EQ(verifier.progress().bytes, 0U);
  EXPECT_EQ(verifier.progress().next, 1U);
  verifier.Pause(false);
  verifier.Work();
  EXPECT_GT(verifier.progress().bytes, 0U);
  EXPECT_EQ(verifier.progress().next, 5U);
}

// It is said with the name of the file; what is in it is not known.
TEST_F(WalVerify, ASegmentThatCannotBeReadIsNamed) {
  std::string content = rig_.disk.Content(Segment(2));
  content[3] ^= 1;
  rig_.disk.SetContent(Segment(2), content);
  rig_.disk.FailReadsAt(Segment(3), 100, 200, -EIO);
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Begin(1, 4);
  verifier.Work();
  const std::vector<Verifier::Damage> found = verifier.Take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].problem, Segment(2) + ": the header is damaged");
  EXPECT_EQ(found[1].problem.find(Segment(3) + ": read " + Segment(3)), 0U) << found[1].problem;
  for (const Verifier::Damage& damage : found) EXPECT_EQ(damage.end, 0U);
  EXPECT_EQ(verifier.progress().next, 5U);
}

TEST_F(WalVerify, WithoutADescriptorASegmentIsNotReadAndNamed) {
  for (std::uint64_t call = 0; call < 4; ++call) {
    rig_.disk.FailOpens(call + 1, EMFILE, 1);
    Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
    verifier.SetPace(1);
    verifier.Begin(1, 2);
    verifier.Work();
    const std::vector<Verifier::Damage> found = verifier.Take();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].end, 0U) << "nothing is known of what is in it";
    EXPECT_NE(found[0].problem.find("Too many open files"), std::string::npos);
    EXPECT_EQ(verifier.progress().next, 3U);
  }
}

// Zeros in the middle, and a wrong bit in the last record.
TEST_F(WalVerify, ADamagedStretchEndsAtTheNextMarkOrWithTheFile) {
  std::string content = rig_.disk.Content(Segment(2));
  const std::size_t body = content.find(std::string(300, 'b'));
  content.replace(body - 40, 340, 340, '\0');
  const std::size_t last = content.rfind("bbb");
  content[last] ^= 1;
  rig_.disk.SetContent(Segment(2), content);
  Verifier verifier(rig_.disk, Rig::kDirectory, false, [] {});
  verifier.SetPace(1);
  verifier.Begin(2, 2);
  verifier.Work();
  const std::vector<Verifier::Damage> found = verifier.Take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_LT(found[0].offset, body);
  EXPECT_GT(found[0].end, body + 300 - 1);
  EXPECT_LT(found[0].end, last - 300);
  EXPECT_LT(found[1].offset, last);
  EXPECT_EQ(found[1].end, content.size());
}

TEST_F(WalVerify, DamageOfASegmentThatHasLeftMeanwhileIsNotCounted) {
  Damage(1);
  rig_.journal->Verify(1);
  rig_.journal->Tick(kSecond);
  rig_.journal->Flush(0);
  while (!rig_.model->state().jobs.empty()) {
    rig_.model->Delete(*rig_.journal, rig_.model->state().jobs.begin()->first);
  }
  rig_.journal->Flush(0);
  ASSERT_GT(rig_.journal->Segments().oldest, 1U);
  rig_.journal->OnNotify();
  EXPECT_EQ(rig_.journal->Verified().damaged, 0U);
}

// What a thread that reads tells.
class Heard {
 public:
  void Notify() {
    const std::lock_guard lock(mutex_);
    ++times_;
    changed_.notify_all();
  }
  bool WaitFor(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return times_ >= times; });
  }
  int times() {
    const std::lock_guard lock(mutex_);
    return times_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int times_ = 0;
};

TEST_F(WalVerify, AThreadReadsThemAndTellsOfEach) {
  Damage(2);
  Heard heard;
  Verifier verifier(rig_.disk, Rig::kDirectory, true, [&heard] { heard.Notify(); });
  verifier.SetPace(1 << 30);
  verifier.Begin(1, 4);
  ASSERT_TRUE(heard.WaitFor(4));
  EXPECT_EQ(verifier.progress().next, 5U);
  EXPECT_EQ(verifier.Take().size(), 1U);
  verifier.Begin(2, 3);
  ASSERT_TRUE(heard.WaitFor(6));
  EXPECT_EQ(verifier.Take().size(), 1U);
}

TEST_F(WalVerify, WhatLeavesTheLogWhileItIsReadIsPassedOver) {
  Damage(2);
  Damage(3);
  Heard heard;
  Verifier verifier(rig_.disk, Rig::kDirectory, true, [&heard] { heard.Notify(); });
  verifier.SetPace(1 << 30);
  rig_.disk.HoldReads();
  const std::uint64_t before = rig_.disk.reads();
  verifier.Begin(2, 3);
  while (rig_.disk.reads() == before) std::this_thread::yield();
  verifier.Release(3);
  rig_.disk.LetReadsGo();
  ASSERT_TRUE(heard.WaitFor(1));
  const std::vector<Verifier::Damage> found = verifier.Take();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].segment, 3U);
}

TEST_F(WalVerify, AStopWaitsForNoPace) {
  Heard heard;
  {
    Verifier verifier(rig_.disk, Rig::kDirectory, true, [&heard] { heard.Notify(); });
    verifier.SetPace(1);
    verifier.Begin(1, 4);
    while (verifier.progress().bytes == 0) std::this_thread::yield();
  }
  EXPECT_EQ(heard.times(), 0) << "it rested a second after the first piece";
}

}  // namespace
}  // namespace gearstalk
