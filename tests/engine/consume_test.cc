#include <string>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class ConsumeTest : public EngineTest {};

TEST_F(ConsumeTest, ReserveTakesTheMostUrgentJobOverAllWatchedTubes) {
  PutInto("a", {.priority = 20});
  PutInto("b", {.priority = 10});
  PutInto("unwatched", {.priority = 0});
  PutInto("a", {.priority = 10});
  RecordingConsumer& consumer = Connect("a");
  engine.Watch(Now(), consumer, "b");
  EXPECT_EQ("reserved 2", Reserve(consumer));
  EXPECT_EQ("reserved 4", Reserve(consumer));
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_EQ("timed out", ReserveFor(consumer, 0));
}

TEST_F(ConsumeTest, GrabTakesInTheSameOrder) {
  PutInto("a", {.priority = 20});
  PutInto("b", {.priority = 10});
  RecordingConsumer& worker = Worker({"a", "b"});
  EXPECT_EQ("reserved 2", Grab(worker));
  EXPECT_EQ("reserved 1", Grab(worker));
  EXPECT_EQ("none", Grab(worker));
}

TEST_F(ConsumeTest, AConsumerOfManyTubesFindsTheMostUrgentJob) {
  RecordingConsumer& consumer = Connect("0");
  for (int i = 1; i < 40; ++i) engine.Watch(Now(), consumer, std::to_string(i));
  PutInto("39", {.priority = 5});
  PutInto("20", {.priority = 3});
  EXPECT_EQ("reserved 2", Reserve(consumer));
  for (int i = 0; i < 40; ++i) {
    PutInto(std::to_string(i), {.priority = static_cast<std::uint32_t>(100 - i)});
  }
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_EQ("reserved 42", Reserve(consumer));
}

TEST_F(ConsumeTest, WhatComesBackTakesThePlaceOfItsId) {
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 3; ++i) Put(consumer);
  Reserve(consumer);
  Reserve(consumer);
  engine.Release(Now(), consumer, 2, 1024, 0);
  engine.Release(Now(), consumer, 1, 1024, 0);
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_EQ("reserved 2", Reserve(consumer));
  EXPECT_EQ("reserved 3", Reserve(consumer));
}

TEST_F(ConsumeTest, ReserveJobTakesFromEveryTubeAndStateButReserved) {
  RecordingConsumer &consumer = Connect(), &other = Connect();
  const JobId ready = PutInto("elsewhere"), delayed = PutInto("elsewhere", {.delay_s = 9});
  const JobId buried = PutInto("elsewhere");
  engine.ReserveJob(Now(), other, buried);
  EXPECT_EQ(nullptr, engine.ReserveJob(Now(), consumer, buried).job);
  EXPECT_EQ(nullptr, engine.ReserveJob(Now(), other, buried).job);
  engine.Bury(Now(), other, buried, 0);
  engine.Pause(Now(), "elsewhere", 100);
  for (const JobId id : {ready, delayed, buried}) {
    const Taken taken = engine.ReserveJob(Now(), consumer, id);
    ASSERT_NE(nullptr, taken.job) << id;
    EXPECT_EQ(&consumer, taken.job->holder());
    EXPECT_EQ(60 * kSecond, engine.TimeLeft(Now(), *taken.job));
  }
  EXPECT_EQ(nullptr, engine.ReserveJob(Now(), consumer, 99).job);
  EXPECT_EQ(3u, consumer.held());
}

TEST_F(ConsumeTest, ReservationsAreCounted) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer);
  Reserve(consumer);
  engine.Release(Now(), consumer, id, 0, 0);
  Reserve(consumer);
  EXPECT_EQ(2u, engine.Find(id)->reserves);
  EXPECT_EQ(1u, engine.Find(id)->extra().releases);
}

// --- What becomes of a job, and what its waiters hear

TEST_F(ConsumeTest, DeleteByTheHolderCompletes) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  EXPECT_TRUE(engine.Delete(Now(), consumer, id).ok());
  EXPECT_THAT(client.Heard(), ElementsAre("1 completed"));
  EXPECT_EQ("gone", State(id));
  EXPECT_EQ(1u, At("f").deletes);
}

TEST_F(ConsumeTest, DeleteOfAJobThatNobodyHoldsFails) {
  RecordingObserver& client = Client();
  RecordingConsumer& consumer = Connect("f");
  const JobId delayed = Foreground("f", client);
  Reserve(consumer);
  engine.Release(Now(), consumer, delayed, 0, 10);
  const JobId ready = Foreground("f", client);
  EXPECT_TRUE(engine.Delete(Now(), consumer, ready).ok());
  EXPECT_TRUE(engine.Delete(Now(), Connect("other"), delayed).ok());
  EXPECT_THAT(client.Heard(), ElementsAre("2 failed", "1 failed"));
}

TEST_F(ConsumeTest, CompleteCarriesTheResult) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, id, "42").ok());
  EXPECT_THAT(client.Heard(), ElementsAre("1 completed 42"));
}

TEST_F(ConsumeTest, FailBuriesWhatBeanstalkPutAndRemovesWhatGearmanSubmitted) {
  RecordingObserver& client = Client();
  RecordingConsumer& worker = Worker({"f"});
  const JobId put = PutInto("f"), submitted = Foreground("f", client);
  Grab(worker);
  Grab(worker);
  EXPECT_TRUE(engine.WorkFail(Now(), worker, put).ok());
  EXPECT_TRUE(engine.WorkFail(Now(), worker, submitted).ok());
  EXPECT_EQ("buried", State(put));
  EXPECT_EQ(1u, engine.Find(put)->extra().buries);
  EXPECT_EQ("gone", State(submitted));
  EXPECT_THAT(client.Heard(), ElementsAre("2 failed"));
}

TEST_F(ConsumeTest, ExceptionIsFinalAndCarriesItsText) {
  RecordingObserver& client = Client();
  RecordingConsumer& worker = Worker({"f"});
  const JobId put = PutInto("f"), submitted = Foreground("f", client);
  Grab(worker);
  Grab(worker);
  EXPECT_TRUE(engine.WorkException(Now(), worker, put, "boom").ok());
  EXPECT_TRUE(engine.WorkException(Now(), worker, submitted, "boom").ok());
  EXPECT_EQ("buried", State(put));
  EXPECT_EQ("gone", State(submitted));
  EXPECT_THAT(client.Heard(), ElementsAre("2 exception boom"));
  EXPECT_EQ(Code::kNotFound, engine.WorkFail(Now(), worker, submitted).code);
}

TEST_F(ConsumeTest, BuryTellsTheWaitersAndTheyLeave) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  EXPECT_TRUE(engine.Bury(Now(), consumer, id, 3).ok());
  EXPECT_THAT(client.Heard(), ElementsAre("1 failed"));
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(3u, engine.Find(id)->priority);
  EXPECT_EQ(0u, engine.CountWaiters(*engine.Find(id)));
  engine.KickJob(Now(), id);
  Reserve(consumer);
  engine.Delete(Now(), consumer, id);
  EXPECT_THAT(client.Heard(), IsEmpty());
}

TEST_F(ConsumeTest, ReleaseAndTimeoutsSayNothing) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.Release(Now(), consumer, id, 9, 2);
  EXPECT_EQ("delayed", State(id));
  EXPECT_EQ(9u, engine.Find(id)->priority);
  EXPECT_EQ(2u, engine.Find(id)->delay_s);
  Pass(2 * kSecond);
  Reserve(consumer);
  Pass(120 * kSecond);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(1u, engine.Find(id)->extra().timeouts);
  Reserve(consumer);
  Leave(consumer);
  EXPECT_EQ("ready", State(id));
  EXPECT_THAT(client.Heard(), IsEmpty());
  EXPECT_EQ(1u, engine.CountWaiters(*engine.Find(id)));
}

TEST_F(ConsumeTest, WhoHoldsMuchLeavesInSteps) {
  RecordingConsumer& consumer = Connect();
  RecordingConsumer& other = Connect();
  constexpr std::size_t kHeld = 2000;
  for (std::size_t i = 0; i < kHeld; ++i) {
    Put(consumer);
    Reserve(consumer);
  }
  EXPECT_FALSE(engine.Leave(Now(), consumer));
  ExpectSound();
  const EngineStats stats = engine.Stats();
  EXPECT_LT(0u, stats.ready);
  EXPECT_LT(0u, stats.reserved);
  EXPECT_EQ("reserved 1", Reserve(other));
  Leave(consumer);
  EXPECT_EQ(kHeld - 1, engine.Stats().ready);
}

TEST_F(ConsumeTest, WhoWaitsForMuchLeavesInSteps) {
  RecordingObserver& client = Client();
  for (int i = 0; i < 2000; ++i) Foreground("f", client);
  EXPECT_FALSE(engine.Forget(client));
  EXPECT_LT(0u, engine.Stats().ready);
  while (!engine.Forget(client)) ExpectSound();
  EXPECT_EQ(0u, engine.Stats().ready);
}

TEST_F(ConsumeTest, DisconnectIsNeitherAReleaseNorATimeout) {
  RecordingConsumer& consumer = Connect();
  const JobId first = Put(consumer), second = Put(consumer);
  Reserve(consumer);
  Reserve(consumer);
  Leave(consumer);
  for (const JobId id : {first, second}) {
    EXPECT_EQ("ready", State(id));
    EXPECT_EQ(0u, engine.Find(id)->extra().releases);
    EXPECT_EQ(0u, engine.Find(id)->extra().timeouts);
    EXPECT_EQ(1u, engine.Find(id)->rest().lost_tries);
  }
  EXPECT_EQ(0u, engine.Stats().timeouts);
}

TEST_F(ConsumeTest, ProgressIsForgottenWhenTheJobRunsAgain) {
  const JobId id = Background("f");
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  engine.WorkProgress(Now(), worker, id, {Progress::Kind::kStatus, {}, 3, 4});
  EXPECT_EQ(3u, engine.Find(id)->rest().numerator);
  Leave(worker);
  EXPECT_EQ(0u, engine.Find(id)->rest().numerator);
  EXPECT_EQ(0u, engine.Find(id)->rest().denominator);
}

TEST_F(ConsumeTest, UnableGivesBackWhatRunsOfThatFunction) {
  const JobId f = Background("f"), g = Background("g");
  RecordingConsumer& worker = Worker({"f", "g"});
  Grab(worker);
  Grab(worker);
  engine.CantDo(Now(), worker, "f");
  EXPECT_EQ("ready", State(f));
  EXPECT_EQ(0u, engine.Find(f)->rest().lost_tries);
  EXPECT_EQ("reserved", State(g));
  EXPECT_EQ("none", Grab(worker));
  engine.CantDo(Now(), worker, "nowhere");
  engine.ResetAbilities(Now(), worker);
  EXPECT_EQ("ready", State(g));
  EXPECT_TRUE(worker.watched().empty());
}

TEST_F(ConsumeTest, UnableGivesBackASliceACall) {
  const std::size_t jobs = 2 * JobStore::kSlice + 1;
  for (std::size_t i = 0; i < jobs; ++i) Background("f");
  const JobId other = Background("g");
  RecordingConsumer& worker = Worker({"f", "g"});
  for (std::size_t i = 0; i <= jobs; ++i) Grab(worker);
  EXPECT_FALSE(engine.CantDo(Now(), worker, "f"));
  EXPECT_EQ(JobStore::kSlice + 1, At("f").ready());
  EXPECT_TRUE(engine.CantDo(Now(), worker, "f"));
  EXPECT_EQ(jobs, At("f").ready());
  EXPECT_EQ("reserved", State(other));
  EXPECT_EQ(1u, worker.watched().size());
}

TEST_F(ConsumeTest, UnableLooksForJobsOnlyIfSomebodyRunsSome) {
  for (int i = 0; i < 100; ++i) Background("f");
  RecordingConsumer& worker = Worker({"f", "g"});
  for (int i = 0; i < 100; ++i) Grab(worker);
  const std::uint64_t before = engine.effort();
  EXPECT_TRUE(engine.CantDo(Now(), worker, "g"));
  EXPECT_EQ(before, engine.effort());
}

TEST_F(ConsumeTest, AbilitiesAreResetASliceACall) {
  RecordingConsumer& worker = Worker({"f"});
  for (std::size_t i = 0; i < 2 * JobStore::kSlice; ++i) {
    Background("f");
    Grab(worker);
  }
  for (std::size_t i = 1; i < JobStore::kSlice; ++i) {
    engine.Watch(Now(), worker, std::to_string(i), true);
  }
  EXPECT_TRUE(!engine.ResetAbilities(Now(), worker) && worker.watched().empty());
  EXPECT_EQ(2 * JobStore::kSlice, worker.held());
  EXPECT_FALSE(engine.ResetAbilities(Now(), worker));
  EXPECT_EQ(JobStore::kSlice, worker.held());
  EXPECT_TRUE(engine.ResetAbilities(Now(), worker));
  EXPECT_EQ(0u, worker.held());
}

TEST_F(ConsumeTest, WithoutALimitAJobIsTriedForEver) {
  const JobId id = Background("f");
  for (int i = 0; i < 300; ++i) {
    RecordingConsumer& worker = Worker({"f"});
    Grab(worker);
    Leave(worker);
  }
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(300u, engine.Find(id)->rest().lost_tries);
}

TEST_F(ConsumeTest, ReserveJobNeedsNoJournal) {
  RecordingConsumer& consumer = Connect();
  const JobId delayed = Put(consumer, {.delay_s = 1000});
  journal.RefuseAll();
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), consumer, delayed).job);
  EXPECT_EQ("reserved", State(delayed));
  EXPECT_EQ(0u, journal.dropped());
}

TEST_F(ConsumeTest, AReservedJobKnowsSinceWhen) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer);
  EXPECT_EQ(0, engine.Find(id)->taken_at());
  Pass(7 * kSecond);
  Reserve(consumer);
  EXPECT_EQ(Now() / kSecond * kSecond, engine.Find(id)->taken_at());
  engine.Release(Now(), consumer, id, 0, 0);
  EXPECT_EQ(0, engine.Find(id)->taken_at());
}

}  // namespace
}  // namespace gearstalk
