#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "broker/journal/memory_journal.h"
#include "tests/engine/durable_state.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {
namespace {

class JournalTest : public EngineTest {
 protected:
  std::vector<Record::Kind> Since(Lsn before) const {
    std::vector<Record::Kind> kinds;
    for (Lsn lsn = before; lsn < journal.last(); ++lsn) {
      kinds.push_back(journal.records()[lsn].View().kind);
    }
    return kinds;
  }
};

constexpr auto kPut = Record::Kind::kPut;
constexpr auto kChange = Record::Kind::kChange;
constexpr auto kDelete = Record::Kind::kDelete;
constexpr auto kTube = Record::Kind::kTube;
constexpr auto kNextId = Record::Kind::kNextId;

// --- What each verb records, and which position its answer waits for

TEST_F(JournalTest, ChangesThatOutliveARestartAreRecorded) {
  RecordingConsumer& consumer = Connect();
  const auto records = [&](Record::Kind kind, Lsn lsn) {
    ASSERT_EQ(journal.last(), lsn);
    EXPECT_EQ(kind, journal.records().back().View().kind);
  };
  records(kPut, engine.Put(Now(), consumer, MakeJob({})).lsn);
  EXPECT_EQ("reserved 1", Reserve(consumer));
  records(kChange, engine.Release(Now(), consumer, 1, 5, 0).lsn);
  Reserve(consumer);
  records(kChange, engine.Release(Now(), consumer, 1, 5, 7).lsn);
  records(kChange, engine.KickJob(Now(), 1).lsn);
  Reserve(consumer);
  records(kChange, engine.Bury(Now(), consumer, 1, 5).lsn);
  std::optional<KickFrom> from;
  records(kChange, engine.Kick(Now(), consumer, 9, from).lsn);
  records(kDelete, engine.Delete(Now(), consumer, 1).lsn);
  records(kTube, engine.Pause(Now(), "default", 9).lsn);
  records(kTube, engine.CreateFunction("f").lsn);
  records(kTube, engine.SetMaxQueue("f", {1, 2, 3}).lsn);
  records(kPut, Submit("f", {}).lsn);
  Worker({"f"});
  records(kDelete, engine.Cancel(Now(), 2).lsn);
}

TEST_F(JournalTest, AReservedJobThatWasBuriedIsHeardOfWithItsRecord) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {});
  Reserve(consumer);
  engine.Bury(Now(), consumer, 1, 5);
  const Lsn before = journal.last();
  EXPECT_EQ(before + 1, engine.ReserveJob(Now(), consumer, 1).lsn);
  EXPECT_EQ(kChange, journal.records().back().View().kind);
}

TEST_F(JournalTest, ASecondCreateFunctionWaitsForTheRecordOfTheFirst) {
  const Lsn first = engine.CreateFunction("f").lsn;
  EXPECT_GT(first, 0u);
  EXPECT_EQ(first, engine.CreateFunction("f").lsn);
  EXPECT_EQ(first, journal.last());
}

TEST_F(JournalTest, AJournalThatFailedTakesWhatItDidNotKeepWithIt) {
  RecordingConsumer& consumer = Connect();
  RecordingObserver& client = Client();
  Put(consumer, {});
  journal.HoldBack();
  Put(consumer, {});                      // 2
  Submit("f", {.unique = "k"}, &client);  // 3, for a client
  Submit("f", {.unique = "k"});           // to be kept as well
  Submit("f", {.unique = "reserved"});    // 4
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  Grab(worker);
  journal.RefuseAll();
  engine.DropUndurable();
  EXPECT_NE(nullptr, engine.Find(1));
  EXPECT_EQ(nullptr, engine.Find(2));
  EXPECT_NE(nullptr, engine.Find(3));
  EXPECT_EQ(nullptr, engine.Find(4));
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, 3, "x").ok());
  EXPECT_EQ(Code::kNotFound, engine.WorkComplete(Now(), worker, 4, "x").code);
  // What needs no journal waits for none.
  EXPECT_LE(Submit("f", {}, &client).lsn, journal.Durable());
}

TEST_F(JournalTest, AReservationIsRecordedWhenItEndsBadly) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 5});
  const Lsn before = journal.last();
  Reserve(consumer);
  EXPECT_EQ(0u, engine.Touch(Now(), consumer, 1).lsn);
  EXPECT_EQ(before, journal.last());
  Pass(5 * kSecond);
  EXPECT_EQ(before + 1, journal.last());
  Reserve(consumer);
  Leave(consumer);
  EXPECT_EQ(before + 2, journal.last());
}

TEST_F(JournalTest, TheEndOfAJobIsToldWithItsPosition) {
  RecordingObserver& client = Client();
  Submit("f", {.unique = "k"});
  Submit("f", {.unique = "k"}, &client);
  RecordingConsumer& worker = Worker({"f"});
  Grab(worker);
  const Outcome outcome = engine.WorkComplete(Now(), worker, 1, "x");
  EXPECT_EQ(journal.last(), outcome.lsn);
  EXPECT_EQ(journal.last(), client.lsn());
  EXPECT_EQ(kDelete, journal.records().back().View().kind);
}

TEST_F(JournalTest, NoJobIsShownBeforeItsPutIsDurable) {
  journal.HoldBack();
  RecordingConsumer &waiter = Connect(), &consumer = Connect("t"), &worker = Worker({"f"});
  Reserve(waiter);
  const Lsn first = engine.Put(Now(), Connect(), MakeJob({})).lsn;
  EXPECT_EQ(first, waiter.lsn());
  PutInto("t");
  const Lsn second = journal.last();
  Background("f");
  const Lsn third = journal.last();
  Taken taken;
  engine.Reserve(Now(), consumer, kNever, taken);
  EXPECT_EQ(second, taken.lsn);
  EXPECT_EQ(third, engine.Grab(Now(), worker).lsn);
  engine.Release(Now(), consumer, 2, 0, 0);
  EXPECT_EQ(second, engine.ReserveJob(Now(), consumer, 2).lsn);
}

TEST_F(JournalTest, WhatIsDurableIsShownAtOnce) {
  journal.HoldBack();
  RecordingConsumer& consumer = Connect();
  for (int i = 0; i < 3; ++i) Put(consumer);
  journal.MakeDurable(2);
  Taken taken;
  for (const bool durable : {true, true, false}) {
    engine.Reserve(Now(), consumer, kNever, taken);
    EXPECT_EQ(durable, taken.lsn <= journal.Durable());
  }
  journal.MakeDurable(3);
  Put(consumer);
  engine.ReserveJob(Now(), Connect(), 4);
  engine.Release(Now(), consumer, 3, 0, 0);
  engine.Reserve(Now(), consumer, kNever, taken);
  EXPECT_EQ(3u, taken.job->id());
  EXPECT_LE(taken.lsn, journal.Durable());
}

TEST_F(JournalTest, WhoJoinsABackgroundJobWaitsForItsPut) {
  journal.HoldBack();
  const Added first = Submit("f", {.unique = "k"});
  EXPECT_GT(first.lsn, journal.Durable());
  EXPECT_EQ(first.lsn, Submit("f", {.unique = "k"}).lsn);
  EXPECT_EQ(first.lsn, Submit("f", {.unique = "k"}, &Client()).lsn);
}

TEST_F(JournalTest, WhoJoinsAJobThatBecameDurableWaitsForThat) {
  RecordingObserver& client = Client();
  Submit("f", {.unique = "k"}, &client);
  journal.HoldBack();
  Background("f");
  const Added first = Submit("f", {.unique = "k"});
  EXPECT_EQ(journal.last(), first.lsn);
  Background("f");
  EXPECT_EQ(first.lsn, Submit("f", {.unique = "k"}).lsn);
  EXPECT_EQ(first.lsn, engine.ReserveJob(Now(), Connect(), first.id).lsn);
}

TEST_F(JournalTest, AForegroundJobNeedsNoDiskOnceItsIdIsTaken) {
  journal.HoldBack();
  RecordingObserver& client = Client();
  const Added first = Submit("f", {}, &client);
  EXPECT_THAT(Since(0), ElementsAre(kNextId));
  EXPECT_EQ(1u, first.lsn);
  EXPECT_EQ(1u, Submit("f", {}, &client).lsn);
  RecordingConsumer& worker = Worker({"f"});
  EXPECT_EQ(1u, engine.Grab(Now(), worker).lsn);
  journal.MakeDurable(1);
  EXPECT_LE(Submit("f", {}, &client).lsn, journal.Durable());
  EXPECT_EQ(0u, engine.WorkComplete(Now(), worker, first.id, "").lsn);
  EXPECT_EQ(1u, journal.last());
}

TEST_F(JournalTest, ABlockOfIdsThatIsLostWithTheDiskIsNotUsedUp) {
  journal.HoldBack();
  journal.Refuse(kNextId);  // the disk is full
  RecordingObserver& client = Client();
  EXPECT_GT(Submit("f", {}, &client).lsn, journal.Durable());
  journal.RefuseAll();  // now it has failed
  engine.DropUndurable();
  EXPECT_GE(Foreground("f", client), kFirstSpareId);
}

TEST_F(JournalTest, TheEndOfAJobThatLeftTheBuriedOnAFullDiskSaysSo) {
  RecordingConsumer& consumer = Connect();
  Put(consumer, {.ttr_s = 5});
  Reserve(consumer);
  engine.Bury(Now(), consumer, 1, 5);
  journal.RefuseAll();
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), consumer, 1).job);
  journal.AcceptAll();
  Pass(5 * kSecond);
  EXPECT_EQ(JobState::kReady, engine.Find(1)->state());
  KeptJournal same(journal.records());
  Engine restarted({}, same);
  Restart(same, restarted);
  EXPECT_EQ(JobState::kReady, restarted.Find(1)->state());
}

TEST_F(JournalTest, NoIdIsGivenTwiceOverARestart) {
  RecordingObserver& client = Client();
  for (int i = 0; i < 3000; ++i) Foreground("f", client);
  const JobId last = Foreground("f", client);
  EXPECT_LT(journal.last(), 10u);
  KeptJournal same(journal.records());
  Engine restarted({}, same);
  Restart(same, restarted);
  RecordingConsumer consumer;
  restarted.Join(consumer);
  restarted.Use(consumer, "default");
  EXPECT_GT(restarted.Put(Now(), consumer, MakeJob({})).id, last);
  restarted.Leave(Now(), consumer);
}

TEST_F(JournalTest, NoAcknowledgedIdIsGivenTwiceAfterACrash) {
  std::mt19937 random(7);
  std::vector<Added> added;
  RecordingObserver& client = Client();
  journal.HoldBack();
  for (int step = 0; step < 5000; ++step) {
    RecordingObserver* waiter = random() % 4 != 0 ? &client : nullptr;
    added.push_back(Submit("f", {.unique = random() % 8 == 0 ? "k" : ""}, waiter));
    if (random() % 64 == 0) engine.Cancel(Now(), added.back().id);
    if (random() % 16 == 0 && journal.last() > 2) {
      journal.MakeDurable(std::max(journal.Durable(), journal.last() - random() % 3));
    }
    if (step % 100 != 0) continue;
    // What the disk holds at this moment is all there is.
    const auto durable = static_cast<std::ptrdiff_t>(journal.Durable());
    KeptJournal disk({journal.records().begin(), journal.records().begin() + durable});
    Engine restarted({}, disk);
    Restart(disk, restarted);
    const JobId next = NextId(restarted);
    for (const Added& each : added) {
      if (each.lsn <= journal.Durable()) {
        ASSERT_LT(each.id, next);
      }
    }
  }
}

TEST_F(JournalTest, ATubeThatGoesTakesItsPauseAlong) {
  RecordingConsumer& consumer = Connect("t");
  engine.Pause(Now(), "t", 100);
  const Lsn before = journal.last();
  Leave(consumer);
  EXPECT_THAT(Since(before), ElementsAre(kTube));
  EXPECT_EQ(0, journal.records().back().View().settings.pause_until);
}

TEST(MemoryJournal, NobodyWaitsForIt) {
  MemoryJournal journal;
  Engine engine({}, journal);
  FakeClock clock;
  RecordingConsumer consumer;
  RecordingObserver client;
  engine.Join(consumer);
  engine.Use(consumer, "t");
  engine.Watch(clock.Now(), consumer, "t");
  EXPECT_EQ(0u, engine.Put(clock.Now(), consumer, MakeJob({})).lsn);
  Submission submission;
  submission.tube = "t";
  submission.waiter = &client;
  EXPECT_EQ(0u, engine.Submit(clock.Now(), consumer, MakeJob({}), submission).lsn);
  EXPECT_EQ(0u, engine.Grab(clock.Now(), consumer).lsn);
  EXPECT_EQ(0u, engine.Bury(clock.Now(), consumer, 1, 0).lsn);
  engine.Leave(clock.Now(), consumer);
  engine.Forget(client);
}

// --- Refusals: nothing changes

struct Refused {
  std::string_view verb;
  Record::Kind kind;
  std::function<Code()> call;
};

class RefusalTest : public JournalTest {
 protected:
  // All that a refused verb could have changed.
  std::string Snapshot() const {
    std::string text;
    for (const Job* job = engine.NextJob(0); job != nullptr; job = engine.NextJob(job->id())) {
      const JobExtra& extra = job->extra();
      for (const std::uint64_t number :
           {job->id(), std::uint64_t{job->priority}, std::uint64_t{job->delay_s},
            static_cast<std::uint64_t>(job->state()), std::uint64_t{job->reserves},
            std::uint64_t{extra.releases}, std::uint64_t{extra.buries}, std::uint64_t{extra.kicks},
            std::uint64_t{job->durable}, std::uint64_t{engine.CountWaiters(*job)},
            reinterpret_cast<std::uint64_t>(job->holder())}) {
        text += std::to_string(number) + ' ';
      }
    }
    for (const Tube* tube = engine.NextTube(0); tube != nullptr;
         tube = engine.NextTube(tube->id())) {
      text += tube->name() + ' ' + std::to_string(tube->total_jobs + tube->deletes * 100) + ' ' +
              std::to_string(tube->pauses) + ' ' + std::to_string(tube->settings.created_function) +
              ' ' + std::to_string(tube->settings.pause_s) + ' ';
    }
    return text + std::to_string(engine.Stats().total_jobs);
  }
};

TEST_F(RefusalTest, ARefusedVerbChangesNothing) {
  RecordingConsumer& consumer = Connect("t");
  RecordingObserver& client = Client();
  const JobId ready = Put(consumer), held = Put(consumer), buried = Put(consumer);
  Put(consumer, {.delay_s = 100});
  const JobId submitted = Background("t");
  Submit("f", {.unique = "k"}, &client);
  for (const JobId id : {held, buried, submitted}) engine.ReserveJob(Now(), consumer, id);
  engine.Bury(Now(), consumer, buried, 0);
  engine.CreateFunction("g");

  const std::vector<Refused> verbs = {
      {"put", kPut, [&] { return engine.Put(Now(), consumer, MakeJob({})).code; }},
      {"submit", kPut, [&] { return Submit("new", {}).code; }},
      {"join", kPut, [&] { return Submit("f", {.unique = "k"}).code; }},
      {"delete held", kDelete, [&] { return engine.Delete(Now(), consumer, held).code; }},
      {"delete ready", kDelete, [&] { return engine.Delete(Now(), consumer, ready).code; }},
      {"cancel", kDelete, [&] { return engine.Cancel(Now(), ready).code; }},
      {"complete", kDelete, [&] { return engine.WorkComplete(Now(), consumer, held, "").code; }},
      {"release", kChange, [&] { return engine.Release(Now(), consumer, held, 1, 1).code; }},
      {"bury", kChange, [&] { return engine.Bury(Now(), consumer, held, 1).code; }},
      {"fail put", kChange, [&] { return engine.WorkFail(Now(), consumer, held).code; }},
      {"fail submitted", kDelete, [&] { return engine.WorkFail(Now(), consumer, submitted).code; }},
      {"except", kDelete,
       [&] { return engine.WorkException(Now(), consumer, submitted, "").code; }},
      {"kick-job", kChange, [&] { return engine.KickJob(Now(), buried).code; }},
      {"kick", kChange,
       [&] {
         std::optional<KickFrom> from;
         return engine.Kick(Now(), consumer, 9, from).code;
       }},
      {"pause", kTube, [&] { return engine.Pause(Now(), "t", 9).code; }},
      {"create", kTube, [&] { return engine.CreateFunction("h").code; }},
      {"drop", kTube, [&] { return engine.DropFunction("g").code; }},
      {"maxqueue", kTube,
       [&] {
         return engine.SetMaxQueue("t", {1, 1, 1}).code;
       }},
  };
  for (const Refused& refused : verbs) {
    SCOPED_TRACE(refused.verb);
    const std::string before = Snapshot();
    const Lsn last = journal.last();
    journal.Refuse(refused.kind);
    EXPECT_EQ(Code::kJournal, refused.call());
    EXPECT_EQ(before, Snapshot());
    EXPECT_EQ(last, journal.last());
    EXPECT_THAT(client.Heard(), IsEmpty());
    journal.AcceptAll();
    ExpectSound();
  }
  for (const Refused& accepted : verbs) {
    SCOPED_TRACE(accepted.verb);
    EXPECT_NE(Code::kJournal, accepted.call());
  }
}

TEST_F(RefusalTest, AFullDiskCanBeDrained) {
  RecordingConsumer& consumer = Connect();
  const JobId id = Put(consumer);
  journal.Refuse(kPut);
  EXPECT_EQ(Code::kJournal, engine.Put(Now(), consumer, MakeJob({})).code);
  Reserve(consumer);
  EXPECT_TRUE(engine.Delete(Now(), consumer, id).ok());
}

TEST_F(RefusalTest, CountersTakeNoSpaceOfAFullDisk) {
  RecordingConsumer& consumer = Connect("t");
  const JobId late = Put(consumer, {.ttr_s = 5}), lost = Put(consumer);
  for (int i = 0; i < 2; ++i) Reserve(consumer);
  for (const auto kind : {kChange, Record::Kind::kCount}) journal.Refuse(kind);
  Pass(5 * kSecond);
  EXPECT_EQ("ready", State(late));
  Leave(consumer);
  EXPECT_EQ("ready", State(lost));
  EXPECT_EQ(0u, journal.dropped());
}

TEST_F(RefusalTest, ABodyWithoutRoomOnTheDiskIsRefusedHoweverItComes) {
  const JobId elsewhere = Background("other");
  const Added added = Submit("f", {.unique = "k"}, &Client());
  engine.transfers().Begin("t", {.kind = "import"}, 0, 0);
  Record moved;
  moved.tube = "in";
  moved.body = "body";
  journal.SetRoom(moved.body.size() - 1);
  EXPECT_EQ(Code::kJournal, Submit("f", {.unique = "new"}).code);
  EXPECT_EQ(Code::kJournal, Submit("f", {.unique = "k"}).code) << "it would become durable";
  EXPECT_FALSE(engine.Find(added.id)->durable);
  EXPECT_EQ(Code::kJournal, engine.Move(Now(), elsewhere, "g").code);
  EXPECT_EQ(Code::kJournal, engine.transfers().Put(Now(), "t", moved, "key", {}).code);
  EXPECT_EQ(Code::kJournal, engine.transfers().Hold("t", moved).code);
  journal.SetRoom(moved.body.size());
  EXPECT_TRUE(Submit("f", {.unique = "k"}).ok());
}

TEST_F(RefusalTest, ALowDiskRefusesNewJobsAndNothingElse) {
  RecordingConsumer& consumer = Connect("t");
  const JobId first = Put(consumer), second = Put(consumer);
  const Added foreground = Submit("f", {.unique = "k"}, &Client());
  engine.transfers().Begin("t", {.kind = "import"}, 0, 0);
  Record moved;
  moved.tube = "in";
  journal.SetDiskLow(true);
  EXPECT_EQ(Code::kDiskLow, engine.Put(Now(), consumer, MakeJob({})).code);
  EXPECT_EQ(Code::kDiskLow, Submit("f", {.unique = "new"}).code);
  EXPECT_EQ(Code::kDiskLow, Submit("f", {.unique = "k"}).code) << "it would become durable";
  EXPECT_FALSE(engine.Find(foreground.id)->durable);
  EXPECT_EQ(Code::kDiskLow, engine.transfers().Put(Now(), "t", moved, "key", {}).code);
  EXPECT_EQ(Code::kDiskLow, engine.transfers().Hold("t", moved).code);
  EXPECT_EQ(4u, engine.Stats().refused[static_cast<std::size_t>(Code::kDiskLow)])
      << "all but the held one";
  EXPECT_TRUE(Submit("f", {}, &Client()).ok());
  EXPECT_TRUE(engine.Move(Now(), second, "elsewhere").ok());
  EXPECT_TRUE(engine.Pause(Now(), "t", 0).ok());
  Reserve(consumer);
  EXPECT_TRUE(engine.Bury(Now(), consumer, first, 1).ok());
  EXPECT_TRUE(engine.Delete(Now(), consumer, first).ok());
  journal.SetDiskLow(false);
  EXPECT_TRUE(engine.Put(Now(), consumer, MakeJob({})).ok());
}

// Its copies would be stored.
TEST_F(RefusalTest, ALowDiskRefusesAForegroundJobThatIsCopied) {
  ASSERT_TRUE(engine.SetPolicy(Now(), "f", "copy_to", "audit").status.ok());
  journal.SetDiskLow(true);
  RecordingObserver& client = Client();
  EXPECT_EQ(Code::kDiskLow, Submit("f", {}, &client).code);
  EXPECT_EQ(nullptr, engine.NextJob(0));
  EXPECT_TRUE(Submit("g", {}, &client).ok()) << "without copies";
  journal.SetDiskLow(false);
  EXPECT_TRUE(Submit("f", {}, &client).ok());
  EXPECT_EQ(1u, At("audit").ready());
}

TEST_F(RefusalTest, ForegroundJobsAskNoDisk) {
  journal.SetDiskLow(true);
  journal.RefuseAll();
  RecordingObserver& client = Client();
  const Added added = Submit("f", {}, &client);
  EXPECT_EQ(Code::kOk, added.code);
  EXPECT_LE(added.lsn, journal.Durable());
  RecordingConsumer& worker = Worker({"f"});
  EXPECT_LE(engine.Grab(Now(), worker).lsn, journal.Durable());
  EXPECT_TRUE(engine.WorkComplete(Now(), worker, added.id, "x").ok());
  EXPECT_THAT(client.Heard(), ElementsAre(std::to_string(added.id) + " completed x"));
}

TEST_F(RefusalTest, KickSaysHowFarItCame) {
  RecordingConsumer& consumer = Connect("t");
  for (int i = 0; i < 2; ++i) Put(consumer, {.delay_s = 9});
  journal.Refuse(kChange);
  std::optional<KickFrom> from;
  const Kicked kicked = engine.Kick(Now(), consumer, 9, from);
  EXPECT_EQ(Code::kJournal, kicked.code);
  EXPECT_EQ(0u, kicked.count);
}

TEST_F(RefusalTest, AJournalThatNeverKeepsAnIdKeepsNobodyWaiting) {
  journal.Refuse(Record::Kind::kDelete);
  journal.HoldBack();
  RecordingObserver& client = Client();
  const Added first = Submit("f", {.ttr_s = 0}, &client),
              second = Submit("f", {.ttr_s = 0}, &client);
  EXPECT_TRUE(first.ok());
  EXPECT_LE(first.lsn, journal.Durable());
  EXPECT_LE(second.lsn, journal.Durable());
  EXPECT_EQ(first.id + 1, second.id);
}

}  // namespace
}  // namespace gearstalk
