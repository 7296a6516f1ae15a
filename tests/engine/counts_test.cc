// What is counted for statistics and metrics.

#include <numeric>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

std::uint64_t Sum(const TimeHistogram& histogram) {
  return std::accumulate(histogram.counts().begin(), histogram.counts().end(), std::uint64_t{0});
}

// How many of its spans are in the bucket up to `bound`.
std::uint64_t UpTo(const TimeHistogram& histogram, Time bound) {
  std::size_t i = 0;
  while (TimeHistogram::kBounds.at(i) != bound) ++i;
  return histogram.counts().at(i);
}

class CountsTest : public EngineTest {
 protected:
  // The same of the tube and of the whole: nothing else is used.
  std::uint64_t Count(std::uint64_t JobCounts::*what) const {
    const std::uint64_t all = engine.Stats().*what;
    EXPECT_EQ(all, At("t").*what);
    return all;
  }
};

TEST_F(CountsTest, JobsAndTheirReservations) {
  RecordingConsumer& consumer = Connect("t");
  for (int i = 0; i < 3; ++i) Put(consumer);
  Reserve(consumer);
  Reserve(consumer);
  EXPECT_EQ(3u, Count(&JobCounts::total_jobs));
  EXPECT_EQ(2u, Count(&JobCounts::reserves));
}

TEST_F(CountsTest, DeletionByTheHolderIsCompletion) {
  RecordingConsumer& consumer = Connect("t");
  const JobId held = Put(consumer);
  const JobId ready = Put(consumer);
  Reserve(consumer);
  engine.Delete(Now(), consumer, held);
  engine.Delete(Now(), consumer, ready);
  EXPECT_EQ(2u, Count(&JobCounts::deletes));
  EXPECT_EQ(1u, Count(&JobCounts::completed));
  EXPECT_EQ(0u, Count(&JobCounts::failed));
}

TEST_F(CountsTest, WaysBack) {
  RecordingConsumer& consumer = Connect("t");
  const JobId id = Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  engine.Release(Now(), consumer, id, 0, 0);
  EXPECT_EQ(1u, Count(&JobCounts::releases));
  Reserve(consumer);
  Pass(10 * kSecond);
  EXPECT_EQ(1u, Count(&JobCounts::timeouts));
  RecordingConsumer& other = Connect("t");
  Reserve(other);
  Leave(other);
  EXPECT_EQ(1u, Count(&JobCounts::lost));
  Reserve(consumer);
  engine.Bury(Now(), consumer, id, 0);
  EXPECT_EQ(1u, Count(&JobCounts::buries));
  EXPECT_EQ(1u, Kick(consumer, 5));
  EXPECT_EQ(1u, Count(&JobCounts::kicks));
  EXPECT_EQ(4u, Count(&JobCounts::reserves));
}

TEST_F(CountsTest, EndsOfGearmanJobs) {
  RecordingConsumer& worker = Worker({"t"});
  RecordingConsumer& producer = Connect("t");
  RecordingObserver& client = Client();
  const JobId done = Background("t");
  const JobId failed = Background("t");
  const JobId kept = Put(producer);
  const JobId cancelled = Background("t");
  Foreground("t", client);
  for (int i = 0; i < 3; ++i) Grab(worker);
  engine.WorkComplete(Now(), worker, done, "");
  engine.WorkFail(Now(), worker, failed);
  engine.WorkException(Now(), worker, kept, "");
  engine.Cancel(Now(), cancelled);
  engine.Forget(client);
  EXPECT_EQ(1u, Count(&JobCounts::completed));
  EXPECT_EQ(2u, Count(&JobCounts::failed));
  EXPECT_EQ(1u, Count(&JobCounts::buries));
  EXPECT_EQ(1u, Count(&JobCounts::cancelled));
  EXPECT_EQ(1u, Count(&JobCounts::dropped));
  EXPECT_EQ(0u, Count(&JobCounts::deletes));
}

TEST_F(CountsTest, JobsThatNobodyHearsOfAreDroppedWhenTheyWouldComeBack) {
  RecordingConsumer& worker = Worker({"t"});
  RecordingConsumer& consumer = Connect("t");
  RecordingObserver& client = Client();
  const JobId released = Foreground("t", client);
  Reserve(consumer);
  Foreground("t", client);
  Grab(worker);
  engine.Forget(client);
  engine.Release(Now(), consumer, released, 0, 0);
  engine.CantDo(Now(), worker, "t");
  EXPECT_EQ(2u, Count(&JobCounts::dropped));
  EXPECT_EQ(1u, Count(&JobCounts::releases));
}

TEST_F(CountsTest, RefusalsByReason) {
  RecordingConsumer& producer = Connect("t");
  ASSERT_TRUE(engine.SetMaxQueue("t", {1, 1, 1}).ok());
  Put(producer);
  Submit("t", {});
  EXPECT_EQ(Code::kQueueFull, engine.Put(Now(), producer, MakeJob({})).code);
  engine.SetDraining(true);
  Submit("t", {});
  const auto refused = engine.Stats().refused;
  EXPECT_EQ(2u, refused.at(static_cast<std::size_t>(Code::kQueueFull)));
  EXPECT_EQ(1u, refused.at(static_cast<std::size_t>(Code::kDraining)));
  EXPECT_EQ(3u, std::accumulate(refused.begin(), refused.end(), std::uint64_t{0}));
}

TEST_F(CountsTest, AWaitEndsWithTheJob) {
  RecordingConsumer& consumer = Connect("t");
  Put(consumer);
  Reserve(consumer);
  EXPECT_EQ(1u, UpTo(engine.waits(), 100 * kMicrosecond)) << "it was there";
  Reserve(consumer);
  Pass(15 * kSecond);
  Put(consumer);
  EXPECT_EQ(1u, UpTo(engine.waits(), 20 * kSecond));
  EXPECT_EQ(15, engine.waits().sum_seconds());
  ReserveFor(consumer, 3);
  Pass(3 * kSecond);
  EXPECT_EQ(2u, Sum(engine.waits())) << "no job, no entry";
}

TEST_F(CountsTest, AWorkersWaitEndsWithItsWakeup) {
  RecordingConsumer& worker = Worker({"t"});
  Sleep(worker);
  Pass(5 * kSecond);
  Background("t");
  Pass(50 * kMillisecond);
  EXPECT_EQ(0u, Sum(engine.waits()));
  Grab(worker);
  EXPECT_EQ(1u, UpTo(engine.waits(), 5 * kSecond));
  Background("t");
  Grab(worker);
  EXPECT_EQ(1u, UpTo(engine.waits(), 100 * kMicrosecond)) << "it asked by itself";
}

TEST_F(CountsTest, AgesAreTakenAtEachReservation) {
  RecordingConsumer& consumer = Connect("t");
  Put(consumer, {.ttr_s = 60});
  Pass(2 * kSecond);
  Reserve(consumer);
  Pass(60 * kSecond);
  Reserve(consumer);
  EXPECT_EQ(1u, UpTo(engine.ages(), 2 * kSecond));
  EXPECT_EQ(1u, UpTo(engine.ages(), 100 * kSecond));
}

TEST_F(CountsTest, TheOldestReadyJobIsNotTheMostUrgent) {
  RecordingConsumer& producer = Connect("t");
  EXPECT_EQ(nullptr, At("t").OldestReady());
  const JobId first = Put(producer, {.priority = 9});
  Put(producer, {.priority = 1});
  EXPECT_EQ(first, At("t").OldestReady()->id());
}

}  // namespace
}  // namespace gearstalk
