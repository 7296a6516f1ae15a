// Calls to the disk fail.

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "broker/base/log.h"
#include "tests/journal/rig.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

using Kind = Record::Kind;
using Loss = FaultyFileSystem::Loss;

constexpr int kRounds = 60;

std::vector<std::string> warnings;

// What a journal logs as warnings when it starts.
std::vector<std::string> WarningsOfAStart(Rig& rig) {
  warnings.clear();
  SetLogSink([](LogLevel /*level*/, LogCause /*cause*/, std::string_view event,
                std::span<const LogField> /*fields*/) { warnings.emplace_back(event); },
             LogLevel::kWarning);
  EXPECT_TRUE(rig.Start().ok());
  SetLogSink(nullptr, LogLevel::kOff);
  return warnings;
}

// One job after the other, until the disk is full.
void FillUp(Rig& rig, std::size_t body) {
  while (rig.journal->Accepts(Kind::kPut)) {
    rig.model->Put(*rig.journal, "t", std::string(body, 'x'));
    rig.Flush();
  }
}

std::uint64_t CallsOfARun() {
  Rig rig;
  EXPECT_TRUE(rig.Start().ok());
  Script script(rig);
  script.Begin();
  script.Run(kRounds);
  return rig.disk.calls();
}

// Each call in turn fails; nothing that was acknowledged before or after may be lost, whatever
// then happens to the machine.
void ExpectNothingLost(int error, std::uint64_t times) {
  const std::uint64_t calls = CallsOfARun();
  for (std::uint64_t call = 1; call <= calls; ++call) {
    for (const Loss loss : {Loss::kNone, Loss::kAll, Loss::kSome}) {
      Rig rig;
      Script script(rig);
      rig.disk.FailAt(call, error, times);
      const bool started = rig.Start().ok();
      if (started) {
        script.Begin();
        script.Run(kRounds);
        if (rig.journal->Health().ok()) {
          ASSERT_EQ(script.acknowledged() + 1, script.changes()) << call;
        }
      }
      rig.journal.reset();
      rig.disk.Restart(loss, static_cast<std::uint32_t>(call));
      const Status again = rig.Start();
      ASSERT_TRUE(again.ok()) << call << ": " << again.message();
      if (started) {
        ASSERT_TRUE(script.Explains(rig.model->state())) << call;
      }
    }
  }
}

TEST(WalFailure, OneInputOutputError) { ExpectNothingLost(EIO, 1); }
TEST(WalFailure, InputOutputErrorsFromThereOn) { ExpectNothingLost(EIO, 1'000'000); }
TEST(WalFailure, ReadOnlyFromThereOn) { ExpectNothingLost(EROFS, 1'000'000); }
TEST(WalFailure, NoSpaceOnce) { ExpectNothingLost(ENOSPC, 1); }
TEST(WalFailure, NoSpaceForTenCalls) { ExpectNothingLost(ENOSPC, 10); }
TEST(WalFailure, NoSpaceFromThereOn) { ExpectNothingLost(ENOSPC, 1'000'000); }
TEST(WalFailure, NoQuotaForTenCalls) { ExpectNothingLost(EDQUOT, 10); }
TEST(WalFailure, NotSupportedOnce) { ExpectNothingLost(EOPNOTSUPP, 1); }
TEST(WalFailure, Interrupted) { ExpectNothingLost(EINTR, 1); }
TEST(WalFailure, NoMemoryForTenCalls) { ExpectNothingLost(ENOMEM, 10); }

TEST(WalFailure, ShortWrites) {
  for (const std::size_t most : {1, 7, 100}) {
    Rig rig;
    rig.disk.LimitWrites(most);
    ASSERT_TRUE(rig.Start().ok());
    Script script(rig);
    script.Begin();
    script.Run(kRounds);
    EXPECT_EQ(script.acknowledged() + 1, script.changes());
    EXPECT_TRUE(SurvivesRestart(rig));
  }
}

TEST(WalFailure, SaysOnceThatNothingMoreGetsToTheDisk) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  std::vector<bool> stuck;
  rig.journal->SetOnStuck([&stuck](bool for_good) { stuck.push_back(for_good); });
  rig.disk.FailAt(rig.disk.calls() + 1, EIO, 1'000'000);
  for (int i = 0; i < 5; ++i) {
    rig.model->Put(*rig.journal, "t", "x");
    rig.Flush();
  }
  EXPECT_EQ(stuck, std::vector<bool>{true});
}

TEST(WalFailure, SaysThatWhatWasTakenWaitsForSpace) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  std::vector<bool> stuck;
  rig.journal->SetOnStuck([&stuck](bool for_good) { stuck.push_back(for_good); });
  rig.disk.FailAt(rig.disk.calls() + 1, ENOSPC, 100);
  const Lsn put = rig.model->Put(*rig.journal, "t", "x");
  for (int i = 0; i < 5; ++i) rig.Flush();
  EXPECT_EQ(stuck, std::vector<bool>{false});
  EXPECT_LT(rig.journal->Durable(), put);
  EXPECT_FALSE(rig.journal->Accepts(Record::Kind::kDelete));
  for (int i = 0; i < 200; ++i) {
    rig.disk.Advance(kSecond);
    rig.Flush();
  }
  EXPECT_GE(rig.journal->Durable(), put) << rig.journal->Health().message();
  EXPECT_EQ(stuck, std::vector<bool>{false});
  EXPECT_TRUE(rig.journal->Accepts(Record::Kind::kPut));
}

TEST(WalFailure, AfterAFailedSyncNothingIsAcknowledged) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const Lsn before = rig.journal->Durable();
  rig.disk.FailAt(rig.disk.calls() + 2, EIO);  // the write, then the sync
  rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  EXPECT_NE(rig.journal->Health().message().find("fdatasync"), std::string::npos)
      << rig.journal->Health().message();
  for (int i = 0; i < 5; ++i) {
    rig.model->Put(*rig.journal, "t", "y");
    rig.Flush();
  }
  EXPECT_EQ(rig.journal->Durable(), before);
  EXPECT_EQ(rig.journal->WaitingBytes(), 0U);
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kDelete, Kind::kTube, Kind::kNextId}) {
    EXPECT_FALSE(rig.journal->Accepts(kind));
  }
  EXPECT_FALSE(rig.journal->Close().ok());
}

// A sync that fails for lack of space is as unknown as any.
TEST(WalFailure, NoSpaceInASyncIsForGood) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  rig.disk.FailAt(rig.disk.calls() + 2, ENOSPC);
  rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  rig.disk.Advance(10 * kSecond);
  rig.Settle();
  EXPECT_FALSE(rig.journal->Health().ok());
  EXPECT_FALSE(rig.journal->Accepts(Kind::kDelete));
}

// A failed sync leaves what it did not write in memory, where it can be read after a restart; a
// power cut after that must not find it missing.
TEST(WalFailure, WhatAFailedSyncLeftIsMadeSafeByARestart) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  rig.disk.FailAt(rig.disk.calls() + 2, EIO);
  rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  ASSERT_TRUE(rig.Restart(Loss::kNone).ok());
  const Model::State read = rig.model->state();
  EXPECT_EQ(read.jobs.size(), 1U);
  ASSERT_TRUE(rig.Restart(Loss::kAll).ok());
  EXPECT_EQ(rig.model->state(), read);
}

// A full disk refuses puts, takes deletions, and takes puts again when those made space.
TEST(WalFailure, FullDiskIsDrainedByDeleting) {
  Rig rig;
  rig.options.segment_size = 64 * 1024;
  rig.disk.SetCapacity(10 * 64 * 1024);
  ASSERT_TRUE(rig.Start().ok());
  const auto fill = [&rig] {
    int puts = 0;
    for (; rig.journal->Accepts(Kind::kPut) && puts < 10'000; ++puts) {
      rig.model->Put(*rig.journal, "t", std::string(1000, 'x'));
      rig.Flush();
    }
    return puts;
  };
  const int filled = fill();
  ASSERT_GT(filled, 400);
  ASSERT_LT(filled, 640);
  EXPECT_NE(rig.journal->Health().message().find("No space"), std::string::npos);
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kTube}) {
    EXPECT_FALSE(rig.journal->Accepts(kind));
  }
  while (!rig.model->state().jobs.empty()) {
    ASSERT_TRUE(rig.journal->Accepts(Kind::kDelete)) << rig.model->state().jobs.size();
    const Lsn lsn = rig.model->Delete(*rig.journal, rig.model->state().jobs.begin()->first);
    rig.Flush();
    ASSERT_GE(rig.journal->Durable(), lsn);
  }
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_TRUE(rig.journal->Health().ok()) << rig.journal->Health().message();
  EXPECT_GT(fill(), 300);
  EXPECT_TRUE(SurvivesRestart(rig));
}

// The same with every tenth job left, and a restart while the disk is full.
TEST(WalFailure, FullDiskSurvivesARestart) {
  Rig rig;
  rig.options.segment_size = 64 * 1024;
  rig.disk.SetCapacity(10 * 64 * 1024);
  ASSERT_TRUE(rig.Start().ok());
  FillUp(rig, 300);
  EXPECT_TRUE(SurvivesRestart(rig));
  const std::uint64_t next_id = rig.model->state().next_id;
  for (std::uint64_t id = 1; id < next_id; ++id) {
    if (id % 10 == 0) continue;
    ASSERT_TRUE(rig.journal->Accepts(Kind::kDelete)) << id;
    rig.model->Delete(*rig.journal, id);
    rig.Flush();
  }
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_TRUE(rig.journal->Accepts(Kind::kPut)) << rig.journal->Health().message();
  EXPECT_TRUE(SurvivesRestart(rig));
}

// Blocks that were allocated before are of no use where every write takes new ones.
TEST(WalFailure, WhereWritesTakeNewBlocksAFullDiskRefusesDeletionsAndLosesNothing) {
  Rig rig;
  rig.disk.CopyOnWrite(false);
  ASSERT_TRUE(rig.Start().ok());
  for (int i = 0; i < 20; ++i) rig.model->Put(*rig.journal, "t", "x");
  rig.Settle();
  const Model::State acknowledged = rig.model->state();

  rig.disk.CopyOnWrite(true);
  const Lsn lsn = rig.model->Delete(*rig.journal, acknowledged.jobs.begin()->first);
  rig.Flush();
  EXPECT_LT(rig.journal->Durable(), lsn);
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kDelete}) {
    EXPECT_FALSE(rig.journal->Accepts(kind));
  }
  EXPECT_NE(rig.journal->Health().message().find("No space"), std::string::npos);
  EXPECT_FALSE(rig.Restart(Loss::kAll).ok());
  rig.disk.CopyOnWrite(false);
  ASSERT_TRUE(rig.Restart(Loss::kAll).ok());
  EXPECT_TRUE(SameJobs(rig.model->state(), acknowledged));
}

TEST(WalFailure, WhereWritesTakeNewBlocksTheStartWarns) {
  Rig copies, overwrites;
  copies.disk.CopyOnWrite(false);
  const std::vector<std::string> told = WarningsOfAStart(copies);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("copies on write: when it is full, deletions may be refused"),
            std::string::npos);
  EXPECT_EQ(WarningsOfAStart(overwrites).size(), 0U);
}

TEST(WalFailure, WhereWritesTakeNewBlocksItGoesOnWhenThereAreSome) {
  Rig rig;
  rig.disk.CopyOnWrite(false);
  ASSERT_TRUE(rig.Start().ok());
  for (int i = 0; i < 20; ++i) rig.model->Put(*rig.journal, "t", "x");
  rig.Settle();
  rig.disk.CopyOnWrite(true);
  const Lsn lsn = rig.model->Delete(*rig.journal, rig.model->state().jobs.begin()->first);
  rig.Flush();
  ASSERT_LT(rig.journal->Durable(), lsn);
  rig.disk.CopyOnWrite(false);
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_TRUE(rig.journal->Accepts(Kind::kPut)) << rig.journal->Health().message();
  EXPECT_TRUE(SurvivesRestart(rig));
}

// A process without descriptors has no broken disk: what waits is written when there are some.
TEST(WalFailure, NoDescriptorPasses) {
  for (const int error : {EMFILE, ENFILE}) {
    const std::uint64_t calls = CallsOfARun();
    for (std::uint64_t call = 1; call <= calls; call += 3) {
      Rig rig;
      Script script(rig);
      ASSERT_TRUE(rig.Start().ok());
      script.Begin();
      script.Run(10);
      rig.disk.FailOpens(call, error, 40);
      script.Run(kRounds);
      rig.disk.Advance(10 * kSecond);
      rig.disk.FailOpens(0, 0, 0);
      rig.Settle();
      ASSERT_TRUE(rig.journal->Health().ok()) << rig.journal->Health().message();
      ASSERT_TRUE(rig.journal->Accepts(Kind::kPut));
      ASSERT_TRUE(SurvivesRestart(rig));
    }
  }
}

// What was prepared ahead needs no descriptor: neither does its name, nor what is kept of it.
TEST(WalFailure, WithoutDescriptorsThePreparedSegmentIsUsed) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const std::uint64_t before = rig.journal->Segments().current;
  rig.disk.FailOpens(0, EMFILE, 1'000'000);
  Lsn lsn = 0;
  while (rig.journal->Segments().current == before) {
    lsn = rig.model->Put(*rig.journal, "t", std::string(100, 'x'));
    rig.Flush();
    ASSERT_TRUE(rig.journal->Health().ok()) << rig.journal->Health().message();
  }
  EXPECT_GE(rig.journal->Durable(), lsn);
  rig.disk.FailOpens(0, 0, 0);
  EXPECT_TRUE(SurvivesRestart(rig));
}

// A job for which there is no space leaves the disk as it was.
TEST(WalFailure, OneLargeJobDoesNotFillTheDisk) {
  for (std::uint64_t size = 32; size < 400; size += 8) {
    Rig rig;
    rig.options.segment_size = 64 * 1024;
    rig.disk.SetCapacity(6 * 64 * 1024);
    ASSERT_TRUE(rig.Start().ok());
    rig.model->Put(*rig.journal, "t", "small");
    rig.Settle();
    if (rig.journal->HasRoomFor(size * 1024)) {
      const Lsn lsn = rig.model->Put(*rig.journal, "t", std::string(size * 1024, 'x'));
      rig.Flush();
      ASSERT_GE(rig.journal->Durable(), lsn) << size;
    } else {
      ASSERT_GT(size, 64U) << "there is space for that";
    }
    rig.Settle();
    ASSERT_TRUE(rig.journal->Accepts(Kind::kPut)) << size << rig.journal->Health().message();
    while (!rig.model->state().jobs.empty()) {
      ASSERT_TRUE(rig.journal->Accepts(Kind::kDelete)) << size;
      const Lsn lsn = rig.model->Delete(*rig.journal, rig.model->state().jobs.begin()->first);
      rig.Flush();
      ASSERT_GE(rig.journal->Durable(), lsn) << size;
    }
    rig.Settle();
    ASSERT_TRUE(rig.journal->HasRoomFor(64 * 1024)) << size;
    ASSERT_TRUE(SurvivesRestart(rig)) << size;
  }
}

// Nobody asked whether there is room: it waits, and what it took of the disk is given back.
TEST(WalFailure, ALargeJobThatDoesNotFitTakesNothing) {
  Rig rig;
  rig.options.segment_size = 64 * 1024;
  rig.disk.SetCapacity(6 * 64 * 1024);
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const std::uint64_t used = rig.disk.UsedBytes();
  const Lsn lsn = rig.model->Put(*rig.journal, "t", std::string(400 * 1024, 'x'));
  for (int i = 0; i < 20; ++i) {
    rig.Flush();
    rig.disk.Advance(kSecond);
  }
  EXPECT_LE(rig.disk.UsedBytes(), used);
  EXPECT_LT(rig.journal->Durable(), lsn);
  rig.disk.SetCapacity(20 * 64 * 1024);
  for (int i = 0; i < 20; ++i) {
    rig.disk.Advance(kSecond);
    rig.Flush();
  }
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_TRUE(rig.journal->Accepts(Kind::kPut));
  EXPECT_TRUE(SurvivesRestart(rig));
}

// Somebody else makes room.
TEST(WalFailure, GoesOnWhenSpaceIsBack) {
  Rig rig;
  rig.disk.SetCapacity(8 * 2048);
  ASSERT_TRUE(rig.Start().ok());
  FillUp(rig, 100);
  rig.disk.SetCapacity(100 * 2048);
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_TRUE(rig.journal->Health().ok()) << rig.journal->Health().message();
  EXPECT_TRUE(rig.journal->Accepts(Kind::kPut));
  const Lsn lsn = rig.model->Put(*rig.journal, "t", std::string(100, 'x'));
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), lsn);
}

// Ids that no record names are given out on a full disk, too; they are recorded when space is back.
TEST(WalFailure, IdsTakenOnAFullDiskAreNotReused) {
  Rig rig;
  rig.disk.SetCapacity(8 * 2048);
  ASSERT_TRUE(rig.Start().ok());
  FillUp(rig, 100);
  for (int i = 0; i < 500; ++i) {
    rig.model->TakeId(*rig.journal);
    rig.Flush();
  }
  const std::uint64_t next_id = rig.model->state().next_id;
  rig.disk.SetCapacity(100 * 2048);
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_TRUE(rig.journal->Health().ok());
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state().next_id, next_id);
}

// The disk has no space for a large job, and fails while what was taken for it is given back.
TEST(WalFailure, ADiskThatFailsAfterItWasFullKeepsWhatIsThere) {
  bool reached = true;
  for (std::uint64_t call = 1; reached; ++call) {
    Rig rig;
    rig.options.segment_size = 64 * 1024;
    rig.disk.SetCapacity(6 * 64 * 1024);
    ASSERT_TRUE(rig.Start().ok());
    rig.model->Put(*rig.journal, "t", "small");
    rig.Settle();
    const Model::State before = rig.model->state();
    const std::uint64_t at = rig.disk.calls() + call;
    rig.disk.FailAt(at, EIO);
    const Lsn lsn = rig.model->Put(*rig.journal, "t", std::string(400 * 1024, 'x'));
    rig.Flush();
    reached = rig.disk.calls() >= at;
    EXPECT_LT(rig.journal->Durable(), lsn);
    EXPECT_FALSE(rig.journal->Accepts(Kind::kPut));
    const Status started = rig.Restart(Loss::kAll);
    ASSERT_TRUE(started.ok()) << call << ": " << started.message();
    ASSERT_TRUE(SameJobs(rig.model->state(), before)) << call;
  }
}

TEST(WalFailure, AFullDiskIsTriedAgainAlsoWithoutDescriptors) {
  Rig rig;
  rig.options.segment_size = 64 * 1024;
  rig.disk.SetCapacity(6 * 64 * 1024);
  ASSERT_TRUE(rig.Start().ok());
  FillUp(rig, 1000);
  rig.disk.SetCapacity(60 * 64 * 1024);
  rig.disk.FailOpens(0, EMFILE, 1'000'000);
  for (int i = 0; i < 5; ++i) {
    rig.disk.Advance(kSecond);
    rig.Flush();
    EXPECT_FALSE(rig.journal->Accepts(Kind::kPut));
  }
  EXPECT_NE(rig.journal->Health().message().find("Too many open files"), std::string::npos)
      << rig.journal->Health().message();
  rig.disk.FailOpens(0, 0, 0);
  rig.disk.Advance(kSecond);
  rig.Settle();
  EXPECT_TRUE(rig.journal->Accepts(Kind::kPut)) << rig.journal->Health().message();
  EXPECT_TRUE(SurvivesRestart(rig));
}

// Whichever calls of a stop fail: what was acknowledged is there at the next start, and no id is
// given out again.
TEST(WalFailure, AStopThatFailsLosesNothing) {
  for (const int error : {EIO, ENOSPC, EMFILE}) {
    for (const std::uint64_t times : {1, 2, 100}) {
      bool reached = true;
      for (std::uint64_t call = 1; reached; ++call) {
        Rig rig;
        ASSERT_TRUE(rig.Start().ok());
        for (int i = 0; i < 10; ++i) {
          rig.model->Put(*rig.journal, "t", std::string(200, 'x'));
          rig.Flush();
        }
        rig.model->TakeId(*rig.journal);
        rig.Flush();
        const std::uint64_t at = rig.disk.calls() + call;
        rig.disk.FailAt(at, error, times);
        const Status closed = rig.journal->Close();
        reached = rig.disk.calls() >= at;
        if (!closed.ok()) {
          ASSERT_NE(closed.message().find("/data"), std::string::npos) << closed.message();
        }
        const Model::State before = rig.model->state();
        const Status started = rig.Restart(Loss::kAll);
        ASSERT_TRUE(started.ok()) << call << ": " << started.message();
        ASSERT_TRUE(SameJobs(rig.model->state(), before)) << call;
        ASSERT_GE(rig.model->state().next_id, before.next_id) << call;
      }
    }
  }
}

TEST(WalFailure, AStopOnAFullDiskKeepsWhatIsThere) {
  for (std::uint64_t room = 0; room < 300; room += 20) {
    Rig rig;
    rig.options.segment_size = 8 * 1024;
    rig.disk.SetCapacity(6 * 8 * 1024);
    ASSERT_TRUE(rig.Start().ok());
    FillUp(rig, 300);
    while (rig.journal->Accepts(Kind::kDelete) && rig.model->state().jobs.size() > room / 10) {
      rig.model->Delete(*rig.journal, rig.model->state().jobs.begin()->first);
      rig.journal->Flush(0);
      rig.journal->OnNotify();
    }
    const Model::State before = rig.model->state();
    if (const Status closed = rig.journal->Close(); !closed.ok()) {
      EXPECT_NE(closed.message().find("No space"), std::string::npos) << closed.message();
    }
    const Status started = rig.Restart(Loss::kAll);
    ASSERT_TRUE(started.ok()) << room << ": " << started.message();
    ASSERT_TRUE(SameJobs(rig.model->state(), before)) << room;
    ASSERT_GE(rig.model->state().next_id, before.next_id) << room;
  }
}

}  // namespace
}  // namespace gearstalk
