// Jobs that move in and out: marks, whole puts and held jobs, and what a restart finds of them.

#include "broker/engine/transfers.h"

#include "broker/journal/memory_journal.h"
#include "tests/engine/transfers_case.h"

namespace gearstalk {
namespace {

TEST_F(TransfersTest, AJobKeepsItsIdAndItsNumbers) {
  Record job = JobOf("in", 12);
  job.counters.kicks = 3;
  job.created = 99;
  EXPECT_EQ(12u, Settle(1, job).id);
  const Job* found = engine.Find(12);
  ASSERT_NE(nullptr, found);
  EXPECT_EQ(3u, found->extra().kicks);
  EXPECT_EQ(99, found->created);
  EXPECT_EQ(13u, engine.next_id());
}

TEST_F(TransfersTest, APutAndItsMarkAreOneRecord) {
  const Lsn before = journal.last();
  Settle(1, JobOf("in"));
  EXPECT_EQ(before + 1, journal.last());
  Restarted other(journal.records());
  EXPECT_EQ(1u, other.engine.transfers().Find("t")->settled);
  EXPECT_EQ(1u, other.engine.transfers().Find("t")->moved);
  EXPECT_NE(nullptr, other.engine.Find(1));
}

TEST_F(TransfersTest, WhoWaitsForAJobIsNotShownOneThatIsNotDurable) {
  RecordingConsumer& waiting = Waiting({"in"});
  journal.HoldBack();
  const Lsn put = Settle(1, JobOf("in")).lsn;
  EXPECT_THAT(waiting.Heard(), ElementsAre("reserved 1"));
  EXPECT_EQ(put, waiting.lsn());
}

TEST_F(TransfersTest, WithoutBodiesTheyAreInTheJournalAlone) {
  KeptJournal kept;
  Engine bare({.keep_bodies = false}, kept);
  ASSERT_TRUE(bare.transfers().Begin("t", {.kind = "import"}, 0, 0).ok());
  bare.transfers().Put(Now(), "t", JobOf("in", 7), "key", {.settled = 1});
  Record by_body = JobOf("in", 8);
  by_body.unique_is_body = true;
  bare.transfers().Put(Now(), "t", by_body, "key", {.settled = 2});
  EXPECT_EQ("", bare.Find(7)->body());
  // Its body is its key.
  by_body.id = 9;
  EXPECT_EQ(0u, bare.transfers().Put(Now(), "t", by_body, "key", {.settled = 3}).id);
  EXPECT_EQ("", bare.CheckInvariants({}));
  Restarted other(kept.records());
  EXPECT_EQ("body", other.engine.Find(7)->body());
  EXPECT_EQ("body", other.engine.Find(8)->body());
}

TEST_F(TransfersTest, OnlyTheNextJobOfTheSourceIsSettled) {
  EXPECT_EQ(Code::kNotIgnored, Settle(2, JobOf("in")).code);
  EXPECT_TRUE(Settle(1, JobOf("in")).ok());
}

TEST_F(TransfersTest, AKeyOfALiveJobIsJoined) {
  Record job = JobOf("in");
  job.unique = "u";
  Settle(1, job);
  EXPECT_EQ(0u, Settle(2, job).id);
  EXPECT_EQ(1u, engine.Stats().ready);
  EXPECT_EQ(1u, transfers().Find("t")->joined);
  Restarted other(journal.records());
  EXPECT_EQ(1u, other.engine.transfers().Find("t")->joined);
  EXPECT_EQ(2u, other.engine.transfers().Find("t")->settled);
}

TEST_F(TransfersTest, ALiveJobIsNotReplaced) {
  Settle(1, JobOf("in", 4));
  Settle(2, JobOf("in", 4));
  EXPECT_EQ(1u, transfers().Find("t")->refused);
}

TEST_F(TransfersTest, BuriedJobsStandInTheOrderOfTheirBurial) {
  std::uint64_t place = 0;
  for (const std::uint64_t burial : {3, 1, 2}) {
    Record job = JobOf("in");
    job.state = Record::State::kBuried;
    job.burial = burial;
    Settle(++place, job);
  }
  EXPECT_EQ(2u, engine.FindTube("in")->NextBuried()->id());
}

TEST_F(TransfersTest, OneThatIsReleasedLeavesTheOrderOfAnother) {
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(transfers().Begin(name, {.kind = "import"}, 0, 9).ok());
    transfers().Use();
  }
  Record job = JobOf("in");
  job.state = Record::State::kBuried;
  const auto put = [&](std::string_view name, std::uint64_t burial) {
    job.burial = burial;
    return transfers().Put(Now(), name, job, "key", {}).id;
  };
  put("a", 2);
  put("b", 1);
  transfers().Release();
  const JobId first = put("a", 1);
  EXPECT_EQ(first, engine.FindTube("in")->NextBuried()->id());
  Restarted again(journal.records());
  EXPECT_EQ(first, again.engine.FindTube("in")->NextBuried()->id());
  transfers().Release();
}

TEST_F(TransfersTest, HeldJobsCountAsMemory) {
  const std::size_t before = JobMemory();
  Record job = JobOf("in");
  const std::string body(10'000, 'x');
  job.body = body;
  job.transfer.held = Record::Held::kFirstPhase;
  const JobId dropped = transfers().Hold("t", job).id, committed = transfers().Hold("t", job).id;
  EXPECT_GT(JobMemory(), before + 20'000);
  transfers().Drop("t", dropped);
  EXPECT_LT(JobMemory(), before + 20'000);
  transfers().Commit(Now(), "t", committed);
  engine.Cancel(Now(), committed);
  EXPECT_EQ(before, JobMemory());
}

TEST_F(TransfersTest, ABuriedJobThatComesBackHasItsPlace) {
  EXPECT_TRUE(transfers().Begin("back", {.kind = "hand-back"}, 0, 0).ok());
  std::vector<JobId> ids;
  for (const std::uint64_t burial : {1, 2, 3, 4}) {
    Record job = JobOf("in");
    job.state = Record::State::kBuried;
    job.burial = burial;
    ids.push_back(Settle(burial, job).id);
  }
  transfers().Use();
  transfers().Release();
  for (const int i : {0, 1, 2}) EXPECT_TRUE(transfers().HoldBack("back", ids[i]).ok());
  for (const int i : {1, 0, 2}) EXPECT_TRUE(transfers().Commit(Now(), "back", ids[i]).ok());
  for (const JobId id : ids) {
    EXPECT_EQ(id, engine.FindTube("in")->NextBuried()->id());
    EXPECT_TRUE(transfers().HoldBack("back", id).ok());
  }
}

TEST_F(TransfersTest, AHeldJobIsUnseenUntilItIsCommitted) {
  RecordingConsumer& consumer = Connect("in");
  const JobId id = Hold();
  EXPECT_EQ(nullptr, engine.Find(id));
  EXPECT_EQ(0u, engine.Stats().ready);
  EXPECT_EQ("timed out", ReserveFor(consumer, 0));
  EXPECT_TRUE(transfers().Confirm("t", id).ok());
  EXPECT_TRUE(transfers().Commit(Now(), "t", id).ok());
  EXPECT_EQ(0u, transfers().held());
  EXPECT_EQ("reserved 1", ReserveFor(consumer, 0));
}

TEST_F(TransfersTest, HeldJobsSurviveARestartWithTheirPhase) {
  const JobId id = Hold(), dropped = Hold(), committed = Hold();
  transfers().Confirm("t", id);
  transfers().Drop("t", dropped);
  transfers().Commit(Now(), "t", committed);
  Restarted other(journal.records());
  EXPECT_EQ(1u, other.engine.transfers().held());
  const Record held = other.engine.transfers().NextHeld(0)->record.View();
  EXPECT_EQ(id, held.id);
  EXPECT_EQ(Record::Held::kSecondPhase, held.transfer.held);
  EXPECT_EQ(77u, held.transfer.source_id);
  EXPECT_EQ("body", held.body);
  EXPECT_NE(nullptr, other.engine.Find(committed));
  EXPECT_EQ(nullptr, other.engine.Find(dropped));
}

TEST_F(TransfersTest, CompactionCarriesHeldJobsAndMarks) {
  const JobId id = Hold();
  std::vector<OwnedRecord> carried;
  const auto keep = [&](const Record& record) { carried.emplace_back(record); };
  engine.records().CaptureSettings(keep);
  EXPECT_TRUE(engine.records().Capture(id, keep));
  Restarted other(std::move(carried));
  EXPECT_EQ(1u, other.engine.transfers().HeldOf("t"));
  EXPECT_EQ("import", other.engine.transfers().Find("t")->kind);
}

TEST_F(TransfersTest, AJobOfOursCanBeHeldBack) {
  const JobId id = PutInto("out");
  EXPECT_TRUE(transfers().HoldBack("t", id).ok());
  EXPECT_EQ(nullptr, engine.Find(id));
  Restarted other(journal.records());
  EXPECT_EQ(1u, other.engine.transfers().held());
  EXPECT_EQ(nullptr, other.engine.Find(id));
  EXPECT_TRUE(transfers().Commit(Now(), "t", id).ok());
  EXPECT_NE(nullptr, engine.Find(id));
}

TEST_F(TransfersTest, AHeldJobWhoseKeyIsTakenJoinsWhenItIsCommitted) {
  Record held = JobOf("in");
  held.unique = "key";
  held.transfer.held = Record::Held::kFirstPhase;
  const JobId id = transfers().Hold("t", held).id;
  Record other = JobOf("in");
  other.unique = "key";
  const JobId live = Settle(1, other).id;
  EXPECT_TRUE(transfers().Commit(Now(), "t", id).ok());
  const auto check = [&](Engine& each) {
    EXPECT_EQ(nullptr, each.Find(id));
    EXPECT_NE(nullptr, each.Find(live));
    EXPECT_EQ(0u, each.transfers().held());
    EXPECT_EQ(1u, each.transfers().Find("t")->joined);
    EXPECT_EQ(live, each.transfers().Find("t")->jobs[0].job);
  };
  check(engine);
  Restarted other_life(journal.records());
  check(other_life.engine);
}

TEST_F(TransfersTest, AnOutcomeThatIsSaidAgainCountsOnce) {
  transfer::Mark change;
  change.jobs.push_back({.key = "a", .job = 7, .kind = transfer::OutcomeKind::kAltered});
  for (int times = 0; times < 2; ++times) EXPECT_TRUE(transfers().Advance("t", change).ok());
  EXPECT_EQ(1u, transfers().Find("t")->altered);
  change.jobs[0].kind = transfer::OutcomeKind::kUncertain;
  EXPECT_TRUE(transfers().Advance("t", change).ok());
  EXPECT_EQ(1u, transfers().Find("t")->uncertain);
}

TEST_F(TransfersTest, ATransferIsForgottenWhenNothingIsHeld) {
  const JobId id = Hold();
  EXPECT_EQ(Code::kInUse, transfers().Forget("t").code);
  transfers().Drop("t", id);
  EXPECT_TRUE(transfers().Forget("t").ok());
  EXPECT_EQ(nullptr, Restarted(journal.records()).engine.transfers().Find("t"));
}

TEST_F(TransfersTest, AnIdOutOfRangeIsReplacedAndASpareOneSaysNothingOfOthers) {
  EXPECT_EQ(1u, transfers().Hold("t", JobOf("in", std::uint64_t{1} << 62)).id);
  EXPECT_EQ(kFirstSpareId + 5, transfers().Hold("t", JobOf("in", kFirstSpareId + 5)).id);
  EXPECT_FALSE(transfers().CanKeepIds(5, kFirstSpareId + 1));
  EXPECT_TRUE(transfers().RaiseNextId(kFirstSpareId + 1).ok());
  EXPECT_EQ(2u, engine.next_id());
}

// Ids that puts get afterwards would be spare ones, which a restart gives again.
TEST_F(TransfersTest, NoIdComesNearTheSpareOnes) {
  EXPECT_FALSE(transfers().CanKeepIds(5, kFirstSpareId));
  EXPECT_TRUE(transfers().CanKeepIds(5, kFirstSpareId / 2));
  EXPECT_TRUE(transfers().RaiseNextId(kFirstSpareId).ok());
  EXPECT_EQ(1U, engine.next_id());
  EXPECT_EQ(1U, transfers().Hold("t", JobOf("in", kFirstSpareId - 1)).id);
  EXPECT_EQ(2U, engine.next_id());
  EXPECT_TRUE(transfers().RaiseNextId(kFirstSpareId / 2).ok());
  EXPECT_EQ(kFirstSpareId / 2, engine.next_id());
}

TEST_F(TransfersTest, AJobThatNoJournalStoresIsRefused) {
  const std::string key(Job::kMaxUnique + 1, 'k');
  std::vector<Record> jobs(3, JobOf("in"));
  jobs[0].unique = key;
  jobs[1].created = -1;
  jobs[2].burial = UINT64_MAX;
  for (const Record& job : jobs) {
    EXPECT_EQ(Code::kInvalid, Settle(1, job).code);
    EXPECT_EQ(Code::kInvalid, transfers().Hold("t", job).code);
  }
}

TEST_F(TransfersTest, SettingsThatAreLeftOutStay) {
  engine.CreateFunction("in");
  engine.SetMaxQueue("in", {1, 2, 3});
  Record tube;
  tube.tube = "in";
  tube.settings = {.pause_until = Now() + 9 * kSecond, .pause_s = 9};
  EXPECT_TRUE(transfers().SetTube(tube).ok());
  EXPECT_TRUE(At("in").paused());
  EXPECT_TRUE(At("in").settings.created_function);
  EXPECT_EQ((MaxQueue{1, 2, 3}), At("in").settings.max_queue);
  tube.settings.pause_until = -1;
  EXPECT_EQ(Code::kInvalid, transfers().SetTube(tube).code);
}

TEST_F(TransfersTest, OldIdsAreKeptIfNoneWasGivenOut) {
  EXPECT_TRUE(transfers().CanKeepIds(1, 100));
  PutInto("out");
  EXPECT_FALSE(transfers().CanKeepIds(1, 100));
  EXPECT_TRUE(transfers().CanKeepIds(2, 100));
}

TEST_F(TransfersTest, ATransferOrJobThatIsNotThereIsNotFound) {
  const JobId held = Hold();
  const Record job = JobOf("in");
  EXPECT_EQ(Code::kNotFound, transfers().Put(Now(), "other", job, "", {}).code);
  EXPECT_EQ(Code::kNotFound, transfers().Advance("other", {}).code);
  EXPECT_EQ(Code::kNotFound, transfers().Hold("other", job).code);
  EXPECT_EQ(Code::kNotFound, transfers().Confirm("other", held).code);
  EXPECT_EQ(Code::kNotFound, transfers().Commit(Now(), "t", held + 1).code);
  EXPECT_EQ(Code::kNotFound, transfers().Drop("other", held).code);
  EXPECT_EQ(Code::kNotFound, transfers().HoldBack("t", 99).code);
  EXPECT_EQ(Code::kNotFound, transfers().HoldBack("other", PutInto("in")).code);
  EXPECT_EQ(Code::kNotFound, transfers().Forget("other").code);
  EXPECT_EQ(Code::kInUse, transfers().Forget("t").code);
  transfer::Mark ahead;
  ahead.settled = 2;
  EXPECT_EQ(Code::kNotIgnored, transfers().Advance("t", ahead).code);
  EXPECT_EQ(Code::kNotIgnored, Settle(2, job).code);
}

TEST_F(TransfersTest, NothingHappensThatTheJournalDoesNotTake) {
  const JobId held = Hold();
  const JobId ours = PutInto("in");
  const JobId next = engine.next_id();
  journal.RefuseAll();
  Record settings;
  settings.tube = "in";
  EXPECT_EQ(Code::kJournal, transfers().Begin("new", {.kind = "import"}, 0, 0).code);
  EXPECT_EQ(Code::kJournal, transfers().Advance("t", {}).code);
  EXPECT_EQ(Code::kJournal, Settle(1, JobOf("in")).code);
  EXPECT_EQ(Code::kJournal, transfers().Hold("t", JobOf("in")).code);
  EXPECT_EQ(Code::kJournal, transfers().Confirm("t", held).code);
  EXPECT_EQ(Code::kJournal, transfers().Commit(Now(), "t", held).code);
  EXPECT_EQ(Code::kJournal, transfers().Drop("t", held).code);
  EXPECT_EQ(Code::kJournal, transfers().HoldBack("t", ours).code);
  EXPECT_EQ(Code::kJournal, transfers().RaiseNextId(next + 10).code);
  EXPECT_EQ(Code::kJournal, transfers().SetTube(settings).code);
  EXPECT_EQ(nullptr, transfers().Find("new"));
  EXPECT_EQ(next, engine.next_id());
  EXPECT_EQ("ready", State(ours));
  journal.AcceptAll();
  EXPECT_TRUE(transfers().Drop("t", held).ok());
  journal.RefuseAll();
  EXPECT_EQ(Code::kJournal, transfers().Forget("t").code);
  EXPECT_NE(nullptr, transfers().Find("t"));
  journal.AcceptAll();
  EXPECT_TRUE(transfers().Forget("t").ok());
}

TEST_F(TransfersTest, TheMarkNamesTheJobThatAPutMade) {
  transfer::Mark change;
  change.settled = 1;
  change.jobs.push_back({.key = "a", .kind = transfer::OutcomeKind::kAltered, .text = "shorter"});
  const JobId id = transfers().Put(Now(), "t", JobOf("in"), "a", std::move(change)).id;
  for (const auto& mark :
       {*transfers().Find("t"), *Restarted(journal.records()).engine.transfers().Find("t")}) {
    ASSERT_EQ(1u, mark.jobs.size());
    EXPECT_EQ(id, mark.jobs[0].job);
    EXPECT_EQ(1u, mark.altered);
    EXPECT_EQ(1u, mark.moved);
  }
}

TEST_F(TransfersTest, ADelayThatIsOverIsNoDelay) {
  Record job = JobOf("in");
  job.state = Record::State::kDelayed;
  job.due = Now();
  const JobId over = Settle(1, job).id;
  job.due = Now() + 5 * kSecond;
  const JobId waits = Settle(2, job).id;
  job.transfer.held = Record::Held::kFirstPhase;
  const JobId held = transfers().Hold("t", job).id, late = transfers().Hold("t", job).id;
  EXPECT_TRUE(transfers().Commit(Now(), "t", held).ok());
  EXPECT_EQ("ready", State(over));
  EXPECT_EQ("delayed", State(waits));
  EXPECT_EQ("delayed", State(held));
  EXPECT_EQ(5 * kSecond, engine.TimeLeft(Now(), *engine.Find(held)));
  Pass(5 * kSecond);
  EXPECT_TRUE(transfers().Commit(Now(), "t", late).ok());
  for (const JobId id : {waits, held, late}) EXPECT_EQ("ready", State(id));
  Restarted again(journal.records());
  EXPECT_EQ(JobState::kReady, again.engine.Find(late)->state());
}

TEST_F(TransfersTest, ABuriedJobWithoutAPlaceIsTheLast) {
  Record job = JobOf("in");
  job.state = Record::State::kBuried;
  const JobId first = Settle(1, job).id;
  job.transfer.held = Record::Held::kFirstPhase;
  const JobId held = transfers().Hold("t", job).id;
  const JobId second = Settle(2, job).id;
  EXPECT_TRUE(transfers().Commit(Now(), "t", held).ok());
  std::vector<JobId> order;
  At("in").VisitNext(JobState::kBuried, 9, [&](const Job& each) { order.push_back(each.id()); });
  EXPECT_THAT(order, ElementsAre(first, second, held));
}

// Those that the broker kicked or deleted meanwhile say nothing of the order.
TEST_F(TransfersTest, ABuriedJobFindsItsPlaceAmongThoseThatAreLeft) {
  ASSERT_TRUE(transfers().Begin("t", {.kind = "import"}, 0, 9).ok());
  transfers().Use();
  const auto put = [&](std::uint64_t burial) {
    Record job = JobOf("in");
    job.state = Record::State::kBuried;
    job.burial = burial;
    return transfers().Put(Now(), "t", job, "key", {}).id;
  };
  const JobId last = put(9);
  const JobId kicked = put(4), deleted = put(5), again = put(6);
  EXPECT_TRUE(engine.KickJob(Now(), kicked).ok());
  EXPECT_TRUE(engine.Cancel(Now(), deleted).ok());
  EXPECT_TRUE(engine.KickJob(Now(), again).ok());
  EXPECT_TRUE(engine.Bury(again, std::nullopt, false).ok());
  const JobId came = put(3);
  transfers().Release();
  std::vector<JobId> order;
  At("in").VisitNext(JobState::kBuried, 9, [&](const Job& job) { order.push_back(job.id()); });
  EXPECT_THAT(order, ElementsAre(came, last, again));
}

TEST_F(TransfersTest, AnIdThatNoJobMayHaveIsTaken) {
  const JobId held = Hold();
  EXPECT_TRUE(Settle(1, JobOf("in", held)).ok());
  EXPECT_TRUE(Settle(2, JobOf("in", (JobId{1} << 61) + 1)).ok());
  EXPECT_EQ(2u, transfers().Find("t")->refused);
  EXPECT_EQ(0u, engine.Stats().ready);
  EXPECT_EQ(1u, transfers().held());
}

TEST_F(TransfersTest, TimesBeforeTheFirstAreRefused) {
  std::vector<Record> jobs(3, JobOf("in"));
  jobs[0].due = -1;
  jobs[1].failure.ended = -1;
  jobs[2].expires = -1;
  for (const Record& job : jobs) EXPECT_EQ(Code::kInvalid, Settle(1, job).code);
}

TEST_F(TransfersTest, ABrokerThatTakesNoJobsTakesNoneOfATransfer) {
  engine.SetDraining(true);
  EXPECT_EQ(Code::kDraining, Settle(1, JobOf("in")).code);
  engine.SetDraining(false);
  engine.SetLimits({.memory = 1});
  EXPECT_EQ(Code::kOutOfMemory, Settle(1, JobOf("in")).code);
  EXPECT_EQ(Code::kOutOfMemory, transfers().Hold("t", JobOf("in")).code);
  engine.SetLimits({});
  journal.SetDiskLow(true);
  EXPECT_EQ(Code::kDiskLow, Settle(1, JobOf("in")).code);
  journal.SetDiskLow(false);
  journal.SetRoom(3);
  EXPECT_EQ(Code::kJournal, Settle(1, JobOf("in")).code);
  EXPECT_EQ(1u, engine.Stats().refused[static_cast<std::size_t>(Code::kDraining)]);
  journal.SetRoom(4);
  EXPECT_TRUE(Settle(1, JobOf("in")).ok()) << "nothing of it was settled";
}

TEST_F(TransfersTest, ATransferBeginsOnlyWithItsIds) {
  journal.Refuse(Record::Kind::kNextId);
  EXPECT_EQ(Code::kJournal, transfers().Begin("new", {.kind = "import"}, 100, 0).code);
  EXPECT_EQ(nullptr, transfers().Find("new"));
  EXPECT_TRUE(transfers().Begin("new", {.kind = "import"}, 0, 0).ok()) << "it needs none";
}

TEST_F(TransfersTest, WhatJoinsAndCannotBeNotedStaysHeld) {
  Record job = JobOf("in");
  job.unique = "key";
  Settle(1, job);
  job.transfer.held = Record::Held::kFirstPhase;
  const JobId id = transfers().Hold("t", job).id;
  journal.Refuse(Record::Kind::kPut);
  EXPECT_EQ(Code::kJournal, transfers().Commit(Now(), "t", id).code);
  EXPECT_EQ(1u, transfers().held());
  EXPECT_EQ(0u, transfers().Find("t")->joined);
  journal.AcceptAll();
  EXPECT_TRUE(transfers().Commit(Now(), "t", id).ok());
  EXPECT_EQ(0u, transfers().held());
  EXPECT_EQ(1u, transfers().Find("t")->joined);
}

TEST_F(TransfersTest, AJobThatSomebodyHasOrAwaitsIsNotHeldBack) {
  RecordingObserver& client = Client();
  const JobId foreground = Foreground("f", client);
  const JobId reserved = PutInto("in");
  Reserve(Connect("in"));
  const JobId awaited = Submit("g", {.unique = "k"}).id;
  Submit("g", {.unique = "k"}, &client);
  for (const JobId id : {foreground, reserved, awaited}) {
    EXPECT_EQ(Code::kNotFound, transfers().HoldBack("t", id).code) << id;
    EXPECT_NE(nullptr, engine.Find(id));
  }
  EXPECT_EQ(0u, transfers().held());
  while (!engine.Forget(client)) continue;
  EXPECT_TRUE(transfers().HoldBack("t", awaited).ok());
}

TEST_F(TransfersTest, AJobIsDescribedAsItsRecordHasIt) {
  const JobId id = PutInto("out", {.priority = 3, .delay_s = 9, .ttr_s = 7, .body = "b"});
  Record whole, change;
  change.kind = Record::Kind::kChange;
  transfers().Describe(*engine.Find(id), whole);
  transfers().Describe(*engine.Find(id), change);
  for (const Record& record : {whole, change}) {
    EXPECT_EQ(id, record.id);
    EXPECT_EQ(3u, record.priority);
    EXPECT_EQ(Record::State::kDelayed, record.state);
    EXPECT_EQ(Now() + 9 * kSecond, record.due);
  }
  EXPECT_EQ("out", whole.tube);
  EXPECT_EQ(7u, whole.ttr_s);
  EXPECT_EQ("b", whole.body);
  EXPECT_EQ("", change.body);
}

TEST_F(TransfersTest, OnlyItsOwnSettingsOfATubeAreToldAndTaken) {
  engine.SetLimits({.max_queue = {{"in", {5, 5, 5}}}});
  PutInto("in");
  EXPECT_EQ((MaxQueue{5, 5, 5}), At("in").settings.max_queue);
  EXPECT_EQ(MaxQueue{}, transfers().SettingsOf(At("in")).max_queue) << "the configuration's";
  Record tube;
  tube.tube = "in";
  tube.settings.max_queue = {1, 2, 3};
  EXPECT_TRUE(transfers().SetTube(tube).ok());
  EXPECT_EQ((MaxQueue{1, 2, 3}), transfers().SettingsOf(At("in")).max_queue);
  Restarted again(journal.records());
  EXPECT_EQ((MaxQueue{1, 2, 3}), again.engine.FindTube("in")->settings.max_queue);
}

TEST_F(TransfersTest, ARecordWithABadMarkChangesNoTransfer) {
  Record mark;
  mark.kind = Record::Kind::kMark;
  mark.transfer.name = "t";
  for (const std::string_view text : {"", "\x07"}) {
    mark.transfer.mark = text;
    EXPECT_TRUE(engine.records().Apply(mark).ok());
    EXPECT_EQ("import", transfers().Find("t")->kind);
  }
}

// A compaction has carried forward what was held back later.
TEST_F(TransfersTest, AHeldRecordReplacesTheLiveJobOfItsId) {
  const JobId id = PutInto("out");
  Record held = JobOf("out", id);
  held.transfer.name = "t";
  held.transfer.held = Record::Held::kFirstPhase;
  std::vector<OwnedRecord> records = journal.records();
  records.emplace_back(held);
  Restarted again(records);
  EXPECT_EQ(nullptr, again.engine.Find(id));
  EXPECT_EQ(1u, again.engine.transfers().held());
  held.transfer.held = Record::Held::kNot;
  records.emplace_back(held);
  Restarted later(records);
  EXPECT_NE(nullptr, later.engine.Find(id)) << "the newer record counts";
  EXPECT_EQ(0u, later.engine.transfers().held());
}

// As an import brings it that renames the dead tube.
TEST_F(TransfersTest, AJobInTheTubeThatItCameFromIsNotDead) {
  for (const char* const groups : {"none", "line"}) {
    EXPECT_TRUE(engine.SetPolicy(Now(), "in", "group", groups).status.ok());
    Record job = JobOf("in");
    job.state = Record::State::kBuried;
    job.failure.cause = Record::Cause::kFailed;
    job.failure.origin = "in";
    const JobId id = transfers().Put(Now(), "t", job, "key", {}).id;
    EXPECT_EQ("", engine.Find(id)->origin());
    EXPECT_EQ(1u, At("in").buried());
    EXPECT_EQ(0u, engine.Stats().dead);
    Restarted again(journal.records());
    EXPECT_EQ(1u, again.engine.FindTube("in")->buried());
    EXPECT_TRUE(engine.KickJob(Now(), id).ok());
    EXPECT_EQ("ready", State(id));
    EXPECT_TRUE(engine.Cancel(Now(), id).ok());
  }
}

// A broker that keeps nothing moves jobs, too.
TEST(TransfersInMemory, EveryStepIsDoneAtOnce) {
  MemoryJournal journal;
  Engine engine({}, journal);
  Transfers& transfers = engine.transfers();
  RecordingConsumer producer;
  engine.Join(producer);
  engine.Use(producer, "out");
  const JobId ours = engine.Put(1, producer, MakeJob({})).id;
  Record job;
  job.tube = "in";
  job.body = "body";
  const auto done = [](const Transfers::Change& change) { return change.ok() && change.lsn == 0; };
  EXPECT_TRUE(done(transfers.Begin("t", {.kind = "hand-back"}, 100, 0)));
  EXPECT_EQ(100u, engine.next_id());
  EXPECT_TRUE(done(transfers.Put(1, "t", job, "key", {.settled = 1})));
  EXPECT_TRUE(done(transfers.Advance("t", {.state = "half"})));
  EXPECT_EQ("half", transfers.Find("t")->state);
  EXPECT_TRUE(done(transfers.HoldBack("t", ours)));
  EXPECT_TRUE(done(transfers.Confirm("t", ours)));
  EXPECT_EQ(1u, engine.Stats().ready);
  EXPECT_TRUE(done(transfers.Commit(1, "t", ours)));
  EXPECT_EQ(2u, engine.Stats().ready);
  const auto held = transfers.Hold("t", job);
  EXPECT_TRUE(done(held));
  EXPECT_TRUE(done(transfers.Drop("t", held.id)));
  EXPECT_TRUE(done(transfers.RaiseNextId(500)));
  EXPECT_EQ(500u, engine.next_id());
  job.settings.created_function = true;
  EXPECT_TRUE(done(transfers.SetTube(job)));
  EXPECT_TRUE(engine.FindTube("in")->settings.created_function);
  EXPECT_TRUE(done(transfers.Forget("t")));
  EXPECT_EQ(nullptr, transfers.Find("t"));
  EXPECT_EQ("", engine.CheckInvariants({&producer}));
  while (!engine.Leave(1, producer)) continue;
}

}  // namespace
}  // namespace gearstalk
