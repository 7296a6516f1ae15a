#include <string>
#include <vector>

#include "broker/journal/byte_buffer.h"
#include "broker/journal/record_codec.h"
#include "tests/engine/any_records.h"
#include "tests/engine/durable_state.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {
namespace {

class ReplayTest : public EngineTest {
 protected:
  // A broker that starts with what the journal of this one holds.
  struct Restarted {
    explicit Restarted(std::vector<OwnedRecord> records, Time now = kNever)
        : journal(std::move(records)), engine({}, journal) {
      Restart(journal, engine, now);
    }
    KeptJournal journal;
    Engine engine;
  };

  void ExpectSameAfterRestart() {
    Restarted other(journal.records());
    EXPECT_EQ("", other.engine.CheckInvariants({}));
    while (other.engine.Tick(Now()) <= Now()) {
    }
    EXPECT_EQ(DurableState(engine), DurableState(other.engine));
    EXPECT_GE(NextId(other.engine), NextId(engine));
    EXPECT_EQ("", other.engine.CheckInvariants({}));
  }
};

TEST_F(ReplayTest, AJobComesBackWhole) {
  Put(Connect("t"), {.priority = 7, .ttr_s = 9, .body = std::string_view("a\0\r\n", 4)});
  Submission submission;
  submission.tube = "f";
  submission.reducer = "sum";
  submission.unique_is_body = true;
  engine.Submit(Now(), Connect(), MakeJob({.body = "key", .unique = "-"}), submission);
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  const Job* job = other.engine.Find(1);
  ASSERT_NE(nullptr, job);
  EXPECT_EQ(std::string_view("a\0\r\n\r\n", 6), BodyCrlf(*job));
  EXPECT_EQ("t", job->tube().name());
  EXPECT_TRUE(job->keep_on_failure);
  EXPECT_TRUE(job->durable);
  EXPECT_FALSE(other.engine.Find(2)->keep_on_failure);
  EXPECT_EQ(0u, other.engine.Stats().total_jobs);
}

TEST_F(ReplayTest, AReservedJobIsReady) {
  RecordingConsumer& consumer = Connect();
  Put(consumer);
  Reserve(consumer);
  ExpectSameAfterRestart();
  EXPECT_EQ(JobState::kReady, Restarted(journal.records()).engine.Find(1)->state());
}

TEST_F(ReplayTest, AReleaseKeepsItsPriority) {
  RecordingConsumer& consumer = Connect();
  Put(consumer);
  Reserve(consumer);
  engine.Release(Now(), consumer, 1, 3, 0);
  ExpectSameAfterRestart();
  EXPECT_EQ(3u, Restarted(journal.records()).engine.Find(1)->priority);
}

TEST_F(ReplayTest, ADelayGoesOn) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.delay_s = 10});
  Put(consumer);
  Reserve(consumer);
  engine.Release(Now(), consumer, 2, 3, 20);
  Pass(10 * kSecond);
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  EXPECT_EQ(JobState::kDelayed, other.engine.Find(1)->state());
  EXPECT_EQ(Now(), other.engine.Tick(Now() - 1));
  EXPECT_EQ(Now() + 10 * kSecond, other.engine.Tick(Now()));
  EXPECT_EQ(JobState::kReady, other.engine.Find(1)->state());
  EXPECT_EQ(10u, other.engine.Find(1)->delay_s);
  EXPECT_EQ(20u, other.engine.Find(2)->delay_s);
}

TEST_F(ReplayTest, NoDelayOrPauseIsLongerThanItWasWhenTheClockWasSetBack) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.delay_s = 5});
  const Time epoch = Now() + 100 * kSecond;
  Submit("f", {.ttr_s = 0}, nullptr, epoch);
  engine.Pause(Now(), "default", 7);
  const Time back = Now() - 3600 * kSecond;
  Restarted other(journal.records(), back);
  EXPECT_EQ(5 * kSecond, other.engine.TimeLeft(back, *other.engine.Find(1)));
  EXPECT_EQ(epoch - back, other.engine.TimeLeft(back, *other.engine.Find(2)));
  EXPECT_EQ(back + 7 * kSecond, other.engine.FindTube("default")->settings.pause_until);
}

// A worker may see a job before the record of its kick or release is on disk (docs/durability.md).
TEST_F(ReplayTest, AJobThatRanBeforeItsKickOrReleaseWasDurableIsAsItWasBefore) {
  RecordingConsumer &first = Connect(), &second = Connect();
  Put(first);
  Put(first);
  Reserve(first);
  Reserve(first);
  engine.Bury(Now(), first, 1, 0);
  const Lsn before = journal.last();
  journal.HoldBack();
  const Lsn kicked = engine.KickJob(Now(), 1).lsn;
  const Lsn released = engine.Release(Now(), first, 2, 5, 0).lsn;
  Taken taken;
  for (const JobId id : {1, 2}) {
    engine.Reserve(Now(), second, kNever, taken);
    ASSERT_EQ(id, taken.job->id());
    EXPECT_LE(taken.lsn, journal.Durable()) << "it is shown at once";
  }
  const Lsn first_gone = engine.Delete(Now(), second, 1).lsn;
  const Lsn second_gone = engine.Delete(Now(), second, 2).lsn;
  EXPECT_LT(released, first_gone);

  const auto after_a_cut_at = [&](Lsn lsn) {
    const auto end = journal.records().begin() + static_cast<std::ptrdiff_t>(lsn);
    const Restarted other({journal.records().begin(), end});
    EXPECT_EQ("", other.engine.CheckInvariants({}));
    std::string states;
    for (const JobId id : {1, 2}) {
      const Job* const job = other.engine.Find(id);
      states += job == nullptr ? "gone " : job->state() == JobState::kBuried ? "buried " : "ready ";
    }
    return states;
  };
  EXPECT_EQ("buried ready ", after_a_cut_at(before));
  EXPECT_EQ("ready ready ", after_a_cut_at(kicked));
  EXPECT_EQ("ready ready ", after_a_cut_at(released));
  // A deletion that was acknowledged is behind what made the job ready.
  EXPECT_EQ("gone ready ", after_a_cut_at(first_gone));
  EXPECT_EQ("gone gone ", after_a_cut_at(second_gone));
}

TEST_F(ReplayTest, BuriedJobsKeepTheOrderOfBurial) {
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 4; ++i) Put(consumer);
  for (const JobId id : {3, 1, 4, 2}) {
    engine.ReserveJob(Now(), consumer, id);
    engine.Bury(Now(), consumer, id, 0);
  }
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  RecordingConsumer kicker;
  other.engine.Join(kicker);
  other.engine.Use(kicker, "default");
  for (const JobId id : {3, 1, 4, 2}) {
    std::optional<KickFrom> from;
    EXPECT_EQ(id, other.engine.FindTube("default")->NextBuried()->id());
    other.engine.Kick(Now(), kicker, 1, from);
  }
  other.engine.Leave(Now(), kicker);
}

TEST_F(ReplayTest, TheOrderOfBurialDoesNotHangOnTheOrderOfRecords) {
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 3; ++i) Put(consumer);
  for (const JobId id : {2, 3, 1}) {
    engine.ReserveJob(Now(), consumer, id);
    engine.Bury(Now(), consumer, id, 0);
  }
  for (const JobId id : {2, 3}) {
    engine.records().Capture(id, [&](const Record& record) { journal.Append(record); });
  }
  Restarted other(journal.records());
  for (const JobId id : {2, 3, 1}) {
    EXPECT_EQ(id, other.engine.FindTube("default")->NextBuried()->id());
    other.engine.Cancel(Now(), id);
  }
}

TEST_F(ReplayTest, AReservationOfABuriedOrDelayedJobLastsLikeAKick) {
  RecordingConsumer& consumer = Connect();
  Put(consumer);
  Put(consumer, {.delay_s = 1000});
  Reserve(consumer);
  engine.Bury(Now(), consumer, 1, 0);
  engine.ReserveJob(Now(), consumer, 1);
  engine.ReserveJob(Now(), consumer, 2);
  ExpectSameAfterRestart();
  Leave(consumer);
  EXPECT_EQ("ready", State(1));
  EXPECT_EQ("ready", State(2));
  ExpectSameAfterRestart();
}

TEST_F(ReplayTest, CountersAreThoseOfTheLastRecord) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 5});
  Reserve(consumer);
  Pass(5 * kSecond);
  Reserve(consumer);
  engine.Release(Now(), consumer, 1, 0, 0);
  Reserve(consumer);
  engine.Bury(Now(), consumer, 1, 0);
  engine.KickJob(Now(), 1);
  Restarted other(journal.records());
  const Job& job = *other.engine.Find(1);
  EXPECT_EQ(3u, job.reserves);
  EXPECT_EQ(1u, job.extra().timeouts);
  EXPECT_EQ(1u, job.extra().releases);
  EXPECT_EQ(1u, job.extra().buries);
  EXPECT_EQ(1u, job.extra().kicks);
}

TEST_F(ReplayTest, ForegroundJobsAreForgottenUnlessTheyBecameDurable) {
  RecordingObserver& client = Client();
  Foreground("f", client);
  Submit("f", {.unique = "k"}, &client);
  Submit("f", {.unique = "k"});
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  EXPECT_EQ(nullptr, other.engine.Find(1));
  EXPECT_EQ(2u, FindUnique(other.engine, "k")->id());
}

TEST_F(ReplayTest, FinishedJobsStayGoneAndTheirKeysFree) {
  Submit("f", {.unique = "k"});
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  engine.WorkComplete(Now(), worker, 1, "");
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  EXPECT_EQ(nullptr, other.engine.Find(1));
  EXPECT_EQ(nullptr, FindUnique(other.engine, "k"));
  EXPECT_EQ(nullptr, other.engine.FindTube("f"));
}

TEST_F(ReplayTest, SettingsOfTubesComeBack) {
  engine.CreateFunction("created");
  engine.CreateFunction("dropped");
  engine.DropFunction("dropped");
  PutInto("paused");
  engine.Pause(Now(), "paused", 100);
  PutInto("limited");
  engine.SetMaxQueue("limited", {1, 2, 3});
  engine.Cancel(Now(), 2);
  ExpectSameAfterRestart();
  Restarted other(journal.records());
  EXPECT_TRUE(other.engine.FindTube("created")->settings.created_function);
  EXPECT_EQ(nullptr, other.engine.FindTube("dropped"));
  EXPECT_EQ(100 * kSecond, other.engine.PauseLeft(Now(), *other.engine.FindTube("paused")));
  EXPECT_EQ(100u, other.engine.FindTube("paused")->settings.pause_s);
  EXPECT_NE(nullptr, other.engine.FindTube("limited"));
  Pass(100 * kSecond);
  ExpectSameAfterRestart();
}

TEST_F(ReplayTest, APauseDoesNotOutliveItsTube) {
  RecordingConsumer& consumer = Connect("t");
  engine.Pause(Now(), "t", 100);
  Restarted other(journal.records());
  EXPECT_EQ(nullptr, other.engine.FindTube("t"));
  Leave(consumer);
  ExpectSameAfterRestart();
}

TEST_F(ReplayTest, RecordsOfUnknownJobsAreSkipped) {
  RecordingConsumer& consumer = Connect();
  Put(consumer);
  Reserve(consumer);
  engine.Release(Now(), consumer, 1, 0, 0);
  engine.Delete(Now(), consumer, 1);
  std::vector<OwnedRecord> records = journal.records();
  records.erase(records.begin());
  Restarted other(records);
  EXPECT_EQ(nullptr, other.engine.NextJob(0));
}

TEST_F(ReplayTest, AJobThatWasCarriedForwardIsThereOnce) {
  RecordingConsumer& consumer = Connect();
  Put(consumer);
  Submit("f", {.unique = "k"});
  Reserve(consumer);
  engine.Bury(Now(), consumer, 1, 5);
  for (const JobId id : {1, 2}) {
    EXPECT_TRUE(
        engine.records().Capture(id, [&](const Record& record) { journal.Append(record); }));
  }
  ExpectSameAfterRestart();
  EXPECT_EQ(1u, Restarted(journal.records()).engine.Find(1)->reserves);
  engine.KickJob(Now(), 1);
  ExpectSameAfterRestart();
  engine.Cancel(Now(), 2);
  ExpectSameAfterRestart();
}

TEST_F(ReplayTest, ACarriedJobBringsItsCountersUpToDate) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 1});
  Reserve(consumer);
  EXPECT_EQ(0u, Restarted(journal.records()).engine.Find(1)->reserves);
  Pass(kSecond);
  engine.records().Capture(1, [&](const Record& record) { journal.Append(record); });
  Restarted other(journal.records());
  EXPECT_EQ(1u, other.engine.Find(1)->reserves);
  EXPECT_EQ(1u, other.engine.Find(1)->extra().timeouts);
}

TEST_F(ReplayTest, OnlyDurableJobsAreCarriedForward) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  const auto emit = [](const Record&) { FAIL(); };
  EXPECT_FALSE(engine.records().Capture(id, emit));
  EXPECT_FALSE(engine.records().Capture(id + 1, emit));
}

// What the codec takes may be senseless: a replay ends with a sound engine all the same.
TEST_F(ReplayTest, AnyRecordsThatTheCodecTakesLeaveASoundEngine) {
  const PolicyRules rules({{.match = "*",
                            .values = {{"group", "line"},
                                       {"group_order", "fifo"},
                                       {"group_on_failure", "hold"},
                                       {"keep_buried_jobs", "2"}}}});
  AnyRecords any(Now());
  RecordCodec codec;
  std::size_t taken = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<OwnedRecord> records;
    for (int i = 0; i < 12; ++i) {
      const Record record = any.Next(i % 2 == 1);
      ByteBuffer bytes;
      codec.Encode(record, bytes);
      Record decoded;
      if (codec.Decode(bytes.view(), record.body, decoded).ok()) records.emplace_back(decoded);
    }
    taken += records.size();
    KeptJournal kept(std::move(records));
    Engine restarted({}, kept);
    if (round % 2 == 1) restarted.SetRules(Now(), rules);
    Restart(kept, restarted, any.Happens(2) ? Now() : Now() - 3600 * kSecond);
    ASSERT_EQ("", restarted.CheckInvariants({})) << round;
    for (int i = 0; i < 4 && restarted.Tick(Now()) <= Now(); ++i) {
    }
    ASSERT_EQ("", restarted.CheckInvariants({})) << round;
  }
  EXPECT_GT(taken, 10'000u);
}

Record BuriedWithoutABody(std::string_view why) {
  Record record;
  record.id = 1;
  record.tube = "t";
  record.state = Record::State::kBuried;
  record.burial = 1;
  record.failure.cause = Record::Cause::kBuried;
  record.failure.cause_text = why;
  return record;
}

TEST_F(ReplayTest, ADamagedJobStaysBuriedWhereItsBodyIsNotKept) {
  Restarted other({OwnedRecord(BuriedWithoutABody("damaged"))});
  EXPECT_TRUE(IsDamaged(*other.engine.Find(1)));
  EXPECT_TRUE(other.engine.KickJob(Now(), 1).ok());
  EXPECT_EQ(JobState::kBuried, other.engine.Find(1)->state());
  EXPECT_EQ("", other.engine.CheckInvariants({}));
}

TEST_F(ReplayTest, AJobThatNeverHadABodyIsNotDamaged) {
  Restarted other({OwnedRecord(BuriedWithoutABody(""))});
  EXPECT_FALSE(IsDamaged(*other.engine.Find(1)));
  EXPECT_TRUE(other.engine.KickJob(Now(), 1).ok());
  EXPECT_EQ(JobState::kReady, other.engine.Find(1)->state());
}

TEST_F(ReplayTest, OnlySettingsThatDifferAreCarriedForward) {
  for (const char* const tube : {"paused", "resumed", "set"}) PutInto(tube);
  engine.Pause(Now(), "paused", 100);
  engine.Pause(Now(), "resumed", 100);
  engine.Pause(Now(), "resumed", 0);
  EXPECT_TRUE(engine.SetPolicy(Now(), "set", "ttr", "9").status.ok());
  std::vector<std::string> carried;
  engine.records().CaptureSettings([&](const Record& record) {
    if (record.kind == Record::Kind::kTube) carried.emplace_back(record.tube);
  });
  EXPECT_THAT(carried, ElementsAre("paused", "set"));
}

}  // namespace
}  // namespace gearstalk
