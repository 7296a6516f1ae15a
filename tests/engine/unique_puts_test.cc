// Unique puts, copies, the pace of a tube, turns, schedules.

#include <algorithm>
#include <string>
#include <vector>

#include "broker/policy/duration.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

using UniquePuts = PolicyTest;

TEST_F(UniquePuts, EqualBodiesAreOneJob) {
  SetPolicy({{"unique", "body"}});
  const JobId first = PutInto("t", {.body = "a"});
  EXPECT_EQ(first, PutInto("t", {.body = "a"}));
  EXPECT_NE(first, PutInto("t", {.body = "b"}));
  EXPECT_EQ(1u, At("t").policy_state().counts.duplicates);
  EXPECT_EQ(2u, At("t").total_jobs);
  EXPECT_EQ("-", JobOf(first).unique());
}

TEST_F(UniquePuts, AKeyInJsonIsAGearmanKey) {
  SetPolicy({{"unique", "json:/id"}});
  const JobId first = PutInto("t", {.body = "{\"id\": 42}"});
  EXPECT_EQ(first, Submit("t", {.body = "x", .unique = "42"}).id);
  EXPECT_EQ("42", JobOf(first).unique());
  EXPECT_NE(nullptr, FindUnique(engine, "42"));
  const JobId other = PutInto("t", {.body = "no json"});
  EXPECT_NE(other, PutInto("t", {.body = "no json"}));
  Restarted after(journal, engine.policies().rules(), Now());
  EXPECT_NE(nullptr, FindUnique(after.engine, "42"));
}

TEST_F(UniquePuts, BodiesThatAreNoJsonAreNotEqual) {
  SetPolicy({{"unique", "json:/id"}});
  for (const std::string_view body : {R"({"id": 42)", R"({"id": 42} and more)"}) {
    const JobId first = PutInto("t", {.body = body});
    EXPECT_NE(first, PutInto("t", {.body = body})) << body;
    EXPECT_EQ("", JobOf(first).unique());
  }
}

TEST_F(UniquePuts, UntilStartARunningJobHasNoKey) {
  SetPolicy({{"unique", "body"}, {"unique_until", "start"}});
  RecordingConsumer& worker = Connect("t");
  const JobId first = PutAndTake(worker, {.body = "a"});
  const JobId second = PutInto("t", {.body = "a"});
  EXPECT_NE(first, second);
  engine.Release(Now(), worker, first, 1, 0);
  EXPECT_EQ("ready", State(first));
  EXPECT_EQ("ready", State(second));
}

TEST_F(UniquePuts, TheKeyOfAFinishedJobStaysTakenForATime) {
  SetPolicy({{"unique", "body"}, {"unique_for", "10m"}});
  RecordingConsumer& worker = Connect("t");
  const JobId first = PutAndTake(worker, {.body = "a"});
  Pass(60 * kSecond);
  Reserve(worker);
  EXPECT_TRUE(engine.Delete(Now(), worker, first).ok());
  EXPECT_EQ(first, PutInto("t", {.body = "a"}));
  EXPECT_NE(first, Submit("t", {.body = "a", .unique = "-"}, &Client()).id);
  Restarted after(journal, engine.policies().rules(), Now());
  EXPECT_EQ(1u, after.engine.Stats().remembered_keys);
  journal.Refuse(Record::Kind::kDelete);
  Pass(9 * 60 * kSecond);
  EXPECT_EQ(0u, engine.Stats().remembered_keys);
  EXPECT_EQ(0u, journal.dropped()) << "a full disk has no space for it";
}

TEST_F(UniquePuts, AnExpiredJobIsNotJoined) {
  SetPolicy({{"unique", "body"}, {"expire_after", "1s"}});
  const JobId first = PutInto("t", {.body = "a"});
  clock.Advance(kSecond);
  EXPECT_NE(first, PutInto("t", {.body = "a"}));
}

TEST_F(UniquePuts, AnExpiredJobThatCannotGoIsStillTheEqualOne) {
  SetPolicy({{"unique", "body"}, {"expire_after", "1s"}});
  const JobId first = PutInto("t", {.body = "a"});
  clock.Advance(kSecond);
  journal.Refuse(Record::Kind::kDelete);
  EXPECT_EQ(first, PutInto("t", {.body = "a"}));
  EXPECT_EQ(1u, At("t").total_jobs);
  journal.AcceptAll();
  EXPECT_NE(first, PutInto("t", {.body = "a"}));
}

TEST_F(UniquePuts, AJobWithoutABodyHasNoKey) {
  SetPolicy({{"unique", "body"}});
  const JobId first = PutInto("t", {.body = ""});
  EXPECT_NE(first, PutInto("t", {.body = ""}));
  EXPECT_EQ("", JobOf(first).unique());
}

TEST_F(UniquePuts, AKeyThatIsNoLongerTakenIsFreeBeforeTheNextTick) {
  SetPolicy({{"unique", "body"}, {"unique_for", "10m"}});
  RecordingConsumer& worker = Connect("t");
  const JobId first = PutAndTake(worker, {.body = "a"});
  engine.Delete(Now(), worker, first);
  clock.Advance(599 * kSecond);
  EXPECT_EQ(first, PutInto("t", {.body = "a"}));
  clock.Advance(kSecond);
  EXPECT_NE(first, PutInto("t", {.body = "a"}));
}

TEST_F(UniquePuts, AKeyStaysTakenWhenThePolicyIsGoneButCountsNoMore) {
  SetPolicy({{"unique", "body"}, {"unique_for", "10m"}});
  RecordingConsumer& worker = Connect("t");
  const Added first = Submit("t", {.unique = "k"});
  Reserve(worker);
  engine.Delete(Now(), worker, first.id);
  SetPolicy({});
  const Added second = Submit("t", {.unique = "k"});
  EXPECT_TRUE(second.joined);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(0u, engine.Stats().duplicates);
}

TEST_F(UniquePuts, AFinishedJobWithoutAKeyIsNotRemembered) {
  SetPolicy({{"unique", "json:/id"}, {"unique_for", "10m"}});
  RecordingConsumer& worker = Connect("t");
  engine.Delete(Now(), worker, PutAndTake(worker, {.body = "no json"}));
  EXPECT_EQ(0u, engine.Stats().remembered_keys);
  engine.Delete(Now(), worker, PutAndTake(worker, {.body = R"({"id": 1})"}));
  EXPECT_EQ(1u, engine.Stats().remembered_keys);
}

TEST_F(UniquePuts, TheKeyOfAForegroundJobIsRememberedByThisBrokerAlone) {
  SetPolicy({{"unique", "body"}, {"unique_for", "10m"}});
  RecordingConsumer& worker = Worker({"t"});
  const Lsn before = journal.last();
  const Added first = Submit("t", {.ttr_s = 0, .unique = "k"}, &Client());
  Grab(worker);
  engine.WorkComplete(Now(), worker, first.id, "");
  EXPECT_EQ(first.id, Submit("t", {.ttr_s = 0, .unique = "k"}).id);
  EXPECT_FALSE(engine.records().Capture(first.id, [](const Record&) { FAIL(); }));
  Pass(600 * kSecond);
  EXPECT_EQ(0u, engine.Stats().remembered_keys);
  for (Lsn lsn = before; lsn < journal.last(); ++lsn) {
    EXPECT_EQ(Record::Kind::kNextId, journal.records()[lsn].View().kind);
  }
}

TEST_F(UniquePuts, UntilStartSaysNothingWithoutUnique) {
  SetPolicy({{"unique_until", "start"}});
  RecordingConsumer& worker = Worker({"t"});
  const JobId first = Submit("t", {.ttr_s = 0, .unique = "k"}).id;
  Grab(worker);
  EXPECT_EQ(first, Submit("t", {.ttr_s = 0, .unique = "k"}).id);
}

TEST_F(UniquePuts, ATubeIsNotCopiedIntoItself) {
  SetPolicies({{.match = "*", .values = {{"copy_to", "x"}}}});
  PutInto("t");
  PutInto("x");
  EXPECT_EQ(2u, At("x").ready());
  EXPECT_EQ(1u, At("t").ready());
  EXPECT_EQ(1u, engine.Stats().copies);
}

TEST_F(UniquePuts, MaxBytesIsForAllJobsOfTheTube) {
  SetPolicy({{"max_bytes", "1000"}});
  const std::string body(400, 'x');
  EXPECT_TRUE(Submit("t", {.body = body}).ok());
  EXPECT_EQ(Code::kOutOfMemory, Submit("t", {.body = std::string(900, 'x')}).code);
  EXPECT_TRUE(Submit("t", {.body = "small"}).ok());
  EXPECT_EQ(1u, At("t").policy_state().counts.refused_memory);
}

TEST_F(UniquePuts, CopiesGoIntoOtherTubes) {
  SetPolicy({{"copy_to", "x,y"}});
  const JobId id = PutInto("t", {.body = "a"});
  EXPECT_EQ(1u, At("x").ready());
  EXPECT_EQ(1u, At("y").ready());
  EXPECT_EQ("a", At("x").NextReady()->body());
  EXPECT_NE(id, At("x").NextReady()->id());
  EXPECT_EQ(2u, At("t").policy_state().counts.copies);
  engine.SetMaxQueue("y", {1, 1, 1});
  EXPECT_EQ(Code::kQueueFull, Submit("t", {}).code);
  EXPECT_EQ(1u, At("x").ready());
}

TEST_F(UniquePuts, MaxRunningHoldsATubeBackUntilAPlaceIsFree) {
  SetPolicy({{"max_running", "1"}});
  RecordingConsumer& first = Connect("t");
  RecordingConsumer& second = Connect("t");
  const JobId a = PutAndTake(first), b = PutInto("t");
  EXPECT_EQ(HeldBack::kRunning, At("t").held_back);
  EXPECT_EQ("waits", Reserve(second));
  engine.Delete(Now(), first, a);
  EXPECT_THAT(second.Heard(), ElementsAre("reserved " + std::to_string(b)));
  const JobId c = PutInto("t");
  RecordingConsumer& worker = Worker({"t"});
  EXPECT_EQ("none", Grab(worker));
  Sleep(worker);
  EXPECT_THAT(worker.Heard(), IsEmpty());
  Leave(second);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
  EXPECT_EQ("reserved " + std::to_string(b), Grab(worker));
  EXPECT_EQ("ready", State(c));
}

TEST_F(UniquePuts, ARateHandsOutAtAnEvenPace) {
  SetPolicy({{"rate", "2/s"}, {"burst", "1"}});
  RecordingConsumer& worker = Connect("t");
  for (int i = 0; i < 3; ++i) PutInto("t");
  EXPECT_EQ("reserved 1", Reserve(worker));
  EXPECT_EQ("waits", Reserve(worker));
  Pass(500 * kMillisecond);
  EXPECT_THAT(worker.Heard(), ElementsAre("reserved 2"));
  EXPECT_EQ("timed out", ReserveFor(worker, 0));
  Pass(500 * kMillisecond);
  EXPECT_EQ("reserved 3", Reserve(worker));
}

TEST_F(UniquePuts, AFasterRateDoesNotWaitForTheSlowerOne) {
  SetPolicy({{"rate", "1/h"}});
  RecordingConsumer& worker = Connect("t");
  for (int i = 0; i < 4; ++i) PutInto("t");
  EXPECT_EQ("reserved 1", Reserve(worker));
  EXPECT_EQ("waits", Reserve(worker));
  SetPolicy({{"rate", "2/s"}, {"burst", "1"}});
  EXPECT_THAT(worker.Heard(), IsEmpty());
  Pass(500 * kMillisecond);
  EXPECT_THAT(worker.Heard(), ElementsAre("reserved 2"));
  SetPolicy({{"max_running", "0"}});
  EXPECT_EQ("reserved 3", Reserve(worker));
  SetPolicy({{"rate", "1/h"}});
  EXPECT_EQ("reserved 4", Reserve(worker)) << "a bucket is full at start";
}

TEST_F(UniquePuts, TheSlowestRateSavesUpAndLimits) {
  SetPolicy({{"rate", "1/d"}, {"burst", "1000000"}});
  RecordingConsumer& worker = Connect("t");
  for (int i = 0; i < 2; ++i) PutInto("t");
  EXPECT_EQ("reserved 1", Reserve(worker));
  EXPECT_EQ("reserved 2", Reserve(worker));
  EXPECT_EQ(HeldBack::kNone, At("t").held_back);
}

TEST_F(UniquePuts, WhatIsTooLargeForATubeOfItsCopiesIsRefused) {
  SetPolicies({{.match = "t", .values = {{"copy_to", "x,y"}}},
               {.match = "y", .values = {{"max_job_size", "3"}}}});
  EXPECT_FALSE(Submit("t", {.body = "four"}).ok());
  EXPECT_EQ(nullptr, engine.FindTube("x"));
  EXPECT_TRUE(Submit("t", {.body = "few"}).ok());
}

TEST_F(UniquePuts, ACopyThatIsRefusedCountsOnce) {
  SetPolicies({{.match = "t", .values = {{"copy_to", "x"}}},
               {.match = "x", .values = {{"max_bytes", "1"}}}});
  EXPECT_EQ(Code::kOutOfMemory, Submit("t", {}).code);
  EXPECT_EQ(1u, engine.Stats().refused_memory);
  EXPECT_EQ(0u, engine.Stats().refused[static_cast<std::size_t>(Code::kOutOfMemory)]);
}

TEST_F(UniquePuts, FairTubesTakeTurnsByWeight) {
  engine.SetOptions({.fair = true});
  SetPolicies({{.match = "heavy", .values = {{"weight", "3"}}}});
  RecordingConsumer& worker = Connect("light");
  engine.Watch(Now(), worker, "heavy");
  for (int i = 0; i < 100; ++i) PutInto("light");
  for (int i = 0; i < 100; ++i) PutInto("heavy");
  int heavy = 0;
  for (int i = 0; i < 100; ++i) {
    Taken taken;
    ASSERT_EQ(ReserveResult::kTaken, engine.Reserve(Now(), worker, 0, taken));
    heavy += taken.job->tube().name() == "heavy";
  }
  EXPECT_EQ(75, heavy);
}

TEST_F(UniquePuts, AFairTubeThatWasHeldBackSavesUpNoTurns) {
  for (int times = 0; times < 2; ++times) engine.SetOptions({.fair = true});
  SetPolicies({{.match = "held", .values = {{"max_running", "1"}}}});
  RecordingConsumer &worker = Connect("light"), &slow = Connect("held");
  for (int i = 0; i < 100; ++i) PutInto("light");
  for (int i = 0; i < 20; ++i) PutInto("held");
  Taken taken;
  ASSERT_EQ(ReserveResult::kTaken, engine.Reserve(Now(), slow, 0, taken));
  const JobId first = taken.job->id();
  for (int i = 0; i < 40; ++i) Reserve(worker);
  engine.Watch(Now(), worker, "held");
  engine.Delete(Now(), slow, first);
  int held = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(ReserveResult::kTaken, engine.Reserve(Now(), worker, 0, taken));
    if (taken.job->tube().name() != "held") continue;
    ++held;
    engine.Delete(Now(), worker, taken.job->id());
  }
  EXPECT_EQ(10, held);
}

TEST_F(UniquePuts, FairTurnsAreAmongJobsOfOnePriority) {
  engine.SetOptions({.fair = true});
  RecordingConsumer& worker = Connect("a");
  engine.Watch(Now(), worker, "b");
  for (int i = 0; i < 2; ++i) PutInto("a", {.priority = 9});
  PutInto("b", {.priority = 9});
  const JobId urgent = PutInto("a", {.priority = 1});
  std::vector<std::string> tubes;
  std::vector<JobId> ids;
  for (int i = 0; i < 4; ++i) {
    Taken taken;
    ASSERT_EQ(ReserveResult::kTaken, engine.Reserve(Now(), worker, 0, taken));
    tubes.push_back(taken.job->tube().name());
    ids.push_back(taken.job->id());
  }
  EXPECT_EQ(urgent, ids.front());
  EXPECT_THAT(tubes, ElementsAre("a", "b", "a", "a"));
}

class SchedulesTest : public PolicyTest {
 protected:
  void SetUp() override { Set({}); }
  void Set(Schedule schedule) {
    schedule.name = "s";
    schedule.tube = "t";
    if (schedule.cron.empty()) schedule.every = kSecond * 60;
    ASSERT_TRUE(engine.schedules().Set(Now(), {schedule}, "UTC").ok());
    Pass(0);
  }
  const RunningSchedule& S() const { return *engine.schedules().all().at("s"); }
  void Restart(Engine& other, Time now) {
    ASSERT_TRUE(other.schedules().Set(now, {S().entry}, "UTC").ok());
    again_ = std::make_unique<KeptJournal>(journal.records());
    gearstalk::Restart(*again_, other);
    while (other.Tick(now) <= now) continue;
  }
  std::unique_ptr<KeptJournal> again_;
};

TEST_F(SchedulesTest, AJobComesAtEachPlannedTime) {
  Pass(60 * kSecond);
  EXPECT_EQ(1u, At("t").ready());
  EXPECT_EQ(1u, S().runs);
  Pass(60 * kSecond);
  EXPECT_EQ(1u, S().skipped);
  RecordingConsumer& worker = Connect("t");
  Reserve(worker);
  engine.Delete(Now(), worker, 1);
  Pass(60 * kSecond);
  EXPECT_EQ(2u, S().runs);
}

TEST_F(SchedulesTest, NoPlannedTimeRunsTwiceAndAMissedOneIsMadeUpOnce) {
  Pass(60 * kSecond);
  EXPECT_EQ(1u, S().runs);
  const Time planned = S().planned;
  KeptJournal copy(journal.records());
  {
    Engine same({}, copy);
    Restart(same, Now());
    EXPECT_EQ(1u, same.schedules().all().at("s")->runs);
    EXPECT_EQ(planned, same.schedules().all().at("s")->planned);
  }
  RecordingConsumer& worker = Connect("t");
  Reserve(worker);
  engine.Delete(Now(), worker, 1);
  Engine later({}, copy);
  Restart(later, Now() + 180 * kSecond);
  EXPECT_EQ(2u, later.schedules().all().at("s")->runs);
  EXPECT_EQ(2u, later.schedules().all().at("s")->missed);
}

TEST_F(SchedulesTest, OffRunsNothingAndNothingIsMadeUp) {
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", false).ok());
  Pass(120 * kSecond);
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", true).ok());
  Pass(0);
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  EXPECT_TRUE(engine.schedules().Run(Now(), "s").ok());
  EXPECT_EQ(1u, At("t").ready());
  EXPECT_EQ(Code::kInUse, engine.schedules().Run(Now(), "s").code);
  EXPECT_EQ(Code::kNotFound, engine.schedules().Run(Now(), "x").code);
}

TEST_F(SchedulesTest, ATimeThatPassedWhileItWasOffWasNotLeftOut) {
  Pass(60 * kSecond);
  EXPECT_FALSE(S().left_out);
  Pass(60 * kSecond);
  EXPECT_EQ(1u, S().skipped);
  EXPECT_TRUE(S().left_out);
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", false).ok());
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", true).ok());
  EXPECT_TRUE(S().left_out) << "no time passed";
  {
    Engine again({}, journal);
    Restart(again, Now());
    EXPECT_TRUE(again.schedules().all().at("s")->left_out);
  }
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", false).ok());
  Pass(70 * kSecond);
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", true).ok());
  Pass(0);
  EXPECT_FALSE(S().left_out);
  {
    Engine again({}, journal);
    Restart(again, Now());
    EXPECT_FALSE(again.schedules().all().at("s")->left_out);
  }
  // The first run is still not finished.
  Pass(60 * kSecond);
  EXPECT_EQ(2u, S().skipped);
  EXPECT_TRUE(S().left_out);
}

TEST_F(SchedulesTest, ARunThatIsRefusedIsMissedWhenTheNextTimeComes) {
  Set({.catch_up = 3'600 * kSecond});
  engine.SetDraining(true);
  Pass(60 * kSecond);
  EXPECT_EQ(0u, S().missed);
  const std::size_t records = journal.records().size();
  for (std::uint64_t missed = 1; missed < 5; ++missed) {
    Pass(60 * kSecond);
    EXPECT_EQ(missed, S().missed);
  }
  EXPECT_EQ(records, journal.records().size()) << "refused runs do not fill the journal";
  engine.SetDraining(false);
  Pass(2 * kSecond);
  EXPECT_EQ(1u, S().runs);
  EXPECT_EQ(4u, S().missed);
  KeptJournal copy(journal.records());
  Engine again({}, copy);
  Restart(again, Now());
  EXPECT_EQ(4u, again.schedules().all().at("s")->missed);
}

TEST_F(SchedulesTest, WhatWasMissedBeforeARestartIsCountedOnce) {
  engine.SetDraining(true);
  for (int i = 0; i < 3; ++i) Pass(60 * kSecond);
  EXPECT_EQ(2u, S().missed);
  KeptJournal copy(journal.records());
  Engine again({}, copy);
  Restart(again, Now());
  EXPECT_EQ(2u, again.schedules().all().at("s")->missed);
  EXPECT_EQ(1u, again.schedules().all().at("s")->runs);
}

TEST_F(SchedulesTest, ALongAbsenceIsSettledAtOnce) {
  Set({.cron = "* * * * * *", .overlap = true, .catch_up = 3'650 * kDay});
  Pass(3'650 * kDay);
  EXPECT_EQ(1u, S().runs);
  EXPECT_EQ(Now(), S().ran);
  EXPECT_EQ(Plan::kCounted, S().missed);
}

TEST_F(SchedulesTest, ManyRunsAreMadeInSlices) {
  std::vector<Schedule> entries;
  for (int i = 0; i < 1'000; ++i) {
    entries.push_back({.name = std::to_string(i), .every = 60 * kSecond, .tube = "t"});
  }
  ASSERT_TRUE(engine.schedules().Set(Now(), entries, "UTC").ok());
  clock.Advance(60 * kSecond);
  std::size_t slices = 0, most = 0;
  for (std::size_t before = 0; engine.Tick(Now()) <= Now(); before = At("t").ready()) {
    ++slices;
    most = std::max(most, At("t").ready() - before);
  }
  EXPECT_EQ(1'000u, At("t").ready());
  EXPECT_GT(slices, 10u);
  EXPECT_LE(most, 64u);
}

TEST_F(SchedulesTest, ARunThatAnOperatorAskedForChangesNoLastTime) {
  ASSERT_TRUE(engine.schedules().Run(Now(), "s").ok());
  EXPECT_EQ(0, S().ran);
  {
    KeptJournal copy(journal.records());
    Engine again({}, copy);
    Restart(again, Now());
    EXPECT_EQ(0, again.schedules().all().at("s")->ran);
    EXPECT_EQ(1u, again.schedules().all().at("s")->runs);
  }
  engine.Cancel(Now(), 1);
  Pass(60 * kSecond);
  const Time ran = S().ran;
  Pass(60 * kSecond);
  EXPECT_EQ(1u, S().skipped);
  engine.Cancel(Now(), 2);
  ASSERT_TRUE(engine.schedules().Run(Now(), "s").ok());
  EXPECT_EQ(ran, S().ran);
  KeptJournal copy(journal.records());
  Engine again({}, copy);
  Restart(again, Now());
  EXPECT_EQ(ran, again.schedules().all().at("s")->ran);
  EXPECT_EQ(3u, again.schedules().all().at("s")->runs);
}

TEST_F(SchedulesTest, ADrainPutsTheRunOff) {
  engine.SetDraining(true);
  Pass(60 * kSecond);
  EXPECT_EQ(0u, S().runs);
  engine.SetDraining(false);
  Pass(2 * kSecond);
  EXPECT_EQ(1u, S().runs);
}

TEST_F(SchedulesTest, ATimeThatIsTooLateIsMissed) {
  Set({.catch_up = 5 * kSecond});
  Pass(S().next + 6 * kSecond - Now());
  EXPECT_EQ(1u, S().missed);
  EXPECT_EQ(0u, S().runs);
  EXPECT_TRUE(S().left_out);
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  Engine again({}, journal);
  Restart(again, Now());
  EXPECT_EQ(1u, again.schedules().all().at("s")->missed);
  Pass(S().next + 5 * kSecond - Now());
  EXPECT_EQ(1u, S().runs) << "the next one is in time";
}

TEST_F(SchedulesTest, ATimeThatPassesLateWhileItIsOffIsNotMissed) {
  Set({.catch_up = 5 * kSecond});
  EXPECT_TRUE(engine.schedules().Switch(Now(), "s", false).ok());
  const Lsn before = journal.last();
  Pass(66 * kSecond);
  EXPECT_EQ(0u, S().missed);
  EXPECT_FALSE(S().left_out);
  EXPECT_EQ(before, journal.last());
}

TEST_F(SchedulesTest, OneThatIsNotGoodChangesNothing) {
  EXPECT_FALSE(engine.schedules().Set(Now(), {{.name = "x", .cron = "never"}}, "UTC").ok());
  EXPECT_EQ(nullptr, engine.schedules().Find("x"));
  Pass(60 * kSecond);
  EXPECT_EQ(1u, S().runs);
}

TEST_F(SchedulesTest, WhatOnlyTheJournalKnowsRunsNothing) {
  Pass(60 * kSecond);
  KeptJournal copy(journal.records());
  Engine other({}, copy);
  gearstalk::Restart(copy, other);
  ASSERT_NE(nullptr, other.schedules().Find("s"));
  EXPECT_EQ(Code::kNotFound, other.schedules().Run(Now(), "s").code);
  EXPECT_EQ(Code::kNotFound, other.schedules().Switch(Now(), "s", false).code);
  while (other.Tick(Now() + 600 * kSecond) <= Now() + 600 * kSecond) continue;
  EXPECT_EQ(1u, other.Stats().ready);
  EXPECT_EQ(nullptr, other.schedules().Find("s"));
}

TEST_F(SchedulesTest, AStandbyRunsNothing) {
  Engine standby({}, journal);
  ASSERT_TRUE(standby.schedules().Set(Now(), {S().entry}, "UTC").ok());
  for (const OwnedRecord& record : journal.records()) {
    ASSERT_TRUE(standby.records().Apply(record.View()).ok());
  }
  standby.Tick(Now() + 70 * kSecond);
  EXPECT_EQ(0u, standby.Stats().ready);
  standby.records().BecomeActive(Now() + 70 * kSecond);
  standby.Tick(Now() + 70 * kSecond);
  EXPECT_EQ(1u, standby.Stats().ready);
}

TEST_F(SchedulesTest, ARunThatNoTubeIsLeftForIsTriedAgain) {
  engine.SetLimits({.tubes = engine.Stats().tubes});
  EXPECT_EQ(Code::kTooManyTubes, engine.schedules().Run(Now(), "s").code);
  Pass(60 * kSecond);
  EXPECT_EQ(0u, S().runs);
  engine.SetLimits({});
  Pass(kSecond);
  EXPECT_EQ(1u, S().runs);
  EXPECT_EQ(0u, S().missed);
}

TEST_F(SchedulesTest, AJobThatIsReadTwiceHasRunOnce) {
  Pass(60 * kSecond);
  std::vector<OwnedRecord> records = journal.records();
  records.push_back(records.back());
  ASSERT_EQ(Record::Kind::kPut, records.back().View().kind);
  KeptJournal twice(std::move(records));
  Engine again({}, twice);
  gearstalk::Restart(twice, again);
  EXPECT_EQ(1u, again.schedules().Find("s")->runs);
  EXPECT_EQ(1u, again.Stats().ready);
}

}  // namespace
}  // namespace gearstalk
