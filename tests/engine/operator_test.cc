#include "broker/journal/memory_journal.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {
namespace {

class OperatorTest : public EngineTest {
 protected:
  Added Put(std::string_view tube, const Spec& spec = {}) {
    return engine.PutInto(Now(), tube, MakeJob(spec));
  }
  JobId Buried(std::string_view tube) {
    const JobId id = Put(tube).id;
    EXPECT_TRUE(engine.Bury(id, std::nullopt, false).ok());
    return id;
  }
  std::vector<JobId> Next(std::string_view tube, JobState state, std::size_t bound = 100) {
    std::vector<JobId> ids;
    At(tube).VisitNext(state, bound, [&](const Job& job) { ids.push_back(job.id()); });
    return ids;
  }
  // A second engine that reads what the first one wrote.
  std::unique_ptr<Engine> Restarted() {
    kept_ = std::make_unique<KeptJournal>(journal.records());
    auto engine2 = std::make_unique<Engine>(EngineOptions{}, *kept_);
    Restart(*kept_, *engine2);
    return engine2;
  }

 private:
  std::unique_ptr<KeptJournal> kept_;
};

TEST_F(OperatorTest, APutNeedsNoProducer) {
  EXPECT_TRUE(Put("t", {.priority = 7}).ok());
  EXPECT_EQ(1u, At("t").ready());
  EXPECT_EQ(0u, engine.Stats().producers);
  EXPECT_TRUE(engine.Find(1)->durable);
  EXPECT_TRUE(engine.Find(1)->keep_on_failure);
}

TEST_F(OperatorTest, APutJoinsTheJobWithItsKey) {
  const Added first = Put("t", {.unique = "k"});
  const Added second = Put("t", {.unique = "k"});
  EXPECT_FALSE(first.joined);
  EXPECT_TRUE(second.joined);
  EXPECT_EQ(first.id, second.id);
  EXPECT_FALSE(Put("u", {.unique = "k"}).joined);
}

TEST_F(OperatorTest, APutIsRefusedAsThatOfAClient) {
  EXPECT_EQ(Code::kInvalid, Put("$reply/1").code);
  engine.SetMaxQueue("t", {1, 1, 1});
  EXPECT_TRUE(Put("t").ok());
  EXPECT_EQ(Code::kQueueFull, Put("t").code);
  engine.SetDraining(true);
  EXPECT_EQ(Code::kDraining, Put("u").code);
  engine.SetDraining(false);
  EXPECT_TRUE(Put("u").ok());
}

TEST_F(OperatorTest, AKickNamesItsTube) {
  Buried("t");
  Buried("t");
  std::optional<KickFrom> from;
  EXPECT_EQ(2u, engine.Kick(Now(), "t", 9, from).count);
  EXPECT_EQ(Code::kNotFound, engine.Kick(Now(), "none", 9, from).code);
}

TEST_F(OperatorTest, AMovedJobKeepsWhatItIs) {
  const JobId ready = Put("a").id, delayed = Put("a", {.delay_s = 20}).id, buried = Buried("a");
  Pass(5 * kSecond);
  for (const JobId id : {ready, delayed, buried}) {
    EXPECT_TRUE(engine.Move(Now(), id, "b").ok());
    EXPECT_EQ("b", engine.Find(id)->tube().name());
  }
  EXPECT_EQ(nullptr, engine.FindTube("a"));
  EXPECT_EQ("ready", State(ready));
  EXPECT_EQ("buried", State(buried));
  EXPECT_EQ(15 * kSecond, engine.TimeLeft(Now(), *engine.Find(delayed)));
  EXPECT_EQ(1u, engine.Find(buried)->extra().buries);
  EXPECT_EQ(3u, engine.moves());
  Pass(15 * kSecond);
  EXPECT_EQ("ready", State(delayed));
}

TEST_F(OperatorTest, AMoveServesWhoWaits) {
  RecordingConsumer& waiter = Connect("b");
  Reserve(waiter);
  const JobId id = Put("a").id;
  EXPECT_TRUE(engine.Move(Now(), id, "b").ok());
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
  EXPECT_EQ(Code::kNotFound, engine.Move(Now(), id, "a").code) << "it is reserved";
}

TEST_F(OperatorTest, AMovedJobTakesItsKeyAlong) {
  const JobId id = Put("a", {.unique = "k"}).id;
  EXPECT_TRUE(engine.Move(Now(), id, "b").ok());
  EXPECT_FALSE(Put("a", {.unique = "k"}).joined);
  EXPECT_EQ(id, Put("b", {.unique = "k"}).id);
}

TEST_F(OperatorTest, AMoveHeedsLimits) {
  engine.SetMaxQueue("b", {1, 1, 1});
  const JobId first = Put("a").id, second = Put("a").id, buried = Buried("a");
  EXPECT_TRUE(engine.Move(Now(), first, "b").ok());
  EXPECT_EQ(Code::kQueueFull, engine.Move(Now(), second, "b").code);
  EXPECT_TRUE(engine.Move(Now(), buried, "b").ok()) << "buried jobs do not count";
  EXPECT_EQ(Code::kInvalid, engine.Move(Now(), second, "$reply/1").code);
  journal.Refuse(Record::Kind::kPut);
  EXPECT_EQ(Code::kJournal, engine.Move(Now(), second, "c").code);
  EXPECT_EQ(nullptr, engine.FindTube("c"));
  EXPECT_EQ("a", engine.Find(second)->tube().name());
}

TEST_F(OperatorTest, AMovedJobIsInOneTubeAfterARestart) {
  const JobId id = Put("a", {.delay_s = 30}).id, buried = Buried("a");
  engine.Move(Now(), id, "b");
  engine.Move(Now(), buried, "b");
  const auto again = Restarted();
  EXPECT_EQ("b", again->Find(id)->tube().name());
  EXPECT_EQ(JobState::kDelayed, again->Find(id)->state());
  EXPECT_EQ(JobState::kBuried, again->Find(buried)->state());
  EXPECT_EQ(2u, again->Stats().delayed + again->Stats().buried);
  EXPECT_EQ(nullptr, again->FindTube("a"));
}

TEST_F(OperatorTest, AJobThatWaitsForItsNextAttemptDoesSoElsewhere) {
  engine.SetPolicy(Now(), "a", "backoff", "9s");
  RecordingConsumer& consumer = Connect("a");
  const JobId id = Put("a").id;
  Reserve(consumer);
  engine.Release(Now(), consumer, id, 0, 0);
  EXPECT_TRUE(engine.Move(Now(), id, "b").ok());
  EXPECT_EQ(0u, At("a").policy_state().retrying);
  EXPECT_EQ(1u, At("b").policy_state().retrying);
  EXPECT_EQ(1u, Restarted()->Stats().retrying);
}

TEST_F(OperatorTest, AJobWhoseMoveIsLostIsNotLost) {
  const JobId id = Put("a").id;
  journal.HoldBack();
  engine.Move(Now(), id, "b");
  engine.DropUndurable();
  EXPECT_EQ("ready", State(id));
}

TEST_F(OperatorTest, AnybodysJobCanBeBuried) {
  const JobId ready = Put("t").id, delayed = Put("t", {.delay_s = 9}).id;
  RecordingConsumer& consumer = Connect("u");
  const JobId held = Put("u").id;
  Reserve(consumer);
  EXPECT_TRUE(engine.Bury(ready, 3, false).ok());
  EXPECT_TRUE(engine.Bury(delayed, std::nullopt, false).ok());
  EXPECT_EQ(Code::kNotFound, engine.Bury(held, std::nullopt, false).code);
  EXPECT_TRUE(engine.Bury(held, std::nullopt, true).ok());
  EXPECT_EQ(Code::kNotFound, engine.Bury(held, std::nullopt, true).code) << "it is buried";
  EXPECT_EQ(3u, engine.Find(ready)->priority);
  EXPECT_EQ(Cause::kBuried, engine.Find(ready)->extra().cause);
  EXPECT_EQ(3u, engine.Stats().buries);
  EXPECT_EQ(0u, consumer.held());
  EXPECT_EQ(Code::kNotFound, engine.Delete(Now(), Connect(), held + 9).code);
  EXPECT_EQ(Code::kNotFound, engine.Release(Now(), consumer, held, 0, 0).code);
}

TEST_F(OperatorTest, AReservedJobIsTakenBack) {
  RecordingConsumer &holder = Connect("t"), &waiter = Connect("t");
  const JobId id = Put("t").id;
  Reserve(holder);
  Reserve(waiter);
  EXPECT_TRUE(engine.TakeBack(Now(), id, 0).ok());
  EXPECT_THAT(waiter.Heard(), ElementsAre("reserved 1"));
  EXPECT_EQ(Code::kNotFound, engine.Touch(Now(), holder, id).code);
  EXPECT_EQ(1u, engine.Stats().releases);
  EXPECT_TRUE(engine.TakeBack(Now(), id, 60).ok());
  EXPECT_EQ("delayed", State(id));
  EXPECT_EQ(Code::kNotFound, engine.TakeBack(Now(), id, 0).code);
}

TEST_F(OperatorTest, AJobThatIsTakenBackLosesNoAttempt) {
  engine.SetRules(Now(), PolicyRules({{"t", {{"attempts", "1"}, {"backoff", "1h"}}}}));
  RecordingConsumer& holder = Connect("t");
  const JobId id = Put("t").id;
  Reserve(holder);
  EXPECT_TRUE(engine.TakeBack(Now(), id, 0).ok());
  EXPECT_EQ("ready", State(id)) << "it neither waits nor fails";
  EXPECT_EQ(0u, engine.Find(id)->extra().attempts);
  EXPECT_EQ(1u, engine.Find(id)->extra().releases);
  EXPECT_EQ(Cause::kNone, engine.Find(id)->extra().cause);
  Reserve(holder);
  EXPECT_TRUE(engine.TakeBack(Now(), id, 60).ok());
  EXPECT_EQ(60 * kSecond, engine.TimeLeft(Now(), *engine.Find(id)));
  EXPECT_FALSE(engine.Find(id)->extra().retrying);
  EXPECT_EQ(0u, engine.Stats().failed);
}

TEST_F(OperatorTest, AResetLimitIsTheConfiguredOne) {
  EngineLimits limits;
  limits.max_queue["t"] = {5, 5, 5};
  engine.SetLimits(limits);
  engine.SetMaxQueue("t", {1, 1, 1});
  EXPECT_TRUE(Put("t").ok());
  EXPECT_EQ(Code::kQueueFull, Put("t").code);
  EXPECT_TRUE(engine.ResetMaxQueue("t").ok());
  EXPECT_TRUE(Put("t").ok());
  EXPECT_EQ(Code::kNotFound, engine.ResetMaxQueue("none").code);
}

TEST_F(OperatorTest, JobsAreSeenInTheOrderInWhichTheyLeave) {
  for (std::uint32_t priority : {9, 1, 5, 1, 8, 2, 7, 3, 6, 4, 12, 11, 10, 1}) {
    Put("t", {.priority = priority});
  }
  const std::vector<JobId> seen = Next("t", JobState::kReady);
  EXPECT_EQ(14u, seen.size());
  EXPECT_EQ(std::vector<JobId>(seen.begin(), seen.begin() + 5), Next("t", JobState::kReady, 5));
  RecordingConsumer& consumer = Connect("t");
  for (const JobId id : seen) EXPECT_EQ("reserved " + std::to_string(id), Reserve(consumer));
}

TEST_F(OperatorTest, DelayedAndBuriedJobsAreSeenInOrder) {
  for (std::uint32_t delay : {30, 10, 50, 20, 40, 60}) Put("t", {.delay_s = delay});
  EXPECT_THAT(Next("t", JobState::kDelayed), ElementsAre(2, 4, 1, 5, 3, 6));
  EXPECT_THAT(Next("t", JobState::kDelayed, 2), ElementsAre(2, 4));
  for (const JobId id : {5, 2, 6}) engine.Bury(id, std::nullopt, false);
  EXPECT_THAT(Next("t", JobState::kBuried), ElementsAre(5, 2, 6));
  EXPECT_THAT(Next("t", JobState::kReady), IsEmpty());
}

TEST_F(OperatorTest, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(Code::kNotFound, engine.Move(Now(), 99, "b").code);
  EXPECT_EQ(Code::kNotFound, engine.Bury(99, std::nullopt, true).code);
  EXPECT_EQ(Code::kNotFound, engine.TakeBack(Now(), 99, 0).code);
  EXPECT_EQ(nullptr, engine.FindTube("b"));
}

TEST_F(OperatorTest, AMoveToItsOwnTubeChangesNothing) {
  const JobId id = Put("a", {.delay_s = 20}).id;
  const Lsn before = journal.last();
  EXPECT_TRUE(engine.Move(Now(), id, "a").ok());
  EXPECT_EQ(before, journal.last());
  EXPECT_EQ("delayed", State(id));
  EXPECT_EQ(0u, engine.moves());
}

TEST_F(OperatorTest, NoActMakesMoreTubesThanAllowed) {
  const JobId id = Put("a").id;
  engine.SetLimits({.tubes = engine.Stats().tubes});
  EXPECT_EQ(Code::kTooManyTubes, Put("b").code);
  EXPECT_EQ(Code::kTooManyTubes, engine.Move(Now(), id, "b").code);
  EXPECT_EQ(2u, engine.Stats().refused[static_cast<std::size_t>(Code::kTooManyTubes)]);
  EXPECT_EQ("a", engine.Find(id)->tube().name());
  EXPECT_TRUE(engine.Move(Now(), id, "default").ok());
}

TEST_F(OperatorTest, AForegroundJobMovesWithoutARecord) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("a", client);
  const Lsn before = journal.last();
  journal.RefuseAll();
  const Outcome moved = engine.Move(Now(), id, "b");
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(0u, moved.lsn);
  EXPECT_EQ(before, journal.last());
  RecordingConsumer& worker = Worker({"b"});
  EXPECT_EQ("reserved " + std::to_string(id), Grab(worker));
  engine.WorkComplete(Now(), worker, id, "done");
  EXPECT_THAT(client.Heard(), ElementsAre(std::to_string(id) + " completed done"));
}

TEST_F(OperatorTest, ABuryThatTheJournalRefusesChangesNothing) {
  const JobId id = Put("a", {.priority = 9}).id;
  journal.Refuse(Record::Kind::kChange);
  EXPECT_EQ(Code::kJournal, engine.Bury(id, 1, false).code);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(9u, engine.Find(id)->priority);
  EXPECT_EQ(0u, engine.Stats().buries);
}

TEST_F(OperatorTest, BuriedJobsAreSeenUpToABound) {
  for (int i = 0; i < 3; ++i) Buried("t");
  EXPECT_THAT(Next("t", JobState::kBuried, 2), ElementsAre(1, 2));
  EXPECT_THAT(Next("t", JobState::kBuried, 0), IsEmpty());
}

TEST(OperatorInMemory, AMoveNeedsNoJournal) {
  MemoryJournal journal;
  Engine engine({}, journal);
  const JobId id = engine.PutInto(1, "a", MakeJob({})).id;
  const Outcome moved = engine.Move(1, id, "b");
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(0u, moved.lsn);
  EXPECT_EQ("b", engine.Find(id)->tube().name());
  EXPECT_EQ("", engine.CheckInvariants({}));
}

}  // namespace
}  // namespace gearstalk
