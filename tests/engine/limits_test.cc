#include <string>
#include <string_view>
#include <vector>

#include "broker/engine/outcome.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"
#include "tests/support/kept_journal.h"

namespace gearstalk {
namespace {

using Limits = EngineTest;

std::uint64_t Refused(const Engine& engine, Code code) {
  return engine.Stats().refused[static_cast<std::size_t>(code)];
}

// --- Memory --------------------------------------------------------------------------------------

TEST_F(Limits, OfMemoryRefusesNewJobs) {
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ(Put(consumer), 1U);
  engine.SetLimits({.memory = JobMemory() + 5'000});
  const std::string body(10'000, 'x');
  EXPECT_EQ(engine.Put(Now(), consumer, MakeJob({.body = body})).code, Code::kOutOfMemory);
  EXPECT_EQ(Submit("f", {.body = body}).code, Code::kOutOfMemory);
  EXPECT_EQ(Submit("f", {.body = body}, &Client()).code, Code::kOutOfMemory);
  EXPECT_EQ(Refused(engine, Code::kOutOfMemory), 3U);
  EXPECT_EQ(engine.FindTube("f"), nullptr);
  // What fits is taken, and what is there can be worked on.
  EXPECT_EQ(Put(consumer), 2U);
  EXPECT_EQ(Reserve(consumer), "reserved 1");
  EXPECT_TRUE(engine.Delete(Now(), consumer, 1).ok());
}

TEST_F(Limits, OfMemoryEndWithTheJobs) {
  RecordingConsumer& consumer = Connect();
  const std::string body(10'000, 'x');
  EXPECT_EQ(Put(consumer, {.body = body}), 1U);
  engine.SetLimits({.memory = JobMemory() + 5'000});
  EXPECT_FALSE(engine.Put(Now(), consumer, MakeJob({.body = body})).ok());
  EXPECT_FALSE(engine.MemoryFull());
  EXPECT_TRUE(engine.Delete(Now(), consumer, 1).ok());
  EXPECT_TRUE(engine.Put(Now(), consumer, MakeJob({.body = body})).ok());
}

TEST_F(Limits, OfMemoryLetJobsBeJoined) {
  EXPECT_EQ(Submit("f", {.unique = "u"}).id, 1U);
  engine.SetLimits({.memory = 1});
  EXPECT_TRUE(engine.MemoryFull());
  EXPECT_EQ(Submit("f", {.unique = "u"}).id, 1U);
  EXPECT_EQ(Submit("f", {.unique = "v"}).code, Code::kOutOfMemory);
}

TEST_F(Limits, OfMemoryLetAnswersThrough) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("default", client);
  RecordingConsumer& consumer = Connect();
  EXPECT_EQ(Reserve(consumer), "reserved 1");
  engine.Use(consumer, "$reply/" + std::to_string(id));
  engine.SetLimits({.memory = 1});
  EXPECT_TRUE(PutsAnswers(consumer));
  EXPECT_TRUE(engine.Put(Now(), consumer, MakeJob({.body = "answer"})).ok());
}

TEST_F(Limits, OfMemoryCountWhatOthersOccupy) {
  RecordingConsumer& consumer = Connect();
  engine.SetLimits({.memory = JobMemory() + TableMemory() + 5'000});
  engine.NoteMemory(5'001, /*is_short=*/false);
  EXPECT_EQ(engine.Put(Now(), consumer, MakeJob({})).code, Code::kOutOfMemory);
  engine.NoteMemory(0, /*is_short=*/true);
  EXPECT_EQ(engine.Put(Now(), consumer, MakeJob({})).code, Code::kOutOfMemory);
  engine.NoteMemory(0, /*is_short=*/false);
  EXPECT_EQ(Put(consumer), 1U);
}

// Tubes, watches and waits have a share of it; what an ordinary consumer needs it always gets.
TEST_F(Limits, OfMemoryHoldForTubesWatchesAndWaits) {
  const JobId id = Submit("f", {.unique = "u"}, &Client()).id;
  std::vector<std::string> tubes;
  for (int i = 0; i < 30; ++i) tubes.push_back("t" + std::to_string(i));
  for (const std::string& tube : tubes) PutInto(tube);
  RecordingConsumer& consumer = Connect();
  engine.SetLimits({.memory = EngineLimits::kTableShare * (TableMemory() - 1)});
  EXPECT_FALSE(engine.MemoryFull());
  EXPECT_EQ(engine.Use(consumer, "new"), Code::kTooManyTubes);
  EXPECT_EQ(engine.Watch(Now(), consumer, "new"), Code::kTooManyTubes);
  EXPECT_EQ(Submit("new", {}).code, Code::kTooManyTubes);
  EXPECT_EQ(Submit("f", {.unique = "u"}, &Client()).code, Code::kOutOfMemory);
  EXPECT_EQ(Submit("f", {}, &Client()).code, Code::kOutOfMemory);
  EXPECT_EQ(engine.CountWaiters(*engine.Find(id)), 1U);
  EXPECT_TRUE(Submit("f", {}).ok());
  std::size_t watched = 1;
  while (engine.Watch(Now(), consumer, tubes[watched - 1]) == Code::kOk) ++watched;
  EXPECT_EQ(watched, WatchList::kWide);
  EXPECT_EQ(engine.Watch(Now(), consumer, tubes[watched]), Code::kOutOfMemory);
  EXPECT_EQ(Connect("f").watched().size(), 1U);
}

TEST_F(Limits, TableMemoryGoesWithWhatItIsOf) {
  const std::size_t before = TableMemory();
  RecordingObserver &client = Client(), &other = Client();
  Submit("f", {.unique = "u"}, &client);
  Submit("f", {.unique = "u"}, &other);
  RecordingConsumer& worker = Worker({"f", "g", "h"});
  EXPECT_GT(TableMemory(), before + 500);
  while (!engine.Forget(client) || !engine.Forget(other)) continue;
  Leave(worker);
  EXPECT_EQ(before, TableMemory());
}

// --- Tubes ---------------------------------------------------------------------------------------

TEST_F(Limits, OfTubesRefuseNewOnes) {
  RecordingConsumer& consumer = Connect();
  PutInto("a");
  engine.SetLimits({.tubes = engine.Stats().tubes});
  EXPECT_EQ(engine.Use(consumer, "b"), Code::kTooManyTubes);
  EXPECT_EQ(engine.Watch(Now(), consumer, "b"), Code::kTooManyTubes);
  EXPECT_EQ(Submit("b", {}).code, Code::kTooManyTubes);
  EXPECT_EQ(engine.CreateFunction("b").code, Code::kTooManyTubes);
  EXPECT_EQ(engine.SetMaxQueue("b", {1, 1, 1}).code, Code::kTooManyTubes);
  EXPECT_EQ(Refused(engine, Code::kTooManyTubes), 5U);
  EXPECT_EQ(engine.FindTube("b"), nullptr);
  EXPECT_EQ(consumer.used()->name(), "default");
  EXPECT_EQ(consumer.watched().size(), 1U);
  // Those that are there go on.
  EXPECT_EQ(engine.Watch(Now(), consumer, "a"), Code::kOk);
  EXPECT_TRUE(Submit("a", {}).ok());
}

TEST_F(Limits, OfTubesCountWhatIsThere) {
  RecordingConsumer& consumer = Connect();
  engine.SetLimits({.tubes = 2});
  EXPECT_EQ(engine.Use(consumer, "a"), Code::kOk);
  EXPECT_EQ(engine.Use(consumer, "b"), Code::kTooManyTubes);
  EXPECT_EQ(engine.Use(consumer, "default"), Code::kOk);
  EXPECT_EQ(engine.Use(consumer, "b"), Code::kOk);
}

TEST_F(Limits, OfTubesLetAnswersThrough) {
  RecordingConsumer& consumer = Connect();
  engine.SetLimits({.tubes = 1});
  EXPECT_EQ(engine.Use(consumer, "$reply/7"), Code::kOk);
  EXPECT_EQ(engine.Watch(Now(), consumer, "$reply/8"), Code::kTooManyTubes);
}

TEST_F(Limits, DoNotStandAgainstTheJournal) {
  PutInto("a");
  PutInto("b");
  Engine again({}, journal);
  again.SetLimits({.memory = 1, .tubes = 1});
  Restart(journal, again);
  EXPECT_EQ(again.Stats().ready, 2U);
  EXPECT_EQ(again.Stats().tubes, 3U);
}

// --- Jobs of a tube ------------------------------------------------------------------------------

TEST_F(Limits, OfATubeHoldWhenItComesToBe) {
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  EXPECT_EQ(engine.FindTube("f"), nullptr);
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_EQ(Submit("f", {}).code, Code::kQueueFull);
  EXPECT_EQ(Refused(engine, Code::kQueueFull), 1U);
  EXPECT_TRUE(Submit("g", {}).ok());
  EXPECT_TRUE(Submit("g", {}).ok());
}

TEST_F(Limits, OfATubeDoNotKeepIt) {
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  const JobId id = Background("f");
  EXPECT_TRUE(engine.Cancel(Now(), id).ok());
  EXPECT_EQ(engine.FindTube("f"), nullptr);
}

TEST_F(Limits, OfATubeChangeWithTheConfiguration) {
  Background("f");
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  EXPECT_EQ(Submit("f", {}).code, Code::kQueueFull);
  engine.SetLimits({.max_queue = {{"f", {2, 2, 2}}}});
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_EQ(Submit("f", {}).code, Code::kQueueFull);
  engine.SetLimits({});
  EXPECT_TRUE(Submit("f", {}).ok());
}

TEST_F(Limits, OfTheAdministrationGoBeforeThoseOfTheConfiguration) {
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  Background("f");
  EXPECT_TRUE(engine.SetMaxQueue("f", {2, 2, 2}).ok());
  EXPECT_TRUE(Submit("f", {}).ok());
  engine.SetLimits({.max_queue = {{"f", {3, 3, 3}}}});
  EXPECT_EQ(Submit("f", {}).code, Code::kQueueFull);
}

TEST_F(Limits, LiftedByTheAdministrationStayLifted) {
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  EXPECT_TRUE(engine.SetMaxQueue("f", {}).ok());
  const JobId first = Background("f");
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_TRUE(engine.Cancel(Now(), first).ok());
  EXPECT_TRUE(engine.Cancel(Now(), first + 1).ok());
  EXPECT_TRUE(Submit("f", {}).ok());
  EXPECT_TRUE(Submit("f", {}).ok());
}

TEST_F(Limits, OfTheAdministrationKeepNoTubeOnceTheyAreThoseOfTheConfiguration) {
  EXPECT_TRUE(engine.SetMaxQueue("f", {1, 1, 1}).ok());
  EXPECT_NE(engine.FindTube("f"), nullptr);
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  EXPECT_EQ(engine.FindTube("f"), nullptr);
}

TEST_F(Limits, OfTheAdministrationAloneAreRecorded) {
  engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}, {"g", {1, 1, 1}}}});
  Background("f");
  Background("g");
  EXPECT_TRUE(engine.SetMaxQueue("g", {2, 2, 2}).ok());
  Engine again({}, journal);
  again.SetLimits({.max_queue = {{"f", {5, 5, 5}}, {"g", {5, 5, 5}}}});
  Restart(journal, again);
  RecordingConsumer producer;
  again.Join(producer);
  const auto fills = [&](std::string_view tube) {
    Submission submission;
    submission.tube = tube;
    std::size_t taken = 1;
    while (again.Submit(Now(), producer, MakeJob({}), submission).ok()) ++taken;
    return taken;
  };
  EXPECT_EQ(fills("f"), 5U);
  EXPECT_EQ(fills("g"), 2U);
  again.Leave(Now(), producer);
}

TEST_F(Limits, OfATubeAreKnownBeforeItIsThere) {
  engine.SetLimits({.max_queue = {{"f", {1, 2, 3}}}});
  EXPECT_EQ(engine.ConfiguredMaxQueue("f"), (MaxQueue{1, 2, 3}));
  EXPECT_EQ(engine.ConfiguredMaxQueue("g"), MaxQueue{});
  engine.SetRules(Now(), PolicyRules({{.match = "*", .values = {{"max_jobs", "7"}}}}));
  EXPECT_EQ(engine.ConfiguredMaxQueue("f"), (MaxQueue{1, 2, 3}));
  EXPECT_EQ(engine.ConfiguredMaxQueue("g"), (MaxQueue{7, 7, 7}));
  EXPECT_EQ(engine.FindTube("g"), nullptr);
  Background("g");
  EXPECT_TRUE(engine.SetMaxQueue("g", {4, 4, 4}).ok());
  EXPECT_EQ(engine.ConfiguredMaxQueue("g"), (MaxQueue{7, 7, 7})) << "not what was set";
}

TEST_F(Limits, OfTheAdministrationStayWhenThePolicyChanges) {
  EXPECT_TRUE(engine.SetMaxQueue("f", {9, 9, 9}).ok());
  engine.SetRules(Now(), PolicyRules({{.match = "*", .values = {{"max_jobs", "1"}}}}));
  EXPECT_EQ(At("f").settings.max_queue, (MaxQueue{9, 9, 9}));
  EXPECT_EQ(At("default").settings.max_queue, (MaxQueue{1, 1, 1}));
}

TEST_F(Limits, OfTubesHoldForPoliciesAndCopies) {
  engine.SetRules(Now(), PolicyRules({{.match = "t", .values = {{"copy_to", "x,y"}}}}));
  PutInto("x");
  RecordingConsumer& producer = Connect("t");
  engine.SetLimits({.tubes = engine.Stats().tubes});
  EXPECT_EQ(engine.Put(Now(), producer, MakeJob({})).code, Code::kTooManyTubes);
  EXPECT_EQ(engine.Stats().ready, 1U) << "neither the job nor a copy of it";
  EXPECT_EQ(engine.SetPolicy(Now(), "new", "ttr", "9").status.code(), Code::kTooManyTubes);
  EXPECT_EQ(engine.FindTube("new"), nullptr);
  EXPECT_EQ(Refused(engine, Code::kTooManyTubes), 2U);
  engine.SetLimits({});
  EXPECT_TRUE(engine.Put(Now(), producer, MakeJob({})).ok());
  EXPECT_EQ(engine.Stats().ready, 4U);
}

}  // namespace
}  // namespace gearstalk
