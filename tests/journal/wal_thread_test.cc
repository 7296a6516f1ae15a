// The journal with its thread.

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>

#include "tests/journal/rig.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

using Loss = FaultyFileSystem::Loss;

class WalThread : public testing::Test {
 protected:
  WalThread() { rig_.options.own_thread = true; }

  // Waits until something is heard of the disk.
  void Hear() {
    pollfd readable{rig_.journal->NotifyFd(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 60'000), 1) << "the writer is silent";
    rig_.journal->OnNotify();
  }
  void WaitFor(Lsn lsn) {
    while (rig_.journal->Durable() < lsn && rig_.journal->Health().ok()) Hear();
  }

  Rig rig_;
};

TEST_F(WalThread, BatchesAndCompactsWhileChangesGoOn) {
  ASSERT_TRUE(rig_.Start().ok());
  Lsn last = 0;
  for (int i = 0; i < 5000; ++i) {
    last = rig_.model->Put(*rig_.journal, "t", std::string(static_cast<std::size_t>(i % 200), 'x'));
    const auto& jobs = rig_.model->state().jobs;
    if (jobs.size() > 50) {
      const auto nth = std::next(jobs.begin(), i % 50);
      last = rig_.model->Delete(*rig_.journal, nth->first);
    }
    if (i % 5 == 0) rig_.Flush();
    if (i % 100 == 0) WaitFor(last);
  }
  rig_.Flush();
  WaitFor(last);
  EXPECT_GT(rig_.journal->Segments().oldest, 100U);
  EXPECT_LT(rig_.journal->Stats().syncs, rig_.journal->Stats().appends);
  const Model::State before = rig_.model->state();
  EXPECT_TRUE(rig_.journal->Close().ok());
  rig_.journal.reset();
  rig_.disk.Restart(Loss::kAll);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(rig_.model->state() == before);
}

// Nothing follows the change: the thread syncs by itself when the interval is over.
TEST_F(WalThread, SyncsAtTheEndOfTheIntervalByItself) {
  rig_.options.sync = Sync::kInterval;
  rig_.options.interval = 20 * kMicrosecond;
  ASSERT_TRUE(rig_.Start().ok());
  const Lsn lsn = rig_.model->Put(*rig_.journal, "t", "x");
  const Model::State before = rig_.model->state();
  rig_.Flush();
  WaitFor(lsn);
  rig_.disk.WaitUntilSynced();
  rig_.disk.Restart(Loss::kAll);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(rig_.model->state() == before);
}

TEST_F(WalThread, ClosesInTheMiddle) {
  for (int rounds = 0; rounds < 30; ++rounds) {
    ASSERT_TRUE(rig_.Start().ok());
    Script script(rig_, static_cast<std::uint32_t>(rounds));
    script.Begin();
    script.Run(rounds);
    const Model::State before = rig_.model->state();
    ASSERT_TRUE(rig_.journal->Close().ok());
    ASSERT_TRUE(rig_.Start().ok());
    ASSERT_TRUE(SameJobs(rig_.model->state(), before));
  }
}

// Not closed, as when the process is killed: what was acknowledged is there.
TEST_F(WalThread, StopsInTheMiddle) {
  for (std::uint64_t call = 30; call < 600; call += 13) {
    Rig rig;
    rig.options.own_thread = true;
    ASSERT_TRUE(rig.Start().ok());
    rig.disk.StopAt(rig.disk.calls() + call);
    Script script(rig, static_cast<std::uint32_t>(call));
    script.Begin();
    script.Run(100);
    rig.journal.reset();
    rig.disk.Restart(Loss::kAll);
    const Status status = rig.Start();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(script.Explains(rig.model->state())) << call;
  }
}

TEST_F(WalThread, FailureIsHeardOf) {
  ASSERT_TRUE(rig_.Start().ok());
  rig_.disk.FailAt(rig_.disk.calls() + 1, EIO, 1'000'000);
  while (rig_.journal->Health().ok()) {
    rig_.model->Put(*rig_.journal, "t", std::string(300, 'x'));
    rig_.journal->Flush(0);  // leaves what is heard to Hear
    Hear();
  }
  EXPECT_FALSE(rig_.journal->Accepts(Record::Kind::kDelete));
  EXPECT_FALSE(rig_.journal->Close().ok());
}

// After a sync for many the writer waits for them to come again, and less often when they do not.
TEST_F(WalThread, WhoDoesNotComeAgainHoldsNobodyUp) {
  rig_.disk.SlowSyncs(kMillisecond);
  ASSERT_TRUE(rig_.Start().ok());
  std::uint64_t batches = 0;
  for (int round = 0; round < 300; ++round) {
    Lsn last = 0;
    for (int i = round % 3 == 0 ? 20 : 1; i > 0; --i) {
      last = rig_.model->Put(*rig_.journal, "t", "x");
      if (i % 4 != 1) continue;
      rig_.journal->Flush(0);
      ++batches;
    }
    WaitFor(last);
    ASSERT_GE(rig_.journal->Durable(), last) << rig_.journal->Health().message();
  }
  EXPECT_LE(rig_.journal->Stats().syncs, batches + 2 * rig_.journal->Segments().current + 2);
  const Model::State before = rig_.model->state();
  rig_.journal.reset();
  rig_.disk.Restart(Loss::kAll);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(SameJobs(rig_.model->state(), before));
}

}  // namespace
}  // namespace gearstalk
