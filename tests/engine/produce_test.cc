#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class ProduceTest : public EngineTest {};

TEST_F(ProduceTest, PutMakesAReadyJob) {
  RecordingConsumer& producer = Connect("tube");
  const JobId id = Put(producer, {.priority = 7, .ttr_s = 30, .body = "hello"});
  EXPECT_EQ(1u, id);
  EXPECT_EQ("ready", State(id));
  const Job& job = *engine.Find(id);
  EXPECT_EQ("hello", job.body());
  EXPECT_EQ("tube", job.tube().name());
  EXPECT_EQ(7u, job.priority);
  EXPECT_EQ(Now(), job.created);
  EXPECT_TRUE(job.durable);
  EXPECT_TRUE(job.keep_on_failure);
  EXPECT_EQ(2u, Put(producer));
}

TEST_F(ProduceTest, PutWithADelayMakesADelayedJob) {
  const JobId id = Put(Connect(), {.delay_s = 5});
  EXPECT_EQ("delayed", State(id));
  EXPECT_EQ(5 * kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  Pass(5 * kSecond - 1);
  EXPECT_EQ("delayed", State(id));
  Pass(1);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, SubmitInBackgroundIsDurableAndRemovedOnFailure) {
  const JobId id = Background("f");
  EXPECT_TRUE(engine.Find(id)->durable);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  EXPECT_TRUE(engine.WorkFail(Now(), worker, id).ok());
  EXPECT_EQ("gone", State(id));
}

TEST_F(ProduceTest, SubmitInForegroundIsNotJournalled) {
  const JobId id = Foreground("f", Client());
  EXPECT_FALSE(engine.Find(id)->durable);
  EXPECT_EQ(1u, engine.CountWaiters(*engine.Find(id)));
  for (const OwnedRecord& record : journal.records()) {
    EXPECT_NE(Record::Kind::kPut, record.View().kind);
  }
}

TEST_F(ProduceTest, AnEpochJobWaitsForItsTime) {
  const Added added = Submit("f", {.ttr_s = 0}, nullptr, Now() + 3 * kSecond / 2);
  EXPECT_EQ("delayed", State(added.id));
  EXPECT_EQ(2u, engine.Find(added.id)->delay_s);
  Pass(3 * kSecond / 2);
  EXPECT_EQ("ready", State(added.id));
  EXPECT_EQ("ready", State(Submit("f", {.ttr_s = 0}, nullptr, Now() - kSecond).id));
}

TEST_F(ProduceTest, AReducerComesWithTheJob) {
  Submission submission;
  submission.tube = "f";
  submission.reducer = "sum";
  const Added added = engine.Submit(Now(), Connect(), MakeJob({}), submission);
  EXPECT_EQ("sum", engine.Find(added.id)->rest().reducer);
}

TEST_F(ProduceTest, ProducersAreCountedOnce) {
  RecordingConsumer& producer = Connect();
  Put(producer);
  Put(producer);
  EXPECT_EQ(1u, engine.Stats().producers);
  EXPECT_EQ(2u, engine.Stats().total_jobs);
  Leave(producer);
  EXPECT_EQ(0u, engine.Stats().producers);
}

// --- Unique keys

TEST_F(ProduceTest, AnEqualKeyJoinsTheUnfinishedJob) {
  RecordingObserver &first = Client(), &second = Client();
  const JobId id = Submit("f", {.unique = "k"}, &first).id;
  EXPECT_EQ(id, Submit("f", {.body = "other", .unique = "k"}, &second).id);
  EXPECT_EQ(2u, engine.CountWaiters(*engine.Find(id)));
  EXPECT_EQ(1u, engine.Stats().total_jobs);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  EXPECT_EQ(id, Submit("f", {.unique = "k"}, &first).id);
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, id, "done").ok());
  EXPECT_THAT(first.Heard(), ElementsAre("1 completed done", "1 completed done"));
  EXPECT_THAT(second.Heard(), ElementsAre("1 completed done"));
  EXPECT_NE(id, Submit("f", {.unique = "k"}, &first).id);
}

// Waits of one client for one job are one wait, however they mix with those of others.
TEST_F(ProduceTest, WhoJoinsOftenHearsAsOften) {
  RecordingObserver &first = Client(), &second = Client(), &third = Client();
  const JobId a = Submit("f", {.unique = "a"}, &first).id;
  const JobId b = Submit("f", {.unique = "b"}, &second).id;
  for (int i = 0; i < 100; ++i) {
    for (RecordingObserver* client : {&second, &third, &first}) {
      EXPECT_EQ(a, Submit("f", {.unique = "a"}, client).id);
      EXPECT_EQ(b, Submit("f", {.unique = "b"}, client).id);
    }
  }
  EXPECT_EQ(301u, engine.CountWaiters(*engine.Find(a)));
  EXPECT_EQ(301u, engine.CountWaiters(*engine.Find(b)));
  while (!engine.Forget(first)) continue;
  EXPECT_EQ(200u, engine.CountWaiters(*engine.Find(a)));
  EXPECT_EQ(a, Submit("f", {.unique = "a"}, &third).id);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  const std::uint64_t before = engine.effort();
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, a, "done").ok());
  EXPECT_LT(engine.effort() - before, 5u);
  EXPECT_THAT(first.Heard(), IsEmpty());
  EXPECT_THAT(second.Heard(),
              ::testing::AllOf(::testing::SizeIs(100), ::testing::Each("1 completed done")));
  EXPECT_THAT(third.Heard(), ::testing::SizeIs(101));
}

TEST_F(ProduceTest, KeysAreATubesOwn) {
  EXPECT_NE(Submit("f", {.unique = "k"}).id, Submit("g", {.unique = "k"}).id);
  EXPECT_NE(Submit("f", {}).id, Submit("f", {}).id);
}

TEST_F(ProduceTest, ABodyThatIsTheKeyJoinsEqualBodies) {
  const JobId id = Submit("f", {.body = "same", .unique = "-"}).id;
  EXPECT_EQ(id, Submit("f", {.body = "same", .unique = "-"}).id);
  EXPECT_NE(id, Submit("f", {.body = "different", .unique = "-"}).id);
  const JobId empty = Submit("f", {.body = "", .unique = "-"}).id;
  EXPECT_NE(empty, Submit("f", {.body = "", .unique = "-"}).id);
}

TEST_F(ProduceTest, ABodyThatIsTheKeyIsNoTextOfTheSameBytes) {
  const JobId text = Submit("f", {.body = "a", .unique = "k"}).id;
  const JobId body = Submit("f", {.body = "k", .unique = "-"}).id;
  EXPECT_NE(text, body);
  EXPECT_EQ(text, Submit("f", {.body = "b", .unique = "k"}).id);
  EXPECT_EQ(body, Submit("f", {.body = "k", .unique = "-"}).id);
  EXPECT_EQ(text, FindUnique(engine, "k")->id());
}

TEST_F(ProduceTest, FindUniqueLooksInEveryTube) {
  EXPECT_EQ(nullptr, FindUnique(engine, "k"));
  Background("e");
  const JobId id = Submit("f", {.unique = "k"}).id;
  EXPECT_EQ(id, FindUnique(engine, "k")->id());
}

TEST_F(ProduceTest, FindUniqueLooksAtASliceOfTubesACall) {
  for (std::size_t i = 1; i < JobStore::kSlice; ++i) Background(std::to_string(i));
  const JobId id = Submit("behind", {.unique = "k"}).id;
  std::uint64_t last = 0;
  EXPECT_EQ(nullptr, engine.FindUnique("k", last));
  EXPECT_NE(0u, last);
  EXPECT_EQ(id, engine.FindUnique("k", last)->id());
  const std::uint64_t before = engine.effort();
  EXPECT_EQ(nullptr, FindUnique(engine, "no such key"));
  EXPECT_EQ(JobStore::kSlice + 1, engine.effort() - before);
}

TEST_F(ProduceTest, ABuriedJobIsFinishedForItsKey) {
  RecordingObserver& client = Client();
  const JobId buried = Submit("f", {.unique = "k"}, &client).id;
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.Bury(Now(), consumer, buried, 0);
  EXPECT_THAT(client.Heard(), ElementsAre("1 failed"));
  const JobId again = Submit("f", {.unique = "k"}, &client).id;
  EXPECT_NE(buried, again);
  EXPECT_EQ("ready", State(again));
  engine.Cancel(Now(), again);
  engine.KickJob(Now(), buried);
  EXPECT_EQ(buried, Submit("f", {.unique = "k"}, &client).id);
}

// --- Waiters

TEST_F(ProduceTest, AReadyForegroundJobGoesWithItsLastWaiter) {
  RecordingObserver &first = Client(), &second = Client();
  const JobId id = Submit("f", {.unique = "k"}, &first).id;
  Submit("f", {.unique = "k"}, &second);
  engine.Forget(first);
  EXPECT_EQ("ready", State(id));
  engine.Forget(second);
  EXPECT_EQ("gone", State(id));
  EXPECT_EQ(nullptr, engine.FindTube("f"));
  EXPECT_EQ(0u, engine.Stats().ready);
}

TEST_F(ProduceTest, ADelayedForegroundJobGoesWithItsLastWaiter) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.Release(Now(), consumer, id, 0, 10);
  EXPECT_EQ("delayed", State(id));
  engine.Forget(client);
  EXPECT_EQ("gone", State(id));
}

TEST_F(ProduceTest, ARunningForegroundJobRunsToItsEndUnheard) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  engine.Forget(client);
  EXPECT_EQ("reserved", State(id));
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, id, "x").ok());
  EXPECT_EQ("gone", State(id));
  EXPECT_THAT(client.Heard(), IsEmpty());
}

TEST_F(ProduceTest, AnUnheardJobDoesNotRunAgain) {
  RecordingObserver& client = Client();
  const JobId released = Foreground("f", client);
  const JobId lost = Foreground("f", client);
  const JobId expired = Foreground("f", client);
  RecordingConsumer &consumer = Connect("f"), &worker = Worker({"f"});
  Reserve(consumer);
  Grab(worker);
  Reserve(consumer);
  engine.Forget(client);
  EXPECT_TRUE(engine.Release(Now(), consumer, released, 0, 0).ok());
  EXPECT_EQ("gone", State(released));
  Leave(worker);
  EXPECT_EQ("gone", State(lost));
  Pass(120 * kSecond);
  EXPECT_EQ("gone", State(expired));
}

TEST_F(ProduceTest, AnUnheardJobThatIsJoinedIsHeardAgain) {
  RecordingObserver &first = Client(), &second = Client();
  const JobId id = Submit("f", {.unique = "k"}, &first).id;
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  engine.Forget(first);
  EXPECT_EQ(id, Submit("f", {.unique = "k"}, &second).id);
  Leave(worker);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, ABackgroundSubmissionMakesAForegroundJobDurable) {
  RecordingObserver& client = Client();
  const JobId id = Submit("f", {.unique = "k"}, &client).id;
  const Lsn before = journal.last();
  const Added joined = Submit("f", {.unique = "k"});
  EXPECT_EQ(id, joined.id);
  EXPECT_TRUE(engine.Find(id)->durable);
  ASSERT_EQ(before + 1, journal.last());
  EXPECT_EQ(joined.lsn, journal.last());
  EXPECT_EQ(Record::Kind::kPut, journal.records().back().View().kind);
  EXPECT_EQ(id, journal.records().back().View().id);
  engine.Forget(client);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, ABackgroundJobOutlivesTheWaitersThatJoinedIt) {
  RecordingObserver& client = Client();
  const JobId id = Submit("f", {.unique = "k"}).id;
  Submit("f", {.unique = "k"}, &client);
  engine.Forget(client);
  EXPECT_EQ("ready", State(id));
  RecordingConsumer& worker = Worker({"f"});
  Submit("f", {.unique = "k"}, &client);
  Grab(worker);
  engine.Forget(client);
  Leave(worker);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, ABackgroundSubmissionSavesAnUnheardJob) {
  RecordingObserver& client = Client();
  const JobId id = Submit("f", {.unique = "k"}, &client).id;
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  engine.Forget(client);
  EXPECT_EQ(id, Submit("f", {.unique = "k"}).id);
  Leave(worker);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, ABuriedForegroundJobNeedsNoWaiters) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.Bury(Now(), consumer, id, 5);
  engine.Forget(client);
  EXPECT_EQ("buried", State(id));
  engine.ReserveJob(Now(), consumer, id);
  engine.Release(Now(), consumer, id, 5, 0);
  EXPECT_EQ("ready", State(id));
  Reserve(consumer);
  Pass(120 * kSecond);
  EXPECT_EQ("ready", State(id));
}

TEST_F(ProduceTest, WaitersHearInTheOrderOfJoining) {
  RecordingConsumer& worker = Worker({"f"});
  RecordingObserver& client = Client();
  const JobId one = Foreground("f", client), two = Foreground("f", client);
  Grab(worker);
  Grab(worker);
  engine.WorkProgress(Now(), worker, two, {Progress::Kind::kData, "x"});
  engine.WorkProgress(Now(), worker, one, {Progress::Kind::kWarning, "y"});
  engine.WorkProgress(Now(), worker, one, {Progress::Kind::kStatus, {}, 1, 2});
  EXPECT_EQ(1u, engine.Find(one)->rest().numerator);
  EXPECT_EQ(2u, engine.Find(one)->rest().denominator);
  engine.WorkComplete(Now(), worker, two, "");
  EXPECT_THAT(client.Heard(),
              ElementsAre("2 data x", "1 warning y", "1 status 1/2", "2 completed"));
}

// --- Limits

TEST_F(ProduceTest, MaxQueueCountsUnfinishedJobsPerBand) {
  Background("f");
  ASSERT_TRUE(engine.SetMaxQueue("f", {3, 2, 1}).ok());
  EXPECT_EQ(Code::kQueueFull, Submit("f", {.priority = 131072}).code);
  EXPECT_EQ(Code::kOk, Submit("f", {.priority = 65536}).code);
  EXPECT_EQ(Code::kQueueFull, Submit("f", {.priority = 65536}).code);
  EXPECT_EQ(Code::kOk, Submit("f", {.priority = 1023}).code);
  EXPECT_EQ(Code::kQueueFull, Submit("f", {.priority = 0}).code);
  EXPECT_EQ(3u, At("f").unfinished());
}

TEST_F(ProduceTest, MaxQueueCountsReservedAndDelayedButNotBuried) {
  RecordingConsumer& consumer = Connect("f");
  const JobId id = Put(consumer);
  engine.SetMaxQueue("f", {0, 2, 0});
  Put(consumer, {.delay_s = 9});
  Reserve(consumer);
  EXPECT_EQ(Code::kQueueFull, engine.Put(Now(), consumer, MakeJob({})).code);
  engine.Bury(Now(), consumer, id, 1024);
  EXPECT_EQ(Code::kOk, engine.Put(Now(), consumer, MakeJob({})).code);
}

TEST_F(ProduceTest, MaxQueueDoesNotRefuseWhoJoins) {
  const JobId id = Submit("f", {.unique = "k"}).id;
  engine.SetMaxQueue("f", {1, 1, 1});
  EXPECT_EQ(id, Submit("f", {.unique = "k"}).id);
  EXPECT_EQ(Code::kQueueFull, Submit("f", {.unique = "l"}).code);
}

TEST_F(ProduceTest, DrainingRefusesNewJobsAndLetsWorkGoOn) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer);
  engine.SetDraining(true);
  EXPECT_TRUE(engine.draining());
  EXPECT_EQ(Code::kDraining, engine.Put(Now(), consumer, MakeJob({})).code);
  EXPECT_EQ(Code::kDraining, Submit("f", {}).code);
  EXPECT_EQ(nullptr, engine.FindTube("f"));
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_TRUE(engine.Delete(Now(), consumer, id).ok());
}

// --- $reply/<id>

class ReplyTest : public EngineTest {
 protected:
  Code Reply(RecordingConsumer& consumer, std::string_view tube, std::string_view body) {
    engine.Use(consumer, tube);
    return engine.Put(Now(), consumer, MakeJob({.body = body})).code;
  }
};

TEST_F(ReplyTest, GoesToTheWaitersAsData) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  EXPECT_EQ(Code::kOk, Reply(consumer, "$reply/1", "answer"));
  EXPECT_THAT(client.Heard(), ElementsAre("1 data answer"));
  EXPECT_EQ(0u, At("$reply/1").total_jobs);
  engine.Delete(Now(), consumer, id);
  EXPECT_THAT(client.Heard(), ElementsAre("1 completed"));
  EXPECT_EQ(Code::kNotFound, Reply(consumer, "$reply/1", "late"));
}

TEST_F(ReplyTest, IsAnsweredWithAnIdOfItsOwn) {
  const JobId held = Foreground("f", Client());
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.Use(consumer, "$reply/1");
  const Added added = engine.Put(Now(), consumer, MakeJob({}));
  EXPECT_GT(added.id, held);
  EXPECT_EQ(nullptr, engine.Find(added.id));
  EXPECT_GT(PutInto("f"), added.id);
}

TEST_F(ReplyTest, IsNotFoundByWhoDoesNotHoldTheJob) {
  RecordingObserver& client = Client();
  Foreground("f", client);
  RecordingConsumer &holder = Connect("f"), &other = Connect("f");
  EXPECT_EQ(Code::kNotFound, Reply(holder, "$reply/1", "early"));
  Reserve(holder);
  EXPECT_EQ(Code::kNotFound, Reply(other, "$reply/1", "x"));
  for (const char* tube : {"$reply/2", "$reply/", "$reply/1x", "$reply/-1", "$reply/x",
                           "$reply/99999999999999999999"}) {
    EXPECT_EQ(Code::kNotFound, Reply(holder, tube, "x")) << tube;
  }
  EXPECT_THAT(client.Heard(), IsEmpty());
}

TEST_F(ReplyTest, WorksWhileDraining) {
  RecordingObserver& client = Client();
  Foreground("f", client);
  RecordingConsumer& consumer = Connect("f");
  Reserve(consumer);
  engine.SetDraining(true);
  EXPECT_EQ(Code::kOk, Reply(consumer, "$reply/1", "answer"));
  EXPECT_THAT(client.Heard(), ElementsAre("1 data answer"));
}

}  // namespace
}  // namespace gearstalk
