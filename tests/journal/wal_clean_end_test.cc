// After a clean stop nothing at the end of the log can pass as a write that was not finished.

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "broker/journal/wal/state_file.h"
#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_recovery.h"
#include "broker/journal/wal/wal_salvage.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

using Loss = FaultyFileSystem::Loss;
using Image = std::map<std::string, std::string>;

class WalCleanEnd : public testing::Test {
 protected:
  // Three starts with jobs, all of them ended in order.
  void SetUp() override {
    for (int start = 0; start < 3; ++start) {
      ASSERT_TRUE(rig_.Start().ok());
      for (int i = 0; i < 20; ++i) {
        rig_.model->Put(*rig_.journal, "t", std::string(50, static_cast<char>('a' + i)));
        rig_.Flush();
      }
      rig_.model->TakeId(*rig_.journal);
      ASSERT_TRUE(rig_.journal->Close().ok());
    }
    rig_.journal.reset();
    before_ = rig_.model->state();
    image_ = rig_.disk.Image();
    WalRecovery recovery(rig_.disk, Rig::kDirectory);
    ASSERT_TRUE(recovery.Run([](const Record&, std::size_t) { return Status(); }).ok());
    ASSERT_TRUE(recovery.ended());
    newest_ = recovery.segments().back().path;
    oldest_ = recovery.segments().front().path;
    used_ = recovery.used();
  }

  // A start refuses and names the file; so do the check and, with ids that are new, the salvage.
  void ExpectDamage(const Image& damaged, const std::string& named) {
    rig_.disk.SetImage(damaged);
    const Status started = rig_.Start();
    rig_.journal.reset();
    ASSERT_EQ(started.code(), Code::kCorrupt);
    EXPECT_NE(started.message().find(named), std::string::npos) << started.message();
    EXPECT_NE(started.message().find("at offset"), std::string::npos) << started.message();
    EXPECT_NE(started.message().find("--journal-salvage"), std::string::npos);
    std::string report;
    EXPECT_EQ(CheckJournal(rig_.disk, Rig::kDirectory, report).code(), Code::kCorrupt);
    EXPECT_NE(report.find("damaged: "), std::string::npos) << report;
    EXPECT_TRUE(rig_.disk.Image() == damaged);
    report.clear();
    const Status salvaged =
        SalvageJournal(rig_.disk, Rig::kDirectory, report, rig_.options.segment_size);
    ASSERT_TRUE(salvaged.ok()) << salvaged.message();
    EXPECT_EQ(report.find("nothing was lost"), std::string::npos) << report;
    const Status again = rig_.Start();
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_GE(rig_.model->state().next_id, before_.next_id);
    for (const auto& [id, job] : rig_.model->state().jobs) EXPECT_EQ(job, before_.jobs.at(id));
    rig_.journal.reset();
  }

  Image Without(const std::string& path) const {
    Image image = image_;
    image.erase(path);
    return image;
  }

  Rig rig_;
  Model::State before_;
  Image image_;
  std::string newest_, oldest_;
  std::uint64_t used_ = 0;
};

TEST_F(WalCleanEnd, IsReadBack) {
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state(), before_);
  EXPECT_EQ(rig_.journal->torn(), "");
  std::string report;
  rig_.journal.reset();
  rig_.disk.SetImage(image_);
  ASSERT_TRUE(CheckJournal(rig_.disk, Rig::kDirectory, report).ok());
  EXPECT_NE(report.find("the log ended in order\n"), std::string::npos) << report;
}

TEST_F(WalCleanEnd, NewestSegmentCutAtAnyByte) {
  for (std::uint64_t size = 0; size < used_; size += size % 7 + 5) {
    SCOPED_TRACE(size);
    Image image = image_;
    image[newest_].resize(size);
    ExpectDamage(image, newest_);
    if (HasFatalFailure()) return;
  }
}

// Behind it lies the next segment, which is empty.
TEST_F(WalCleanEnd, CheckNamesTheSegmentWhoseEndIsMissing) {
  Image image = image_;
  ASSERT_TRUE(image.contains("/data/" + SegmentName(SegmentNumber(newest_.substr(6)) + 1)));
  std::string& bytes = image[newest_];
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(used_ - 2 * kMarkSize),
            bytes.begin() + static_cast<std::ptrdiff_t>(used_), '\0');
  rig_.disk.SetImage(image);
  std::string report;
  EXPECT_EQ(CheckJournal(rig_.disk, Rig::kDirectory, report).code(), Code::kCorrupt);
  EXPECT_NE(report.find("damaged: " + newest_ + " at offset"), std::string::npos) << report;
}

TEST_F(WalCleanEnd, NewestSegmentRemoved) {
  ExpectDamage(Without(newest_), newest_);
  Image image = Without(newest_);
  image.erase("/data/" + SegmentName(SegmentNumber(newest_.substr(6)) + 1));
  ExpectDamage(image, newest_);
}

TEST_F(WalCleanEnd, AllSegmentsRemoved) {
  Image image;
  for (const auto& [name, content] : image_) {
    if (!name.ends_with(".wal")) image[name] = content;
  }
  ExpectDamage(image, newest_);
  EXPECT_TRUE(rig_.model->state().jobs.empty());
}

TEST_F(WalCleanEnd, BytesInsertedOrDeleted) {
  for (std::uint64_t at = kSegmentHeaderSize; at < used_; at += 41) {
    SCOPED_TRACE(at);
    Image inserted = image_;
    inserted[newest_].insert(at, "x");
    ExpectDamage(inserted, newest_);
    Image deleted = image_;
    deleted[newest_].erase(at, 1);
    ExpectDamage(deleted, newest_);
    if (HasFatalFailure()) return;
  }
}

TEST_F(WalCleanEnd, LastBlockZeroed) {
  for (const std::uint64_t block : {16, 64, 512}) {
    SCOPED_TRACE(block);
    Image image = image_;
    const std::uint64_t from = std::max(kSegmentHeaderSize, used_ / block * block);
    ASSERT_LT(from, used_);
    image[newest_].replace(from, used_ - from, used_ - from, '\0');
    ExpectDamage(image, newest_);
  }
}

TEST_F(WalCleanEnd, RubbishBehindTheEnd) {
  Image image = image_;
  image[newest_].replace(used_, kEndSize, kEndSize, 'x');
  ExpectDamage(image, newest_);
}

TEST_F(WalCleanEnd, OldestSegmentWithoutAReadableMark) {
  Image image = image_;
  image[oldest_].resize(kSegmentHeaderSize);
  ExpectDamage(image, oldest_);
  EXPECT_LT(rig_.model->state().jobs.size(), before_.jobs.size());
}

TEST_F(WalCleanEnd, DamagedStateIsNamed) {
  Image image = image_;
  image["/data/state"][20] ^= 1;
  ExpectDamage(image, "/data/state");
  EXPECT_EQ(rig_.model->state().jobs, before_.jobs);
}

// Nothing says then that it was a clean stop, but what is there is read.
TEST_F(WalCleanEnd, MissingStateIsThatOfAnEarlierVersion) {
  rig_.disk.SetImage(Without("/data/state"));
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state(), before_);
}

// The process dies at any call of the stop or of the next start: no damage is seen where none is.
TEST_F(WalCleanEnd, InterruptedStopAndStart) {
  for (const Loss loss : {Loss::kNone, Loss::kAll, Loss::kSome}) {
    bool done = false;
    for (std::uint64_t call = 1; !done; ++call) {
      rig_.journal.reset();
      rig_.disk.SetImage(image_);
      rig_.disk.StopAt(rig_.disk.calls() + call);
      done = rig_.Start().ok() && rig_.journal->Close().ok();
      rig_.journal.reset();
      rig_.disk.Restart(loss, static_cast<std::uint32_t>(call));
      const Status started = rig_.Start();
      ASSERT_TRUE(started.ok()) << call << ": " << started.message();
      ASSERT_TRUE(SameJobs(rig_.model->state(), before_)) << call;
      ASSERT_GE(rig_.model->state().next_id, before_.next_id) << call;
    }
  }
}

// What was given out behind the last record that can be read is not given out again.
TEST_F(WalCleanEnd, IdsOfALostNewestSegmentAfterACrash) {
  ASSERT_TRUE(rig_.Start().ok());
  for (int i = 0; i < 5; ++i) rig_.model->Put(*rig_.journal, "t", "x");
  rig_.Flush();
  const std::uint64_t next_id = rig_.model->state().next_id;
  const std::string newest = "/data/" + SegmentName(rig_.journal->Segments().current);
  rig_.journal.reset();
  Image image = rig_.disk.Image();
  ASSERT_EQ(image.erase(newest), 1U);
  before_.next_id = next_id;
  ExpectDamage(image, newest);
}

TEST_F(WalCleanEnd, SpareIdsOfAFailedDiskAreOfOneStart) {
  std::set<std::uint64_t> seen;
  for (int start = 0; start < 4; ++start) {
    ASSERT_TRUE(rig_.Start().ok());
    EXPECT_EQ(rig_.journal->SpareIds(), 0U);
    rig_.disk.FailAt(rig_.disk.calls() + 1, EIO, 1'000'000);
    rig_.model->Put(*rig_.journal, "t", "x");
    rig_.Flush();
    EXPECT_GE(rig_.journal->SpareIds(), kFirstSpareId);
    EXPECT_TRUE(seen.insert(rig_.journal->SpareIds()).second);
    rig_.journal.reset();
    rig_.disk.Restart(Loss::kAll);
  }
}

// A start that had no space to say that it has begun gives out none of them.
TEST_F(WalCleanEnd, SpareIdsOfAStartThatIsNotRecordedAreNotGivenOut) {
  const auto ids_of_failure = [this] {
    rig_.disk.FailAt(rig_.disk.calls() + 1, EIO, 1'000'000);
    rig_.model->Put(*rig_.journal, "t", "x");
    rig_.Flush();
    return rig_.journal->SpareIds();
  };
  int without = 0;
  bool reached = true;
  for (std::uint64_t call = 1; reached; ++call) {
    rig_.journal.reset();
    rig_.disk.SetImage(image_);
    const std::uint64_t at = rig_.disk.calls() + call;
    rig_.disk.FailAt(at, ENOSPC, 2);
    const bool started = rig_.Start().ok();
    reached = rig_.disk.calls() >= at;
    const std::uint64_t ids = started ? ids_of_failure() : 0;
    without += started && ids == 0 ? 1 : 0;
    rig_.journal.reset();
    rig_.disk.Restart(Loss::kAll);
    ASSERT_TRUE(rig_.Start().ok()) << call;
    const std::uint64_t next = ids_of_failure();
    EXPECT_GE(next, kFirstSpareId);
    EXPECT_NE(next, ids) << call;
  }
  EXPECT_GT(without, 0);
}

TEST_F(WalCleanEnd, IdsThatRiseFarInOneSegmentAreKept) {
  ASSERT_TRUE(rig_.Start().ok());
  Record taken;
  taken.kind = Record::Kind::kNextId;
  taken.id = 1'000'000;
  rig_.journal->Append(taken);
  rig_.Flush();
  JournalState kept;
  ASSERT_TRUE(DecodeState(rig_.disk.Content("/data/state"), kept).ok());
  EXPECT_GT(kept.next_id, 1'000'000U);
  EXPECT_FALSE(kept.ended);
  // As if nothing of the segment had come to the disk.
  rig_.journal.reset();
  Image image = image_;
  image["/data/state"] = rig_.disk.Content("/data/state");
  rig_.disk.SetImage(image);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs, before_.jobs);
  EXPECT_GE(rig_.model->state().next_id, 1'000'000U);
}

TEST_F(WalCleanEnd, SegmentsThatWerePreparedWithAnotherSizeAreRemoved) {
  const std::uint64_t next = SegmentNumber(newest_.substr(6)) + 1;
  for (const std::size_t size : {2048, 4096}) {
    Image image = image_;
    for (const std::uint64_t number : {next, next + 1}) {
      std::string& content = image["/data/" + SegmentName(number)];
      content.assign(size, '\0');
      EncodeSegmentHeader({kWalVersion, number, 7}, content.data());
    }
    rig_.journal.reset();
    rig_.disk.SetImage(image);
    ASSERT_TRUE(rig_.Start().ok());
    EXPECT_EQ(rig_.model->state(), before_);
    EXPECT_NE(rig_.disk.Content("/data/" + SegmentName(next + 1)).size(), 4096U);
    for (int i = 0; i < 30; ++i) {
      rig_.model->Put(*rig_.journal, "t", std::string(100, 'x'));
      rig_.Flush();
    }
    EXPECT_TRUE(SurvivesRestart(rig_));
  }
}

// Another record follows the one that it names as the last.
TEST_F(WalCleanEnd, AStateThatEndsBeforeTheLogDoesIsNoEnd) {
  JournalState state;
  ASSERT_TRUE(DecodeState(image_.at("/data/state"), state).ok());
  ASSERT_TRUE(state.ended);
  --state.lsn;
  Image image = image_;
  EncodeState(state, image["/data/state"].data());
  rig_.disk.SetImage(image);
  std::string report;
  EXPECT_TRUE(CheckJournal(rig_.disk, Rig::kDirectory, report).ok());
  EXPECT_EQ(report.find("ended in order"), std::string::npos) << report;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state(), before_);
}

}  // namespace
}  // namespace gearstalk
