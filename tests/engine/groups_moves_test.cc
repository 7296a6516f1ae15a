// Jobs that come into a line (group_order: fifo) and leave it by other ways than a put and an end:
// moves, kicks home, transfers.

#include <string>
#include <string_view>

#include "broker/engine/groups.h"
#include "broker/engine/transfers.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

// Tubes "t" and "u" have lines.
class GroupMovesTest : public PolicyTest {
 protected:
  GroupMovesTest() {
    const PolicyValues lines = {{"group", "line"},
                                {"group_order", "fifo"},
                                {"attempts", "1"},
                                {"retry_on", "fail"},
                                {"on_failure", "move"}};
    SetPolicies({{.match = "t", .values = lines}, {.match = "u", .values = lines}});
    taker_ = &Connect("t");
    // Ids below are those of jobs that come from elsewhere.
    EXPECT_TRUE(engine.transfers().Begin("m", {.kind = "import"}, 100, 0).ok());
  }

  JobId PutOf(std::string_view group, std::string_view tube = "t") {
    return PutInto(tube, {.body = group});
  }
  JobId Import(JobId id, std::string_view group, Record::State state = Record::State::kReady) {
    Record job = RecordOf(id, group);
    job.state = state;
    if (state == Record::State::kDelayed) job.due = Now() + 10 * kSecond;
    return engine.transfers().Put(Now(), "m", job, "key", {}).id;
  }
  static Record RecordOf(JobId id, std::string_view group) {
    Record job;
    job.id = id;
    job.tube = "t";
    job.ttr_s = 60;
    job.body = group;
    return job;
  }
  // 0: no job may leave.
  JobId Next() {
    Taken taken;
    engine.Reserve(Now(), *taker_, Now(), taken);
    lsn_ = taken.lsn;
    return taken.job == nullptr ? 0 : taken.job->id();
  }
  void Delete(JobId id) { EXPECT_TRUE(engine.Delete(Now(), *taker_, id).ok()); }
  void Die(JobId id) {
    EXPECT_TRUE(engine.WorkFail(Now(), *taker_, id).ok());
    EXPECT_EQ(JobOf(id).tube().name(), "t.dead");
  }
  // The job stands before `first`, which was given, and before `second`.
  void ExpectToBeNext(JobId job, JobId first, JobId second) {
    EXPECT_EQ(Next(), 0U) << "it waits for the end of the one that left";
    Delete(first);
    EXPECT_EQ(Next(), job);
    EXPECT_EQ(Next(), 0U);
    Delete(job);
    EXPECT_EQ(Next(), second);
  }

  // Of a policy that changes. No job is looked at yet.
  void BeginLines() {
    SetPolicies({{.match = "t", .values = {{"group", "line"}, {"group_order", "fifo"}}}});
  }
  // All jobs are looked at; then this one is the next, and shown no sooner than that is durable.
  void ExpectToWait(JobId next, const Outcome& ended) {
    EXPECT_TRUE(ended.ok());
    while (engine.Tick(Now()) <= Now()) continue;
    EXPECT_EQ(Next(), next);
    EXPECT_GT(ended.lsn, 0U);
    EXPECT_GE(lsn_, ended.lsn);
  }

  RecordingConsumer* taker_ = nullptr;
  Lsn lsn_ = 0;  // of the last hand-out
};

TEST_F(GroupMovesTest, AnImportedJobStandsWhereItsIdSays) {
  const JobId first = PutOf("a"), second = PutOf("a");
  EXPECT_EQ(Next(), first);
  ExpectToBeNext(Import(7, "a"), first, second);
}

TEST_F(GroupMovesTest, AnImportedJobThatIsDelayedClosesItsLine) {
  PutOf("a");
  EXPECT_EQ(Import(7, "a", Record::State::kDelayed), 7U);
  EXPECT_EQ(Next(), 0U);
  Pass(10 * kSecond);
  EXPECT_EQ(Next(), 7U);
}

TEST_F(GroupMovesTest, AnImportedJobThatIsBuriedIsSetAside) {
  const JobId first = PutOf("a");
  EXPECT_EQ(Import(7, "a", Record::State::kBuried), 7U);
  EXPECT_EQ(Next(), first);
  engine.KickJob(Now(), 7);
  ExpectToBeNext(7, first, 0);
}

TEST_F(GroupMovesTest, AMovedJobStandsWhereItsIdSays) {
  const JobId moved = PutOf("a", "other"), first = PutOf("a"), second = PutOf("a");
  EXPECT_EQ(Next(), first);
  EXPECT_TRUE(engine.Move(Now(), moved, "t").ok());
  ExpectToBeNext(moved, first, second);
}

TEST_F(GroupMovesTest, AMoveIsAnEndInTheLineThatItLeaves) {
  const JobId first = PutOf("a"), second = PutOf("a");
  journal.HoldBack();
  const Outcome moved = engine.Move(Now(), first, "u");
  EXPECT_EQ(Next(), second);
  EXPECT_GE(lsn_, moved.lsn);
}

TEST_F(GroupMovesTest, AJobThatIsKickedHomeStandsWhereItsIdSays) {
  const JobId dead = PutOf("a"), first = PutOf("a"), second = PutOf("a");
  EXPECT_EQ(Next(), dead);
  Die(dead);
  EXPECT_EQ(Next(), first);
  engine.KickJob(Now(), dead);
  ExpectToBeNext(dead, first, second);
}

TEST_F(GroupMovesTest, AHeldJobIsInItsLineWhenItIsCommitted) {
  Record job = RecordOf(7, "a");
  job.transfer.held = Record::Held::kFirstPhase;
  EXPECT_EQ(engine.transfers().Hold("m", job).id, 7U);
  const JobId first = PutOf("a"), second = PutOf("a");
  EXPECT_EQ(Next(), first);
  EXPECT_TRUE(engine.transfers().Commit(Now(), "m", 7).ok());
  ExpectToBeNext(7, first, second);
}

TEST_F(GroupMovesTest, ALineGivesUpItsJobsInTurnAndNoneWhileOneIsReserved) {
  EXPECT_TRUE(engine.transfers().Begin("back", {.kind = "hand-back"}, 0, 0).ok());
  const JobId first = PutOf("a"), second = PutOf("a"), third = PutOf("a"), other = PutOf("b");
  const auto gives_up = [&](JobId id) { return engine.transfers().HoldBack("back", id).ok(); };
  EXPECT_EQ(Next(), first);
  EXPECT_FALSE(gives_up(second));
  EXPECT_TRUE(gives_up(other)) << "other lines are open";
  engine.Release(Now(), *taker_, first, 0, 5);
  EXPECT_FALSE(gives_up(second));
  EXPECT_TRUE(gives_up(first));
  EXPECT_TRUE(gives_up(second));
  EXPECT_EQ(Next(), third);
  EXPECT_TRUE(engine.transfers().Commit(Now(), "back", first).ok());
  Pass(5 * kSecond);
  ExpectToBeNext(first, third, 0);
}

TEST_F(GroupMovesTest, OneThatWaitsGetsTheJobThatAHeldOneStoodBefore) {
  EXPECT_TRUE(engine.transfers().Begin("back", {.kind = "hand-back"}, 0, 0).ok());
  const JobId first = PutOf("a"), second = PutOf("a");
  EXPECT_EQ(Next(), first);
  engine.Release(Now(), *taker_, first, 0, 100);
  EXPECT_EQ(Reserve(*taker_), "waits");
  EXPECT_TRUE(engine.transfers().HoldBack("back", first).ok());
  Pass(0);
  EXPECT_THAT(taker_->Heard(), ElementsAre("reserved " + std::to_string(second)));
}

// What ended before the job came could come back without it.
TEST_F(GroupMovesTest, AJobThatCameIsNotShownBeforeItsComingIsDurable) {
  const JobId dead = PutOf("a"), moved = PutOf("b", "u"), ends = PutOf("a"), alone = PutOf("b");
  EXPECT_EQ(Next(), dead);
  Die(dead);
  EXPECT_EQ(Next(), alone);
  EXPECT_EQ(Next(), ends);
  journal.HoldBack();
  Delete(ends);
  Delete(alone);
  const Outcome home = engine.KickJob(Now(), dead);
  EXPECT_EQ(Next(), dead);
  EXPECT_GE(lsn_, home.lsn);
  const Outcome move = engine.Move(Now(), moved, "t");
  EXPECT_EQ(Next(), moved);
  EXPECT_GE(lsn_, move.lsn);
}

// Above its line's first job by more than is looked at in a slice.
TEST_F(GroupMovesTest, ALineThatBeginsWhileAJobRunsIsClosedByIt) {
  SetPolicies({});
  const JobId next = PutOf("a");
  for (std::size_t i = 0; i < 3 * JobStore::kSlice; ++i) PutOf("a");
  const JobId runs = PutInto("t", {.priority = 0, .body = "a"});
  const JobId other = PutOf("b");
  EXPECT_EQ(Next(), runs);
  BeginLines();
  JobId first = 0;
  for (bool more = true; more && first == 0;) {
    more = engine.Tick(Now()) <= Now();
    first = Next();
  }
  EXPECT_EQ(first, other);
  while (engine.Tick(Now()) <= Now()) continue;
  EXPECT_EQ(Next(), 0U);
  Delete(runs);
  EXPECT_EQ(Next(), next);
}

TEST_F(GroupMovesTest, WhatEndedBeforeALineBeganIsDurableBeforeTheNextIsShown) {
  SetPolicies({});
  const JobId first = PutOf("a"), next = PutOf("a");
  EXPECT_EQ(Next(), first);
  journal.HoldBack();
  const Outcome ended = engine.Delete(Now(), *taker_, first);
  BeginLines();
  ExpectToWait(next, ended);
}

TEST_F(GroupMovesTest, WhatEndsBeforeItsLineIsReadIsDurableBeforeTheNextIsShown) {
  SetPolicies({});
  const JobId first = PutOf("a"), next = PutOf("a");
  EXPECT_EQ(Next(), first);
  journal.HoldBack();
  BeginLines();
  ExpectToWait(next, engine.Delete(Now(), *taker_, first));
}

TEST_F(GroupMovesTest, WhatMovesBeforeItsLineIsReadIsDurableBeforeTheNextIsShown) {
  SetPolicies({});
  const JobId first = PutOf("a"), next = PutOf("a");
  journal.HoldBack();
  BeginLines();
  ExpectToWait(next, engine.Move(Now(), first, "elsewhere"));
}

TEST_F(GroupMovesTest, AnImportBringsNoJobWithoutAGroupWhereNoneIsTaken) {
  SetPolicies({{.match = "t", .values = {{"group", "line"}, {"group_missing", "refuse"}}}});
  const auto refused = engine.transfers().Put(Now(), "m", RecordOf(7, "\nnone"), "key", {});
  EXPECT_EQ(refused.code, Code::kOk);
  EXPECT_EQ(engine.Find(7), nullptr);
  EXPECT_EQ(Import(8, "a"), 8U);
  Record whole = RecordOf(9, "\nnone");
  whole.transfer.held = Record::Held::kFirstPhase;
  EXPECT_TRUE(engine.transfers().Hold("m", whole).ok());
  EXPECT_TRUE(engine.transfers().Commit(Now(), "m", 9).ok());
  EXPECT_EQ(Next(), 8U);
  EXPECT_EQ(Next(), 9U);
}

TEST_F(GroupMovesTest, ACommittedJobIsNotShownBeforeThatIsDurable) {
  Record job = RecordOf(7, "a");
  job.transfer.held = Record::Held::kFirstPhase;
  engine.transfers().Hold("m", job);
  const JobId ends = PutOf("a");
  EXPECT_EQ(Next(), ends);
  journal.HoldBack();
  Delete(ends);
  const auto committed = engine.transfers().Commit(Now(), "m", 7);
  EXPECT_EQ(Next(), 7U);
  EXPECT_GE(lsn_, committed.lsn);
}

TEST_F(GroupMovesTest, AJobThatComesWhileALineBeginsIsNotReservedByItsIdBeforeAllWereLookedAt) {
  SetPolicies({});
  PutOf("a");
  BeginLines();
  const JobId late = PutOf("b");
  EXPECT_EQ(nullptr, engine.ReserveJob(Now(), *taker_, late).job);
  while (engine.Tick(Now()) <= Now()) continue;
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), *taker_, late).job);
}

}  // namespace
}  // namespace gearstalk
