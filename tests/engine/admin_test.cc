#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class AdminTest : public EngineTest {
 protected:
  JobId Buried(RecordingConsumer& consumer) {
    const JobId id = Put(consumer);
    engine.ReserveJob(Now(), consumer, id);
    engine.Bury(Now(), consumer, id, 1024);
    return id;
  }
};

// --- Kick

TEST_F(AdminTest, KickTakesBuriedJobsInTheOrderOfBurial) {
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 3; ++i) Put(consumer);
  for (const JobId id : {2, 3, 1}) {
    engine.ReserveJob(Now(), consumer, id);
    engine.Bury(Now(), consumer, id, 1024);
  }
  EXPECT_EQ(2u, At("default").NextBuried()->id());
  EXPECT_EQ(2u, Kick(consumer, 2));
  EXPECT_EQ("ready", State(2));
  EXPECT_EQ("ready", State(3));
  EXPECT_EQ("buried", State(1));
  EXPECT_EQ(1u, engine.Find(2)->extra().kicks);
  EXPECT_EQ(1u, Kick(consumer, 100));
}

TEST_F(AdminTest, KickTakesDelayedJobsOnlyIfNoneIsBuried) {
  RecordingConsumer& consumer = Connect();
  const JobId late = Put(consumer, {.delay_s = 20}), soon = Put(consumer, {.delay_s = 10});
  Buried(consumer);
  EXPECT_EQ(1u, Kick(consumer, 10));
  EXPECT_EQ("delayed", State(soon));
  EXPECT_EQ(1u, Kick(consumer, 1));
  EXPECT_EQ("ready", State(soon));
  EXPECT_EQ("delayed", State(late));
  EXPECT_EQ(1u, Kick(consumer, 5));
  EXPECT_EQ(0u, Kick(consumer, 5));
}

TEST_F(AdminTest, KickInSlicesStaysWithWhatItChose) {
  RecordingConsumer& consumer = Connect();
  Buried(consumer);
  Buried(consumer);
  Put(consumer, {.delay_s = 10});
  std::optional<KickFrom> from;
  EXPECT_EQ(1u, engine.Kick(Now(), consumer, 1, from).count);
  EXPECT_FALSE(from->delayed);
  EXPECT_EQ(1u, engine.Kick(Now(), consumer, 9, from).count);
  EXPECT_EQ(0u, engine.Kick(Now(), consumer, 9, from).count);
  EXPECT_EQ(1u, At("default").delayed());
  from.reset();
  EXPECT_EQ(1u, engine.Kick(Now(), consumer, 9, from).count);
  EXPECT_TRUE(from->delayed);
}

TEST_F(AdminTest, KickInSlicesLeavesWhatIsBuriedMeanwhile) {
  RecordingConsumer& consumer = Connect();
  Buried(consumer);
  Buried(consumer);
  std::optional<KickFrom> from;
  EXPECT_EQ(1u, engine.Kick(Now(), consumer, 1, from).count);
  const JobId late = Buried(consumer);
  EXPECT_EQ(1u, engine.Kick(Now(), consumer, 9, from).count);
  EXPECT_EQ("buried", State(late));
}

TEST_F(AdminTest, KickServesWhoWaits) {
  RecordingConsumer &consumer = Connect(), &first = Connect(), &second = Connect();
  Buried(consumer);
  Buried(consumer);
  Reserve(first);
  Reserve(second);
  EXPECT_EQ(2u, Kick(consumer, 2));
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 2"));
}

TEST_F(AdminTest, KickJobServesWhoWaits) {
  RecordingConsumer &consumer = Connect("t"), &waiter = Connect("t");
  const JobId id = Buried(consumer);
  Reserve(waiter);
  EXPECT_TRUE(engine.KickJob(Now(), id).ok());
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
}

// --- Cancel

TEST_F(AdminTest, CancelTellsTheWaitersAndTakesTheJobFromItsHolder) {
  RecordingObserver& client = Client();
  const JobId running = Foreground("f", client), waiting = Foreground("f", client);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  EXPECT_TRUE(engine.Cancel(Now(), running).ok());
  EXPECT_TRUE(engine.Cancel(Now(), waiting).ok());
  EXPECT_THAT(client.Heard(), ElementsAre("1 failed", "2 failed"));
  EXPECT_EQ(0u, worker.held());
  EXPECT_EQ(Code::kNotFound, engine.WorkComplete(Now(), worker, running, "").code);
  EXPECT_EQ(Code::kNotFound, engine.Cancel(Now(), waiting).code);
}

// --- Functions

TEST_F(AdminTest, ACreatedFunctionStaysUntilItIsDropped) {
  EXPECT_TRUE(engine.CreateFunction("f").ok());
  EXPECT_TRUE(engine.CreateFunction("f").ok());
  EXPECT_TRUE(engine.Listed(At("f")));
  RecordingConsumer& worker = Worker({"f"});
  EXPECT_EQ(Code::kInUse, engine.DropFunction("f").code);
  Leave(worker);
  EXPECT_NE(nullptr, engine.FindTube("f"));
  EXPECT_TRUE(engine.DropFunction("f").ok());
  EXPECT_EQ(nullptr, engine.FindTube("f"));
  EXPECT_EQ(Code::kNotFound, engine.DropFunction("f").code);
}

TEST_F(AdminTest, DropFunctionRefusesWhileThereAreJobs) {
  engine.CreateFunction("f");
  RecordingConsumer& consumer = Connect("f");
  const JobId id = Put(consumer);
  EXPECT_EQ(Code::kInUse, engine.DropFunction("f").code);
  engine.ReserveJob(Now(), Connect(), id);
  EXPECT_EQ(Code::kInUse, engine.DropFunction("f").code);
  engine.Cancel(Now(), id);
  EXPECT_TRUE(engine.DropFunction("f").ok());
  // Somebody still uses the tube.
  EXPECT_FALSE(At("f").settings.created_function);
}

TEST_F(AdminTest, MaxQueueKeepsATubeAndGoesWithIt) {
  RecordingConsumer& worker = Worker({"f"});
  EXPECT_TRUE(engine.SetMaxQueue("f", {1, 1, 1}).ok());
  Leave(worker);
  EXPECT_NE(nullptr, engine.FindTube("f"));
  EXPECT_TRUE(engine.SetMaxQueue("f", {0, 0, 0}).ok());
  EXPECT_EQ(nullptr, engine.FindTube("f"));
}

TEST_F(AdminTest, MaxQueueHoldsForATubeThatComesLater) {
  EXPECT_TRUE(engine.SetMaxQueue("f", {1, 1, 1}).ok());
  EXPECT_FALSE(engine.Listed(At("f")));
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_EQ(Code::kQueueFull, Submit("f", {}).code);
}

TEST_F(AdminTest, DropFunctionLiftsMaxQueue) {
  EXPECT_TRUE(engine.SetMaxQueue("f", {1, 1, 1}).ok());
  EXPECT_TRUE(engine.DropFunction("f").ok());
  EXPECT_EQ(nullptr, engine.FindTube("f"));
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_TRUE(Submit("f", {}).ok());
}

TEST_F(AdminTest, AFunctionIsInUseWhileAJobOfItIsBuriedOrSomebodySleepsForIt) {
  engine.CreateFunction("f");
  const JobId id = PutInto("f");
  EXPECT_TRUE(engine.Bury(id, std::nullopt, false).ok());
  EXPECT_EQ(Code::kInUse, engine.DropFunction("f").code);
  EXPECT_TRUE(engine.Listed(At("f")));
  engine.Cancel(Now(), id);
  RecordingConsumer& sleeper = Connect("f");
  Sleep(sleeper);
  EXPECT_EQ(Code::kInUse, engine.DropFunction("f").code);
  engine.StopWaiting(sleeper);
  EXPECT_TRUE(engine.DropFunction("f").ok());
}

TEST_F(AdminTest, ATubeWithBuriedJobsAloneIsListed) {
  const JobId id = PutInto("t");
  engine.Bury(id, std::nullopt, false);
  EXPECT_EQ(0u, At("t").unfinished());
  EXPECT_TRUE(engine.Listed(At("t")));
}

TEST_F(AdminTest, TubesOfAnswersHaveNoSettingsAndNoWorkers) {
  EXPECT_EQ(Code::kInvalid, engine.CreateFunction("$reply/1").code);
  EXPECT_EQ(Code::kInvalid, engine.SetMaxQueue("$reply/1", {1, 1, 1}).code);
  EXPECT_EQ(Code::kInvalid, engine.SetPolicy(Now(), "$reply/1", "ttr", "9").status.code());
  EXPECT_EQ(Code::kInvalid, Submit("$reply/1", {}).code);
  RecordingConsumer& worker = Worker({});
  EXPECT_EQ(Code::kInvalid, engine.Watch(Now(), worker, "$reply/1", /*able=*/true));
  EXPECT_EQ(0u, worker.watched().size());
  EXPECT_EQ(nullptr, engine.FindTube("$reply/1"));
  EXPECT_EQ(Code::kOk, engine.Watch(Now(), worker, "$reply/1"));
}

TEST_F(AdminTest, ATubeIsFoundByItsIdAsLongAsItIsThere) {
  PutInto("a");
  const std::uint64_t id = At("a").id();
  EXPECT_EQ(&At("a"), TubeOfId(engine, id));
  EXPECT_EQ(nullptr, TubeOfId(engine, id + 1));
  PutInto("b");
  engine.Cancel(Now(), 1);
  EXPECT_EQ(nullptr, TubeOfId(engine, id)) << "a later one is no answer";
}

}  // namespace
}  // namespace gearstalk
