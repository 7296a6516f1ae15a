// The disk holds less than three times what is live, and two segments, whatever is done.

#include <gtest/gtest.h>

#include <random>

#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kSegment = 32 * 1024;

class WalCompaction : public testing::Test {
 protected:
  void SetUp() override {
    rig_.options.segment_size = kSegment;
    ASSERT_TRUE(rig_.Start().ok());
  }

  // The bytes of tubes, keys and bodies; what the journal adds to each of them is its own affair,
  // and small beside the bodies of these tests.
  std::uint64_t LiveBytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [id, job] : rig_.model->state().jobs)
      bytes += job.tube.size() + job.body.size();
    return bytes;
  }

  void Flush() {
    rig_.Flush();
    // What one Flush may carry is limited; what it leaves is done by those that follow at once.
    for (int i = 0; i < 4; ++i) rig_.Flush();
    const std::uint64_t bound = 3 * LiveBytes() + 2 * kSegment + kStateSize;
    ASSERT_LE(rig_.disk.UsedBytes(), bound) << rig_.model->state().jobs.size() << " jobs";
  }

  void Put(std::size_t size) { rig_.model->Put(*rig_.journal, "t", std::string(size, 'x')); }
  void Delete(std::uint64_t id) { rig_.model->Delete(*rig_.journal, id); }
  std::uint64_t Some(std::mt19937& lot) const {
    const auto& jobs = rig_.model->state().jobs;
    return std::next(jobs.begin(), static_cast<std::ptrdiff_t>(lot() % jobs.size()))->first;
  }

  void ExpectSameAfterRestart() {
    Flush();
    const Model::State before = rig_.model->state();
    ASSERT_TRUE(rig_.Start().ok());
    EXPECT_TRUE(rig_.model->state() == before);
  }

  Rig rig_;
};

TEST_F(WalCompaction, FirstInFirstOut) {
  for (int i = 0; i < 3000; ++i) {
    Put(1000);
    if (i >= 100) Delete(static_cast<std::uint64_t>(i - 99));
    Flush();
    if (HasFatalFailure()) return;
  }
  ExpectSameAfterRestart();
}

// Otherwise each segment would be full of them, and the next one begin at once.
TEST_F(WalCompaction, SettingsLongerThanASegment) {
  for (int i = 0; i < 1000; ++i) {
    rig_.model->Set(*rig_.journal, std::string(100, 't') + std::to_string(i), {.pause_until = 1});
  }
  for (int i = 1; i <= 1000; ++i) {
    Put(1000);
    Delete(static_cast<std::uint64_t>(i));
    rig_.Flush();
  }
  EXPECT_LT(rig_.journal->Segments().current, 40U);
  EXPECT_LT(rig_.journal->Segments().count, 5U);
  EXPECT_TRUE(SurvivesRestart(rig_));
}

TEST_F(WalCompaction, RandomDeletionsDownToNothing) {
  std::mt19937 lot(1);
  for (int i = 0; i < 1000; ++i) {
    Put(1000);
    Flush();
  }
  while (!rig_.model->state().jobs.empty()) {
    Delete(Some(lot));
    Flush();
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(rig_.disk.UsedBytes(), 2 * kSegment + kStateSize);
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, AllGoesAtOnce) {
  for (int i = 0; i < 1000; ++i) Put(1000);
  Flush();
  while (!rig_.model->state().jobs.empty()) Delete(rig_.model->state().jobs.begin()->first);
  Flush();
  EXPECT_LE(rig_.disk.UsedBytes(), 2 * kSegment + kStateSize);
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, ReleasedWithDelayOverAndOver) {
  for (int i = 0; i < 100; ++i) Put(1000);
  Flush();
  for (int i = 0; i < 20'000; ++i) {
    rig_.model->Release(*rig_.journal, 1 + static_cast<std::uint64_t>(i) % 3, 7, i * kSecond);
    if (i % 8 == 0) Flush();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(rig_.journal->Segments().migrated, 300U);
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, SettingsOverAndOver) {
  for (int i = 0; i < 20'000; ++i) {
    rig_.model->Set(*rig_.journal, std::string(1, static_cast<char>('a' + i % 10)),
                    {true, {i, 0, 0}, i, 1});
    if (i % 8 == 0) Flush();
    if (HasFatalFailure()) return;
  }
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, OldJobsStayWhileNewOnesComeAndGo) {
  for (int i = 0; i < 300; ++i) Put(1000);
  for (int i = 0; i < 5000; ++i) {
    Put(500);
    Delete(rig_.model->state().next_id - 1);
    Flush();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(rig_.model->state().jobs.size(), 300U);
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, AnySizes) {
  std::mt19937 lot(2);
  const std::size_t sizes[] = {200, 3000, kSegment / 2 + 1, kSegment - 200, 3 * kSegment};
  for (int i = 0; i < 3000; ++i) {
    const bool grows = i / 500 % 2 == 0;
    if (rig_.model->state().jobs.empty() || lot() % 10 < (grows ? 7U : 3U)) {
      Put(sizes[lot() % 5]);
    } else {
      Delete(Some(lot));
    }
    Flush();
    if (HasFatalFailure()) return;
  }
  ExpectSameAfterRestart();
}

TEST_F(WalCompaction, WithRestarts) {
  std::mt19937 lot(3);
  for (int i = 0; i < 1000; ++i) {
    Put(1000);
    if (i > 50) Delete(Some(lot));
    Flush();
    if (i % 10 == 0) ExpectSameAfterRestart();
    Flush();
    if (HasFailure()) return;
  }
}

TEST_F(WalCompaction, FilesAreUsedAgain) {
  for (int i = 0; i < 2000; ++i) {
    Put(1000);
    Delete(rig_.model->state().next_id - 1);
    Flush();
  }
  EXPECT_GT(rig_.journal->Segments().current, 50U);
  // A recycled file is never filled with zeros: the disk sees the records and little else.
  EXPECT_LT(rig_.disk.written_bytes(),
            rig_.journal->Stats().appended_bytes * 11 / 10 + 3 * kSegment);
}

}  // namespace
}  // namespace gearstalk
