// Jobs that move in and out: marks, whole puts and held jobs, and what a restart finds of them.

#include "broker/engine/transfers.h"

#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {
namespace {

class TransfersTest : public EngineTest {
 protected:
  TransfersTest() { EXPECT_TRUE(transfers().Begin("t", {.kind = "import"}, 0, 0).ok()); }

  Transfers& transfers() { return engine.transfers(); }

  static Record JobOf(std::string_view tube, std::uint64_t id = 0) {
    Record job;
    job.tube = tube;
    job.id = id;
    job.priority = 5;
    job.body = "body";
    return job;
  }

  Transfers::Change Settle(std::uint64_t place, const Record& job) {
    transfer::Mark change;
    change.settled = place;
    return transfers().Put(Now(), "t", job, "key", std::move(change));
  }

  JobId Hold(Record::Held phase = Record::Held::kFirstPhase) {
    Record job = JobOf("in");
    job.transfer.held = phase;
    job.transfer.source_id = 77;
    return transfers().Hold("t", job).id;
  }

  struct Restarted {
    explicit Restarted(std::vector<KeptRecord> records)
        : journal(std::move(records)), engine({}, journal) {
      Restart(journal, engine);
      EXPECT_EQ("", engine.CheckInvariants({}));
    }
    KeptJournal journal;
    Engine engine;
  };
};

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
  std::vector<KeptRecord> carried;
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
  EXPECT_TRUE(At("in").settings().created_function);
  EXPECT_EQ((MaxQueue{1, 2, 3}), At("in").settings().max_queue);
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

}  // namespace
}  // namespace gearstalk
