#include <vector>

#include "broker/engine/bucket.h"
#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class TimeTest : public EngineTest {};

// --- Time to run

TEST_F(TimeTest, AReservationEndsWithItsTtr) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  EXPECT_EQ(10 * kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  Pass(10 * kSecond - 1);
  EXPECT_EQ("reserved", State(id));
  Pass(1);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(1u, engine.Find(id)->extra().timeouts);
  EXPECT_EQ(1u, engine.Stats().timeouts);
  EXPECT_EQ(0u, consumer.held());
  EXPECT_EQ(Code::kNotFound, engine.Release(Now(), consumer, id, 0, 0).code);
  EXPECT_TRUE(engine.Delete(Now(), consumer, id).ok());
}

TEST_F(TimeTest, TouchStartsTheTtrAnew) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  Pass(9 * kSecond);
  EXPECT_TRUE(engine.Touch(Now(), consumer, id).ok());
  Pass(9 * kSecond);
  EXPECT_EQ("reserved", State(id));
  EXPECT_EQ(kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  Pass(kSecond);
  EXPECT_EQ("ready", State(id));
}

TEST_F(TimeTest, AReportStartsTheTtrAnew) {
  const JobId id = PutInto("f", {.ttr_s = 10});
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  for (const auto kind :
       {Progress::Kind::kData, Progress::Kind::kWarning, Progress::Kind::kStatus}) {
    Pass(9 * kSecond);
    EXPECT_TRUE(engine.WorkProgress(Now(), worker, id, {kind, "x"}).ok());
  }
  Pass(9 * kSecond);
  EXPECT_EQ("reserved", State(id));
}

TEST_F(TimeTest, AGearmanWorkerHasNoLimitForAGearmanJob) {
  const JobId id = Background("f");
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  EXPECT_EQ(0, engine.TimeLeft(Now(), *engine.Find(id)));
  EXPECT_EQ(kNever, engine.Tick(Now()));
  Pass(1'000'000 * kSecond);
  EXPECT_EQ("reserved", State(id));
}

TEST_F(TimeTest, ABeanstalkConsumerGetsADefaultTtrForAGearmanJob) {
  const JobId id = Background("f");
  EXPECT_EQ(120u, engine.TtrSeconds(*engine.Find(id)));
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  EXPECT_EQ(120 * kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  Pass(60 * kSecond);
  engine.Touch(Now(), consumer, id);
  Pass(119 * kSecond);
  EXPECT_EQ("reserved", State(id));
  Pass(kSecond);
  EXPECT_EQ("ready", State(id));
}

TEST_F(TimeTest, TheSmallerOfTtrAndTheWorkersLimitCounts) {
  const JobId slow = PutInto("f", {.priority = 1, .ttr_s = 10});
  const JobId fast = PutInto("f", {.priority = 2, .ttr_s = 2});
  RecordingConsumer& worker = Worker({"f"}, 5 * kSecond);
  Grab(worker);
  Grab(worker);
  EXPECT_EQ(5 * kSecond, engine.TimeLeft(Now(), *engine.Find(slow)));
  EXPECT_EQ(2 * kSecond, engine.TimeLeft(Now(), *engine.Find(fast)));
}

TEST_F(TimeTest, NoReportMovesTheWorkersOwnLimit) {
  const JobId id = PutInto("f", {.ttr_s = 4});
  RecordingConsumer& worker = Worker({"f"}, 5 * kSecond);
  Grab(worker);
  Pass(3 * kSecond);
  engine.WorkProgress(Now(), worker, id, {Progress::Kind::kData, "x"});
  EXPECT_EQ(2 * kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  Pass(2 * kSecond);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(1u, engine.Find(id)->extra().timeouts);
  EXPECT_EQ(1u, engine.Find(id)->rest().lost_tries);
}

TEST_F(TimeTest, CanDoWithoutALimitTakesItAway) {
  RecordingConsumer& worker = Worker({"f"}, 5 * kSecond);
  engine.Watch(Now(), worker, "f", true);
  const JobId id = Background("f");
  Grab(worker);
  EXPECT_EQ(0, engine.TimeLeft(Now(), *engine.Find(id)));
}

TEST_F(TimeTest, AnExpiredJobGoesToWhoWaits) {
  RecordingConsumer &holder = Connect(), &waiter = Connect();
  Put(holder, {.ttr_s = 10});
  Reserve(holder);
  Reserve(waiter);
  Pass(10 * kSecond);
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
}

// --- DEADLINE_SOON and timeouts of reserve

TEST_F(TimeTest, ReserveInTheLastSecondSaysDeadlineSoon) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  Pass(9 * kSecond - 1);
  EXPECT_EQ("timed out", ReserveFor(consumer, 0));
  Pass(1);
  EXPECT_EQ("deadline soon", ReserveFor(consumer, 0));
  EXPECT_EQ("deadline soon", Reserve(consumer));
  EXPECT_EQ("reserved", State(1));
}

TEST_F(TimeTest, ATtrOfOneSecondIsAlwaysSoonOver) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 1});
  Reserve(consumer);
  EXPECT_EQ("deadline soon", Reserve(consumer));
}

TEST_F(TimeTest, AReadyJobComesBeforeDeadlineSoon) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 1});
  Put(consumer);
  Reserve(consumer);
  EXPECT_EQ("reserved 2", Reserve(consumer));
}

TEST_F(TimeTest, AReadyJobOfAPausedTubeDoesNotKeepDeadlineSoonAway) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 1});
  Put(consumer);
  Reserve(consumer);
  engine.Pause(Now(), "default", 100);
  EXPECT_EQ("deadline soon", Reserve(consumer));
}

TEST_F(TimeTest, AWaiterIsToldWhenTheLastSecondBegins) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  EXPECT_EQ("waits", Reserve(consumer));
  Pass(9 * kSecond - 1);
  EXPECT_THAT(consumer.Heard(), IsEmpty());
  Pass(1);
  EXPECT_THAT(consumer.Heard(), ElementsAre("deadline soon"));
  EXPECT_FALSE(consumer.waiting());
  EXPECT_EQ("reserved", State(1));
  Pass(kSecond);
  EXPECT_EQ("ready", State(1));
  EXPECT_THAT(consumer.Heard(), IsEmpty());
}

TEST_F(TimeTest, DeadlineSoonComesBeforeTimedOut) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 10});
  Reserve(consumer);
  EXPECT_EQ("waits", ReserveFor(consumer, 9));
  Pass(9 * kSecond);
  EXPECT_THAT(consumer.Heard(), ElementsAre("deadline soon"));
}

TEST_F(TimeTest, AWaitEndsAtItsTimeout) {
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ("waits", ReserveFor(consumer, 5));
  Pass(5 * kSecond - 1);
  EXPECT_THAT(consumer.Heard(), IsEmpty());
  Pass(1);
  EXPECT_THAT(consumer.Heard(), ElementsAre("timed out"));
  EXPECT_FALSE(consumer.waiting());
  EXPECT_EQ("ready", State(Put(consumer)));
}

TEST_F(TimeTest, AnOldTimeoutDoesNotEndANewWait) {
  RecordingConsumer& consumer = Connect();
  ReserveFor(consumer, 5);
  Put(Connect());
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
  engine.Delete(Now(), consumer, 1);
  EXPECT_EQ("waits", ReserveFor(consumer, 50));
  Pass(5 * kSecond);
  EXPECT_THAT(consumer.Heard(), IsEmpty());
  Pass(45 * kSecond);
  EXPECT_THAT(consumer.Heard(), ElementsAre("timed out"));
}

TEST_F(TimeTest, AWaitWithoutATimeoutLastsForEver) {
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ("waits", Reserve(consumer));
  EXPECT_EQ(kNever, engine.Tick(Now()));
}

// --- Delays

TEST_F(TimeTest, DelayedJobsRipenInTheOrderOfTheirTimes) {
  RecordingConsumer &producer = Connect(), &first = Connect(), &second = Connect();
  Put(producer, {.priority = 0, .delay_s = 9});
  Put(producer, {.priority = 5, .delay_s = 3});
  Reserve(first);
  Reserve(second);
  EXPECT_EQ(Now() + 3 * kSecond, engine.Tick(Now()));
  Pass(3 * kSecond);
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 2"));
  Pass(6 * kSecond);
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 1"));
}

TEST_F(TimeTest, ADelayOfTheLargestNumberIsKept) {
  const JobId id = Put(Connect(), {.delay_s = UINT32_MAX, .ttr_s = UINT32_MAX});
  EXPECT_EQ(After(0, UINT32_MAX), engine.TimeLeft(Now(), *engine.Find(id)));
  RecordingConsumer& consumer = Connect();
  engine.ReserveJob(Now(), consumer, id);
  EXPECT_EQ(After(0, UINT32_MAX), engine.TimeLeft(Now(), *engine.Find(id)));
}

TEST_F(TimeTest, TickMovesManyDueJobsInSlices) {
  RecordingConsumer& producer = Connect();
  constexpr std::size_t kJobs = 3000;
  for (std::size_t i = 0; i < kJobs; ++i) Put(producer, {.delay_s = 1});
  clock.Advance(kSecond);
  std::size_t before = 0;
  int calls = 0;
  while (engine.Tick(Now()) <= Now()) {
    const std::size_t moved = At("default").ready() - before;
    EXPECT_GT(moved, 0u);
    EXPECT_LT(moved, kJobs / 2);
    before = At("default").ready();
    ++calls;
  }
  EXPECT_GT(calls, 2);
  EXPECT_EQ(kJobs, At("default").ready());
  EXPECT_EQ(0u, At("default").delayed());
}

TEST_F(TimeTest, TickExpiresManyReservationsInSlices) {
  RecordingConsumer& consumer = Connect();
  constexpr std::size_t kJobs = 3000;
  for (std::size_t i = 0; i < kJobs; ++i) Put(consumer);
  for (std::size_t i = 0; i < kJobs; ++i) Reserve(consumer);
  clock.Advance(60 * kSecond);
  engine.Tick(Now());
  EXPECT_GT(consumer.held(), kJobs / 2);
  EXPECT_LT(consumer.held(), kJobs);
  Pass(0);
  EXPECT_EQ(0u, consumer.held());
  EXPECT_EQ(kJobs, engine.Stats().timeouts);
}

TEST_F(TimeTest, AJobForATimeFollowsTheWallClock) {
  constexpr Time kStep = 3600 * kSecond;
  const JobId epoch = Submit("f", {.ttr_s = 0}, nullptr, Now() + kStep + 10 * kSecond).id;
  const JobId delayed = PutInto("f", {.delay_s = 100});
  engine.SetWallAhead(kStep);
  EXPECT_EQ(10 * kSecond, engine.TimeLeft(Now(), *engine.Find(epoch)));
  EXPECT_EQ(100 * kSecond, engine.TimeLeft(Now(), *engine.Find(delayed)));
  const Time wall = Now() + kStep;
  const JobId later = Submit("f", {.ttr_s = 0}, nullptr, wall + 20 * kSecond).id;
  EXPECT_EQ(20 * kSecond, engine.TimeLeft(Now(), *engine.Find(later)));
  EXPECT_EQ(wall + 20 * kSecond, journal.records().back().View().due);
  Pass(10 * kSecond);
  EXPECT_EQ("ready", State(epoch));
  EXPECT_EQ("delayed", State(later));
  engine.SetWallAhead(0);
  EXPECT_EQ(kStep + 10 * kSecond, engine.TimeLeft(Now(), *engine.Find(later)));
  EXPECT_EQ(90 * kSecond, engine.TimeLeft(Now(), *engine.Find(delayed)));
}

// --- Pause

TEST_F(TimeTest, NobodyGetsAJobOfAPausedTube) {
  RecordingConsumer &waiter = Connect("t"), &worker = Worker({"t"});
  Reserve(waiter);
  Sleep(worker);
  EXPECT_TRUE(engine.Pause(Now(), "t", 10).ok());
  EXPECT_TRUE(At("t").paused());
  EXPECT_EQ(1u, At("t").pauses);
  const JobId id = PutInto("t");
  EXPECT_THAT(waiter.Heard(), IsEmpty());
  EXPECT_THAT(worker.Heard(), IsEmpty());
  EXPECT_EQ("none", Grab(worker));
  EXPECT_EQ("timed out", ReserveFor(Connect("t"), 0));
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(id, At("t").NextReady()->id());
}

TEST_F(TimeTest, TheEndOfAPauseServesWhoWaits) {
  RecordingConsumer& waiter = Connect("t");
  Reserve(waiter);
  RecordingConsumer& worker = Worker({"t"});
  Sleep(worker);
  engine.Pause(Now(), "t", 10);
  PutInto("t");
  PutInto("t");
  EXPECT_EQ(10u, At("t").settings.pause_s);
  Pass(9 * kSecond);
  EXPECT_EQ(kSecond, engine.PauseLeft(Now(), At("t")));
  EXPECT_THAT(waiter.Heard(), IsEmpty());
  Pass(kSecond);
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
  EXPECT_FALSE(At("t").paused());
  EXPECT_EQ(0u, At("t").settings.pause_s);
  EXPECT_EQ(0, engine.PauseLeft(Now(), At("t")));
}

TEST_F(TimeTest, DelayedJobsRipenInAPausedTube) {
  RecordingConsumer& waiter = Connect("t");
  Reserve(waiter);
  engine.Pause(Now(), "t", 10);
  const JobId id = PutInto("t", {.delay_s = 5});
  Pass(5 * kSecond);
  EXPECT_EQ("ready", State(id));
  EXPECT_THAT(waiter.Heard(), IsEmpty());
  Pass(5 * kSecond);
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
}

TEST_F(TimeTest, ReservationsExpireInAPausedTube) {
  RecordingConsumer& holder = Connect("t");
  const JobId id = PutInto("t", {.ttr_s = 2});
  Reserve(holder);
  engine.Pause(Now(), "t", 10);
  Pass(2 * kSecond);
  EXPECT_EQ("ready", State(id));
}

TEST_F(TimeTest, ANewPauseReplacesTheOld) {
  RecordingConsumer& waiter = Connect("t");
  Reserve(waiter);
  PutInto("t", {.delay_s = 1});
  engine.Pause(Now(), "t", 10);
  engine.Pause(Now(), "t", 20);
  Pass(10 * kSecond);
  EXPECT_TRUE(At("t").paused());
  engine.Pause(Now(), "t", 0);
  EXPECT_FALSE(At("t").paused());
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
  EXPECT_EQ(3u, At("t").pauses);
}

TEST_F(TimeTest, OtherTubesOfAWaiterAreNotPaused) {
  RecordingConsumer& waiter = Connect("a");
  engine.Watch(Now(), waiter, "b");
  PutInto("a");
  engine.Pause(Now(), "a", 10);
  EXPECT_EQ("waits", Reserve(waiter));
  PutInto("b");
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 2"));
}

TEST_F(TimeTest, APromiseThatMeetsAPauseIsKeptAtItsEnd) {
  RecordingConsumer &first = Worker({"t"}), &second = Worker({"t"});
  Sleep(first);
  Sleep(second);
  Background("t");
  engine.Pause(Now(), "t", 10);
  EXPECT_EQ("none", Grab(first));
  Sleep(first);
  EXPECT_THAT(second.Heard(), IsEmpty());
  Pass(10 * kSecond);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  EXPECT_EQ("reserved 1", Grab(second));
}

TEST_F(TimeTest, PauseOfAnUnknownTubeIsNotFound) {
  EXPECT_EQ(Code::kNotFound, engine.Pause(Now(), "nowhere", 1).code);
}

TEST_F(TimeTest, AJobForNoTimeStaysSoWhenTheClockIsSet) {
  const JobId never = Submit("f", {.ttr_s = 0}, nullptr, kNever).id;
  const JobId later = Submit("f", {.ttr_s = 0}, nullptr, Now() + 100 * kSecond).id;
  engine.SetWallAhead(40 * kSecond);
  EXPECT_EQ(60 * kSecond, engine.TimeLeft(Now(), *engine.Find(later)));
  Pass(60 * kSecond);
  EXPECT_EQ("ready", State(later));
  EXPECT_EQ("delayed", State(never));
  EXPECT_EQ(0, engine.TimeLeft(Now(), *engine.Find(never))) << "it has no end";
}

TEST(Bucket, AnEmptyOneGivesNothingUntilItFills) {
  const Rate rate{.jobs = 2, .per = kSecond};
  Time paced = 0;
  const Time now = 100 * kSecond;
  EXPECT_EQ(3U, bucket::Saved(paced, now, rate, 3));
  for (int i = 0; i < 3; ++i) paced = bucket::After(paced, now, rate);
  EXPECT_EQ(0U, bucket::Saved(paced, now, rate, 3));
  EXPECT_EQ(1U, bucket::Saved(paced, now + kSecond / 2, rate, 3));
  EXPECT_EQ(bucket::Next(paced, rate, 3), now + kSecond / 2);
}

}  // namespace
}  // namespace gearstalk
