#include "broker/journal/wal/wal_journal.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <numeric>

#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

TEST(WalJournal, WhatWasPutIsThereAfterARestart) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "mail", "hello");
  const Lsn last = rig.model->Put(*rig.journal, "mail", "");
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), last);
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state(), before);
  EXPECT_EQ(rig.journal->torn(), "");
}

TEST(WalJournal, EveryFieldComesBack) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  Model::Job job;
  job.tube = std::string("\0\xFF\r\n", 4);
  job.unique = "-";
  job.reducer = "sum";
  job.body = std::string("\0\r\n\xFF", 4);
  job.state = Record::State::kBuried;
  job.keep_on_failure = job.unique_is_body = true;
  job.priority = UINT32_MAX;
  job.ttr_s = UINT32_MAX;
  job.delay_s = UINT32_MAX;
  job.due = 1'900'000'000 * kSecond;
  job.created = 1'800'000'000 * kSecond;
  job.burial = 7;
  job.counters = {1, 2, 3, 4, 5, UINT32_MAX};
  rig.model->Put(*rig.journal, job);
  rig.model->Set(*rig.journal, "t", {true, {1'000'000, -1, 7}, 1'900'000'000 * kSecond, 9});
  rig.Flush();
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state(), before);
}

TEST(WalJournal, NothingIsDurableBeforeFlush) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  const Lsn lsn = rig.model->Put(*rig.journal, "t", "x");
  rig.journal->OnNotify();
  EXPECT_LT(rig.journal->Durable(), lsn);
  EXPECT_GT(rig.journal->WaitingBytes(), 0U);
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_EQ(rig.journal->WaitingBytes(), 0U);
}

TEST(WalJournal, OneFlushIsOneSync) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const std::uint64_t before = rig.disk.syncs();
  for (int i = 0; i < 10; ++i) rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  EXPECT_EQ(rig.disk.syncs(), before + 1);
}

TEST(WalJournal, OnDurableHearsEveryStep) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  std::vector<Lsn> heard;
  rig.journal->SetOnDurable([&](Lsn lsn) { heard.push_back(lsn); });
  const Lsn first = rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  const Lsn second = rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  rig.Flush();
  EXPECT_EQ(heard, (std::vector<Lsn>{first, second}));
}

TEST(WalJournal, SecondBrokerCannotOpenTheDirectory) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  const auto second = WalJournal::Open(rig.options);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("in use"), std::string::npos);
}

TEST(WalJournal, IdsAreNotReusedAfterAnEmptyQueue) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  for (int i = 0; i < 200; ++i) {
    rig.model->Put(*rig.journal, "t", std::string(100, 'x'));
    rig.model->Delete(*rig.journal, rig.model->state().next_id - 1);
    rig.Flush();
  }
  rig.Settle();
  EXPECT_LE(rig.journal->Segments().count, 2U);
  for (int restart = 0; restart < 5; ++restart) {
    ASSERT_TRUE(rig.Start().ok());
    EXPECT_TRUE(rig.model->state().jobs.empty());
    EXPECT_EQ(rig.model->state().next_id, 201U);
    rig.Settle();
  }
}

TEST(WalJournal, IdsWithoutARecordAreNotReused) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->TakeId(*rig.journal);
  rig.Flush();
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state().next_id, 2U);
}

TEST(WalJournal, ClearedSettingsStayCleared) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Set(*rig.journal, "t", {true, {1, 2, 3}, 4, 5});
  for (int i = 0; i < 100; ++i) {
    rig.model->Put(*rig.journal, "t", std::string(100, 'x'));
    if (i == 50) rig.model->Set(*rig.journal, "t", {});
    rig.Flush();
    const Model::State before = rig.model->state();
    ASSERT_TRUE(rig.Start().ok());
    ASSERT_TRUE(SameJobs(rig.model->state(), before));
  }
}

TEST(WalJournal, BodyLargerThanASegment) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "before");
  rig.model->Put(*rig.journal, "t", std::string(100'000, 'x'));
  rig.model->Put(*rig.journal, "t", "after");
  rig.Flush();
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state(), before);
}

TEST(WalJournal, SettingsLargerThanASegment) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  for (int i = 0; i < 200; ++i) {
    rig.model->Set(*rig.journal, "tube" + std::to_string(i), {true, {i, i, i}, 0, 0});
    rig.Flush();
  }
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state(), before);
}

TEST(WalJournal, SyncsAtTheEndOfTheInterval) {
  Rig rig;
  rig.options.sync = Sync::kInterval;
  rig.options.interval = 100 * kMillisecond;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const std::uint64_t before = rig.disk.syncs();
  const Lsn lsn = rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_EQ(rig.disk.syncs(), before);
  rig.disk.Advance(100 * kMillisecond);
  rig.Flush();
  EXPECT_EQ(rig.disk.syncs(), before + 1);
  rig.disk.Advance(kSecond);
  rig.Flush();
  EXPECT_EQ(rig.disk.syncs(), before + 1);
}

TEST(WalJournal, OffLeavesSyncingToTheSystem) {
  Rig rig;
  rig.options.sync = Sync::kSystem;
  ASSERT_TRUE(rig.Start().ok());
  rig.Settle();
  const std::uint64_t before = rig.disk.syncs();
  const Lsn lsn = rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  rig.disk.Advance(3600 * kSecond);
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_EQ(rig.disk.syncs(), before);
}

TEST(WalJournal, CloseSyncsInEveryMode) {
  for (const Sync mode : {Sync::kAlways, Sync::kInterval, Sync::kSystem}) {
    Rig rig;
    rig.options.sync = mode;
    rig.options.interval = 3600 * kSecond;
    ASSERT_TRUE(rig.Start().ok());
    rig.model->Put(*rig.journal, "t", "x");
    const Model::State before = rig.model->state();
    EXPECT_TRUE(rig.journal->Close().ok());
    rig.journal.reset();
    rig.disk.Restart(FaultyFileSystem::Loss::kAll);
    ASSERT_TRUE(rig.Start().ok());
    EXPECT_EQ(rig.model->state(), before);
  }
}

TEST(WalJournal, CountsWhatItDoes) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  const JournalStats before = rig.journal->Stats();
  const std::uint64_t live_before = rig.journal->Segments().live_bytes;
  rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  const JournalStats after = rig.journal->Stats();
  const SegmentStats segments = rig.journal->Segments();
  EXPECT_EQ(after.appends, before.appends + 1);
  EXPECT_GT(after.appended_bytes, before.appended_bytes);
  EXPECT_EQ(after.batches, before.batches + 1);
  EXPECT_EQ(after.syncs, before.syncs + 1);
  EXPECT_GT(after.sync_times.sum_seconds(), before.sync_times.sum_seconds());
  EXPECT_EQ(std::accumulate(after.sync_times.counts().begin(), after.sync_times.counts().end(), 0U),
            after.syncs);
  EXPECT_EQ(segments.current, 1U);
  EXPECT_EQ(segments.size, 2048U);
  EXPECT_EQ(segments.stored_bytes + kStateSize, rig.disk.UsedBytes());
  EXPECT_GT(segments.live_bytes, live_before);
  EXPECT_FALSE(after.failed || after.full);
}

TEST(WalJournal, CountsWhatCompactionDoes) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "stays");
  for (int i = 0; i < 200; ++i) {
    const Lsn put = rig.model->Put(*rig.journal, "t", std::string(100, 'x'));
    rig.Flush();
    ASSERT_GE(rig.journal->Durable(), put);
    rig.model->Delete(*rig.journal, rig.model->state().jobs.rbegin()->first);
  }
  rig.Settle();
  const SegmentStats stats = rig.journal->Segments();
  EXPECT_GT(stats.migrated, 0U);
  EXPECT_GT(stats.migrated_bytes, stats.migrated * kFrameHeaderSize);
  EXPECT_EQ(stats.released, stats.oldest - 1);
  EXPECT_EQ(stats.count, stats.current - stats.oldest + 1);
}

TEST(WalJournal, StatsSayHowItFailed) {
  for (const int error : {ENOSPC, EIO}) {
    Rig rig;
    ASSERT_TRUE(rig.Start().ok());
    rig.disk.FailAt(rig.disk.calls() + 1, error, 1'000'000);
    while (rig.journal->Health().ok()) {
      rig.model->Put(*rig.journal, "t", std::string(300, 'x'));
      rig.Flush();
    }
    EXPECT_EQ(rig.journal->Stats().full, error == ENOSPC);
    EXPECT_EQ(rig.journal->Stats().failed, error == EIO);
  }
}

TEST(WalJournal, SlashesAtTheEndOfTheDirectoryDoNotMatter) {
  Rig rig;
  rig.options.directory = "/data///";
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "x");
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.journal->Close().ok());
  EXPECT_FALSE(rig.disk.Content("/data/" + SegmentName(1)).empty());
  rig.options.directory = "/data";
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_EQ(rig.model->state(), before);
}

TEST(WalJournal, ADirectoryWithoutASlashIsInTheCurrentOne) {
  Rig rig;
  rig.options.directory = "journal";
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "x");
  rig.Flush();
  const Model::State before = rig.model->state();
  ASSERT_TRUE(rig.Restart(FaultyFileSystem::Loss::kAll).ok());
  EXPECT_TRUE(SameJobs(rig.model->state(), before));
  for (const std::string& name : rig.disk.Names()) EXPECT_EQ(name.find("journal/"), 0U) << name;
}

TEST(WalJournal, ThereIsRoomForALargeBodyIfTheDiskHasIt) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  EXPECT_TRUE(rig.journal->HasRoomFor(2 << 20));
  rig.disk.SetCapacity(rig.disk.UsedBytes() + (1 << 20));
  EXPECT_FALSE(rig.journal->HasRoomFor(2 << 20));
  rig.disk.SetCapacity(rig.disk.UsedBytes() + (4 << 20));
  EXPECT_TRUE(rig.journal->HasRoomFor(2 << 20));
  const Lsn lsn = rig.model->Put(*rig.journal, "t", std::string(2 << 20, 'x'));
  rig.Flush();
  EXPECT_GE(rig.journal->Durable(), lsn);
  EXPECT_TRUE(SurvivesRestart(rig));
}

// Nothing is appended meanwhile: the journal itself asks for the next round.
TEST(WalJournal, ALongSearchForWhatLivesGoesOnByItself) {
  Rig rig;
  rig.options.segment_size = 1 << 20;
  ASSERT_TRUE(rig.Start().ok());
  while (rig.journal->Segments().current < 2) rig.model->Put(*rig.journal, "t", "x");
  const std::uint64_t last = rig.model->state().next_id - 2;
  ASSERT_GT(last, 10'000U);
  for (std::uint64_t id = 1; id < last; ++id) rig.model->Delete(*rig.journal, id);
  rig.journal->Flush(0);
  EXPECT_EQ(rig.journal->Segments().oldest, 1U);
  for (int i = 0; i < 100 && rig.journal->Segments().oldest == 1; ++i) {
    pollfd readable{rig.journal->NotifyFd(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 0), 1);
    rig.journal->OnNotify();
    rig.journal->Flush(0);
  }
  EXPECT_GT(rig.journal->Segments().oldest, 1U);
  EXPECT_GE(rig.journal->Segments().migrated, 1U);
  EXPECT_TRUE(SurvivesRestart(rig));
}

// Hears how far a replay is.
class Progress final : public NoEvents {
 public:
  void OnReplaying(const ReplayProgress& progress) override { heard.push_back(progress); }
  std::vector<ReplayProgress> heard;
};

TEST(WalJournal, ALongReplayTellsHowFarItIs) {
  Rig rig;
  rig.options.segment_size = 16 << 20;
  ASSERT_TRUE(rig.Start().ok());
  constexpr std::uint64_t kJobs = 150'000;
  for (std::uint64_t i = 0; i < kJobs; ++i) rig.model->Put(*rig.journal, "t", "x");
  ASSERT_TRUE(rig.journal->Close().ok());
  rig.journal.reset();
  const auto journal = std::move(WalJournal::Open(rig.options).value());
  Model model;
  Progress events;
  ASSERT_TRUE(journal->Start(model, events).ok());
  ASSERT_EQ(model.state().jobs.size(), kJobs);
  ASSERT_EQ(events.heard.size(), 4U) << "the beginning, two on the way, and the end";
  const std::uint64_t total = events.heard.back().total_bytes;
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_GT(events.heard[i].records, events.heard[i - 1].records);
    EXPECT_GT(events.heard[i].bytes, events.heard[i - 1].bytes);
    EXPECT_EQ(events.heard[i].total_bytes, total);
  }
  EXPECT_EQ(events.heard[0].bytes, 0U);
  EXPECT_LT(events.heard[2].bytes, total);
  EXPECT_GE(events.heard[3].records, kJobs);
}

TEST(WalJournal, OneThatDidNotStartIsClosed) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "x");
  ASSERT_TRUE(rig.journal->Close().ok());
  rig.journal.reset();
  const auto image = rig.disk.Image();
  {
    const auto journal = std::move(WalJournal::Open(rig.options).value());
    EXPECT_TRUE(journal->Close().ok());
  }
  EXPECT_TRUE(rig.disk.Image() == image);
}

TEST(SyncTimes, CountsUpToEachBoundAndBehindTheLast) {
  SyncTimes times;
  times.Add(0);
  times.Add(SyncTimes::kBounds[0]);
  times.Add(SyncTimes::kBounds[0] + 1);
  times.Add(SyncTimes::kBounds.back());
  times.Add(SyncTimes::kBounds.back() + 1);
  EXPECT_EQ(times.counts()[0], 2U);
  EXPECT_EQ(times.counts()[1], 1U);
  EXPECT_EQ(times.counts()[SyncTimes::kBounds.size() - 1], 1U);
  EXPECT_EQ(times.counts()[SyncTimes::kBounds.size()], 1U);
  const Time sum = 2 * SyncTimes::kBounds[0] + 2 * SyncTimes::kBounds.back() + 2;
  EXPECT_EQ(times.sum_seconds(), static_cast<double>(sum) / static_cast<double>(kSecond));
}

}  // namespace
}  // namespace gearstalk
