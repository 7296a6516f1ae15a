#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class TubesTest : public EngineTest {
 protected:
  bool Exists(std::string_view tube) const { return engine.FindTube(tube) != nullptr; }
};

TEST_F(TubesTest, DefaultIsPermanentAndFirst) {
  EXPECT_EQ("default", engine.NextTube(0)->name());
  EXPECT_EQ(1u, engine.Stats().tubes);
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ(1u, At("default").using_count);
  Leave(consumer);
  EXPECT_TRUE(Exists("default"));
  EXPECT_EQ(0u, At("default").using_count);
}

TEST_F(TubesTest, ATubeLivesWhileItIsUsed) {
  RecordingConsumer& consumer = Connect();
  engine.Use(consumer, "t");
  EXPECT_TRUE(Exists("t"));
  EXPECT_EQ(1u, At("t").using_count);
  engine.Use(consumer, "t");
  EXPECT_EQ(1u, At("t").using_count);
  engine.Use(consumer, "u");
  EXPECT_FALSE(Exists("t"));
  Leave(consumer);
  EXPECT_FALSE(Exists("u"));
}

TEST_F(TubesTest, ATubeLivesWhileItIsWatched) {
  RecordingConsumer& consumer = Connect();
  engine.Watch(Now(), consumer, "t");
  engine.Watch(Now(), consumer, "t");
  EXPECT_EQ(1u, At("t").watching);
  EXPECT_EQ(2u, consumer.watched().size());
  EXPECT_EQ(Code::kOk, engine.Ignore(Now(), consumer, "t"));
  EXPECT_FALSE(Exists("t"));
  EXPECT_EQ(Code::kOk, engine.Ignore(Now(), consumer, "never seen"));
  EXPECT_FALSE(Exists("never seen"));
}

TEST_F(TubesTest, TheLastWatchedTubeCannotBeIgnored) {
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ(Code::kNotIgnored, engine.Ignore(Now(), consumer, "default"));
  engine.Watch(Now(), consumer, "t");
  EXPECT_EQ(Code::kOk, engine.Ignore(Now(), consumer, "default"));
  EXPECT_EQ(Code::kNotIgnored, engine.Ignore(Now(), consumer, "t"));
  EXPECT_EQ(Code::kOk, engine.Ignore(Now(), consumer, "t", /*may_be_last=*/true));
  EXPECT_TRUE(consumer.watched().empty());
}

TEST_F(TubesTest, ATubeLivesWhileItHoldsAJobInAnyState) {
  RecordingConsumer& consumer = Connect();
  const JobId id = PutInto("t", {.delay_s = 1});
  EXPECT_TRUE(Exists("t"));
  Pass(kSecond);
  EXPECT_TRUE(Exists("t"));
  engine.ReserveJob(Now(), consumer, id);
  EXPECT_TRUE(Exists("t"));
  engine.Bury(Now(), consumer, id, 0);
  EXPECT_TRUE(Exists("t"));
  engine.Delete(Now(), consumer, id);
  EXPECT_FALSE(Exists("t"));
}

TEST_F(TubesTest, CountersDieWithTheTube) {
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 2; ++i) {
    const JobId id = PutInto("t");
    EXPECT_EQ(1u, At("t").total_jobs);
    engine.Delete(Now(), consumer, id);
  }
}

TEST_F(TubesTest, DeletesCountHitsOnly) {
  RecordingConsumer& consumer = Connect("t");
  const JobId id = Put(consumer);
  engine.Delete(Now(), consumer, id + 1);
  engine.Delete(Now(), consumer, id);
  engine.Delete(Now(), consumer, id);
  EXPECT_EQ(1u, At("t").deletes);
}

TEST_F(TubesTest, APauseEndsWithItsTube) {
  RecordingConsumer& consumer = Connect("t");
  engine.Pause(Now(), "t", 100);
  Leave(consumer);
  EXPECT_FALSE(Exists("t"));
  EXPECT_EQ(kNever, engine.Tick(Now()));
  EXPECT_FALSE(Connect("t").used()->paused());
}

TEST_F(TubesTest, ABeanstalkConsumerIsAWorkerFromItsFirstReservationOn) {
  RecordingConsumer& consumer = Connect("t");
  EXPECT_EQ(0u, At("t").workers);
  EXPECT_FALSE(engine.Listed(At("t")));
  ReserveFor(consumer, 0);
  EXPECT_EQ(1u, At("t").workers);
  EXPECT_EQ(1u, engine.Stats().workers);
  engine.Watch(Now(), consumer, "u");
  EXPECT_EQ(1u, At("u").workers);
  engine.Ignore(Now(), consumer, "t");
  EXPECT_EQ(0u, At("t").workers);
  Leave(consumer);
  EXPECT_EQ(0u, engine.Stats().workers);
}

TEST_F(TubesTest, AGearmanWorkerCountsAtOnce) {
  RecordingConsumer& worker = Worker({"f"});
  EXPECT_EQ(1u, At("f").workers);
  EXPECT_EQ(1u, At("f").watching);
  EXPECT_EQ(1u, engine.Stats().workers);
  engine.Watch(Now(), worker, "f", true);
  EXPECT_EQ(1u, At("f").workers);
  engine.CantDo(Now(), worker, "f");
  EXPECT_FALSE(Exists("f"));
}

TEST_F(TubesTest, ListedAreThoseWithJobsWorkersOrWaiters) {
  RecordingConsumer& consumer = Connect("waited");
  engine.Use(consumer, "used");
  EXPECT_FALSE(engine.Listed(At("waited")));
  EXPECT_FALSE(engine.Listed(At("used")));
  Reserve(consumer);
  EXPECT_TRUE(engine.Listed(At("waited")));
  PutInto("jobs");
  EXPECT_TRUE(engine.Listed(At("jobs")));
  Worker({"able"});
  EXPECT_TRUE(engine.Listed(At("able")));
}

std::vector<std::string> Names(const IdleFunctions& functions) {
  std::vector<std::string> names;
  std::uint64_t at = 0;
  while (const IdleFunctions::Entry* entry = functions.Next(at)) names.push_back(entry->name);
  return names;
}

TEST_F(TubesTest, AFunctionWithoutItsWorkerIsIdleForADay) {
  Pass(kSecond);
  RecordingConsumer& worker = Worker({"f", "g"});
  engine.CantDo(Now(), worker, "f");
  EXPECT_FALSE(Exists("f"));
  Leave(worker);
  EXPECT_EQ(Names(engine.idle_functions()), (std::vector<std::string>{"f", "g"}));
  Worker({"f"});
  EXPECT_EQ(Names(engine.idle_functions()), (std::vector<std::string>{"g"}));
  Pass(IdleFunctions::kKept - kSecond);
  EXPECT_EQ(engine.idle_functions().size(), 1u);
  Pass(kSecond);
  EXPECT_EQ(engine.idle_functions().size(), 0u);
}

TEST_F(TubesTest, AnIdleFunctionThatIsUsedStaysListed) {
  Leave(Worker({"f"}));
  RecordingConsumer& producer = Connect("default");
  engine.Use(producer, "f");
  EXPECT_TRUE(engine.Listed(At("f")));
  Leave(producer);
  EXPECT_EQ(engine.idle_functions().size(), 1u);
}

TEST_F(TubesTest, DroppingAnIdleFunctionEndsIt) {
  Leave(Worker({"f"}));
  EXPECT_EQ(Code::kOk, engine.DropFunction("f").code);
  EXPECT_EQ(engine.idle_functions().size(), 0u);
  EXPECT_EQ(Code::kNotFound, engine.DropFunction("f").code);
}

TEST(IdleFunctions, TheOldestGoFirst) {
  IdleFunctions functions(2);
  for (const char* name : {"a", "b", "a", "c"}) functions.Add(0, name);
  EXPECT_EQ(Names(functions), (std::vector<std::string>{"a", "c"}));
  functions.SetMost(1);
  EXPECT_EQ(Names(functions), (std::vector<std::string>{"c"}));
  functions.SetMost(0);
  functions.Add(0, "d");
  EXPECT_EQ(functions.size(), 0u);
}

TEST_F(TubesTest, WhatIsUrgentReadyAndUnfinishedIsCounted) {
  RecordingConsumer& consumer = Connect("t");
  Put(consumer, {.priority = 1023});
  Put(consumer, {.priority = 1024});
  Put(consumer, {.priority = 65537, .delay_s = 9});
  const JobId held = Put(consumer, {.priority = 0});
  engine.ReserveJob(Now(), consumer, held);
  EXPECT_EQ(1u, At("t").urgent());
  EXPECT_EQ(2u, At("t").ready());
  EXPECT_EQ(1u, At("t").delayed());
  EXPECT_EQ(1u, At("t").reserved());
  EXPECT_EQ(4u, At("t").unfinished());
  EXPECT_EQ(Band::kHigh, engine.BandOf(1023));
  EXPECT_EQ(Band::kNormal, engine.BandOf(1024));
  EXPECT_EQ(Band::kNormal, engine.BandOf(65536));
  EXPECT_EQ(Band::kLow, engine.BandOf(65537));
  engine.Bury(Now(), consumer, held, 0);
  EXPECT_EQ(1u, At("t").buried());
  EXPECT_EQ(3u, At("t").unfinished());
  const EngineStats stats = engine.Stats();
  EXPECT_EQ(1u, stats.urgent);
  EXPECT_EQ(2u, stats.ready);
  EXPECT_EQ(1u, stats.delayed);
  EXPECT_EQ(0u, stats.reserved);
  EXPECT_EQ(1u, stats.buried);
}

TEST_F(TubesTest, PeekersSeeTheNextOfEachKind) {
  RecordingConsumer& consumer = Connect("t");
  EXPECT_EQ(nullptr, At("t").NextReady());
  EXPECT_EQ(nullptr, At("t").NextDelayed());
  EXPECT_EQ(nullptr, At("t").NextBuried());
  Put(consumer, {.priority = 2});
  const JobId ready = Put(consumer, {.priority = 1});
  Put(consumer, {.delay_s = 9});
  const JobId delayed = Put(consumer, {.delay_s = 8});
  EXPECT_EQ(ready, At("t").NextReady()->id());
  EXPECT_EQ(delayed, At("t").NextDelayed()->id());
}

TEST_F(TubesTest, WalksGoOnAfterChanges) {
  RecordingConsumer& consumer = Connect("a");
  engine.Watch(Now(), consumer, "b");
  engine.Watch(Now(), consumer, "c");
  const std::uint64_t cursor = At("b").id();
  engine.Ignore(Now(), consumer, "b");
  EXPECT_EQ("c", engine.NextTube(cursor)->name());
  Put(consumer);
  Put(consumer);
  engine.Delete(Now(), consumer, 1);
  EXPECT_EQ(2u, engine.NextJob(1)->id());
  EXPECT_EQ(nullptr, engine.NextJob(2));
}

}  // namespace
}  // namespace gearstalk
