// Attempts and the waits between them, failure, dead letters, retention, expiry.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/verdict.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

using Attempts = PolicyTest;

TEST_F(Attempts, ATimeoutWaitsAndTheLastOneFails) {
  SetPolicy({{"attempts", "2"}, {"backoff", "10s"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker, {.ttr_s = 5});
  Pass(5 * kSecond);
  EXPECT_EQ("delayed", State(id));
  EXPECT_EQ(1u, JobOf(id).extra().attempts);
  EXPECT_EQ(Cause::kTimeout, JobOf(id).extra().cause);
  EXPECT_EQ(10u, JobOf(id).delay_s);
  EXPECT_EQ(1u, At("t").policy_state().retrying);
  Pass(10 * kSecond);
  EXPECT_EQ("reserved " + std::to_string(id), Reserve(worker));
  Pass(5 * kSecond);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(1u, At("t").failed);
  EXPECT_EQ(1u, At("t").policy_state().counts.retries);
}

TEST_F(Attempts, EveryBadEndCountsThatRetryOnNames) {
  SetPolicy({{"attempts", "9"}, {"backoff", "1s"}, {"retry_on", "timeout,lost,fail,release,bury"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  const auto again = [&](Cause cause, std::uint32_t attempts) {
    EXPECT_EQ("delayed", State(id));
    EXPECT_EQ(cause, JobOf(id).extra().cause);
    EXPECT_EQ(attempts, JobOf(id).extra().attempts);
    Pass(kSecond);
    RecordingConsumer& next = Connect("t");
    EXPECT_EQ("reserved " + std::to_string(id), Reserve(next));
    return &next;
  };
  EXPECT_TRUE(engine.Release(Now(), worker, id, 7, 0).ok());
  RecordingConsumer* holder = again(Cause::kReleased, 1);
  EXPECT_EQ(7u, JobOf(id).priority);
  EXPECT_TRUE(engine.Bury(Now(), *holder, id, 8).ok());
  EXPECT_EQ(0u, JobOf(id).extra().buries);
  holder = again(Cause::kBuried, 2);
  EXPECT_TRUE(engine.WorkFail(Now(), *holder, id).ok());
  holder = again(Cause::kFailed, 3);
  EXPECT_TRUE(engine.WorkException(Now(), *holder, id, "why").ok());
  EXPECT_EQ("why", JobOf(id).texts()->cause_text);
  holder = again(Cause::kException, 4);
  Leave(*holder);
  again(Cause::kLost, 5);
}

TEST_F(Attempts, ARetryAcceptsALongerDelay) {
  SetPolicy({{"backoff", "10s"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 30);
  EXPECT_EQ(30 * kSecond, engine.TimeLeft(Now(), JobOf(id)));
}

TEST_F(Attempts, WhatRetryOnDoesNotNameIsAsWithoutPolicy) {
  SetPolicy({{"attempts", "2"}, {"backoff", "10s"}, {"retry_on", "timeout"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(0u, JobOf(id).extra().attempts);
}

TEST_F(Attempts, AKickOfABuriedJobBeginsAnewThatOfAWaitingOneEndsItsWait) {
  SetPolicy({{"attempts", "2"}, {"backoff", "10s"}, {"retry_on", "release"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_TRUE(engine.KickJob(Now(), id).ok());
  EXPECT_EQ(1u, JobOf(id).extra().attempts);
  Reserve(worker);
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_EQ("buried", State(id));
  EXPECT_TRUE(engine.KickJob(Now(), id).ok());
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(0u, JobOf(id).extra().attempts);
  EXPECT_EQ(Cause::kNone, JobOf(id).extra().cause);
}

TEST_F(Attempts, AForegroundJobIsRetriedAndThenGone) {
  SetPolicy({{"attempts", "2"}, {"on_failure", "bury"}});
  RecordingObserver& client = Client();
  RecordingConsumer& worker = Worker({"t"});
  const JobId id = Foreground("t", client);
  Grab(worker);
  engine.WorkFail(Now(), worker, id);
  EXPECT_EQ("ready", State(id));
  EXPECT_THAT(client.Heard(), IsEmpty());
  Grab(worker);
  engine.WorkFail(Now(), worker, id);
  EXPECT_EQ("gone", State(id));
  EXPECT_THAT(client.Heard(), ElementsAre(std::to_string(id) + " failed"));
}

TEST_F(Attempts, AStoppingBrokerLosesNoTry) {
  SetPolicy({{"attempts", "2"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Stop();
  Leave(worker);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(0u, JobOf(id).extra().attempts);
}

TEST_F(Attempts, ARefusingJournalLosesNothing) {
  SetPolicy({{"attempts", "1"}, {"on_failure", "move"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker, {.ttr_s = 1});
  journal.RefuseAll();
  Pass(kSecond);
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ("t", JobOf(id).tube().name());
}

TEST_F(Attempts, ADeadJobMovesAndAKickSendsItHome) {
  SetPolicy({{"attempts", "1"}, {"on_failure", "move"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  Leave(worker);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ("t.dead", JobOf(id).tube().name());
  EXPECT_EQ("t", JobOf(id).origin());
  EXPECT_EQ(1u, engine.Stats().dead);
  Restarted after(journal, engine.policies().rules(), Now());
  EXPECT_EQ(1u, after.engine.Stats().dead);
  const Job& again = *after.engine.Find(id);
  EXPECT_EQ("t.dead", again.tube().name());
  EXPECT_EQ("t", again.origin());
  EXPECT_EQ(Cause::kLost, again.extra().cause);
  RecordingConsumer& operators = Connect("t.dead");
  EXPECT_EQ(1u, Kick(operators, 5));
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ("t", JobOf(id).tube().name());
  EXPECT_EQ("", JobOf(id).origin());
  EXPECT_EQ(0u, engine.Stats().dead);
  Restarted home(journal, engine.policies().rules(), Now());
  EXPECT_EQ("t", home.engine.Find(id)->tube().name());
  EXPECT_EQ(0u, home.engine.Find(id)->extra().attempts);
}

TEST_F(Attempts, ADeadJobIsNotMovedAgain) {
  SetPolicies({{.match = "*",
                .values = {{"attempts", "1"}, {"on_failure", "move"}, {"dead_state", "ready"}}}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_EQ("t.dead", JobOf(id).tube().name());
  EXPECT_EQ("ready", State(id));
  EXPECT_EQ(0u, engine.Stats().dead);
  EXPECT_EQ(0u, JobOf(id).extra().attempts);
  EXPECT_EQ(Verdict::Fate::kBuried, FateOfFailed(JobOf(id)));
  RecordingConsumer& second = Connect("t.dead");
  Reserve(second);
  engine.Release(Now(), second, id, 1, 0);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(1u, engine.Stats().dead);
  EXPECT_EQ("t.dead", JobOf(id).tube().name());
}

TEST_F(Attempts, WhatBecomesOfAJobThatFailsIsKnownBefore) {
  using Fate = Verdict::Fate;
  const std::pair<PolicyValues, Fate> rows[] = {
      {{}, Fate::kBuried},
      {{{"on_failure", "delete"}}, Fate::kGone},
      {{{"on_failure", "bury"}}, Fate::kBuried},
      {{{"on_failure", "move"}}, Fate::kMoved},
      {{{"on_failure", "move"}, {"dead_tube", "t"}}, Fate::kBuried}};
  RecordingConsumer& worker = Connect("t");
  for (auto [values, fate] : rows) {
    values["attempts"] = "1";
    SetPolicy(values);
    const JobId id = PutAndTake(worker);
    EXPECT_EQ(fate, FateOfFailed(JobOf(id)));
    engine.Release(Now(), worker, id, 1, 0);
    const Job* const job = engine.Find(id);
    EXPECT_EQ(fate == Fate::kGone, job == nullptr);
    if (job == nullptr) continue;
    EXPECT_EQ("buried", State(id));
    EXPECT_EQ(fate == Fate::kMoved, job->tube().name() == "t.dead");
  }
}

TEST_F(Attempts, WaitsSurviveARestart) {
  SetPolicy({{"attempts", "3"}, {"backoff", "10s"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 0);
  Restarted after(journal, engine.policies().rules(), Now());
  const Job& again = *after.engine.Find(id);
  EXPECT_EQ(JobState::kDelayed, again.state());
  EXPECT_EQ(1u, again.extra().attempts);
  EXPECT_EQ(1u, after.engine.Stats().retrying);
}

TEST_F(Attempts, RetentionRemovesTheOldestBuried) {
  SetPolicy({{"keep_buried", "10s"}, {"keep_buried_jobs", "2"}});
  RecordingConsumer& worker = Connect("t");
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(PutAndTake(worker));
    engine.Bury(Now(), worker, ids.back(), 1);
  }
  Pass(0);
  EXPECT_EQ("gone", State(ids[0]));
  EXPECT_EQ("buried", State(ids[1]));
  Pass(9 * kSecond);
  EXPECT_EQ("buried", State(ids[1]));
  Pass(kSecond);
  EXPECT_EQ("gone", State(ids[1]));
  EXPECT_EQ("gone", State(ids[2]));
  EXPECT_EQ(3u, At("t").policy_state().counts.pruned);
}

TEST_F(Attempts, AWaitingJobExpiresAndIsHandedOutNoMore) {
  SetPolicy({{"expire_after", "10s"}});
  RecordingConsumer& worker = Connect("t");
  const JobId ready = PutInto("t"), delayed = PutInto("t", {.delay_s = 5});
  clock.Advance(10 * kSecond);  // no Tick yet
  EXPECT_EQ("timed out", ReserveFor(worker, 0));
  Pass(0);
  EXPECT_EQ("gone", State(ready));
  EXPECT_EQ("ready", State(delayed));
  Pass(5 * kSecond);
  EXPECT_EQ("gone", State(delayed));
  EXPECT_EQ(2u, At("t").policy_state().counts.expired);
}

TEST_F(Attempts, AReservedJobExpiresWhenItWouldBeReadyAgain) {
  SetPolicy({{"expire_after", "10s"}, {"on_expiry", "bury"}, {"attempts", "9"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker, {.ttr_s = 60});
  Pass(20 * kSecond);
  EXPECT_EQ("reserved", State(id));
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(Cause::kExpired, JobOf(id).extra().cause);
  EXPECT_EQ(0u, JobOf(id).extra().attempts);
  EXPECT_TRUE(engine.KickJob(Now(), id).ok());
  Pass(9 * kSecond);
  EXPECT_EQ("ready", State(id));
}

TEST_F(Attempts, AJobThatCannotExpireForTheJournalKeepsBackNoOther) {
  SetPolicy({{"expire_after", "10s"}, {"on_expiry", "bury"}});
  const JobId id = PutInto("t", {.priority = 0});
  RecordingConsumer& worker = Connect("t");
  engine.Watch(Now(), worker, "other");
  journal.Refuse(Record::Kind::kChange);
  clock.Advance(10 * kSecond);  // no Tick yet
  EXPECT_EQ("waits", Reserve(worker));
  const JobId next = PutInto("t");
  EXPECT_THAT(worker.Heard(), ElementsAre("reserved " + std::to_string(next)));
  const JobId elsewhere = PutInto("other");
  EXPECT_EQ("reserved " + std::to_string(elsewhere), Reserve(worker));
  Pass(5 * kSecond);
  EXPECT_EQ("timed out", ReserveFor(worker, 0));
  journal.AcceptAll();
  Pass(kSecond);
  EXPECT_EQ("buried", State(id));
}

TEST_F(Attempts, ManyExpiredJobsDoNotHideOneFromAConsumerThatWaits) {
  SetPolicy({{"expire_after", "10s"}});
  for (int i = 0; i < 5000; ++i) PutInto("t", {.priority = 0});
  RecordingConsumer& worker = Connect("t");
  engine.Watch(Now(), worker, "other");
  engine.Watch(Now(), worker, "empty");
  clock.Advance(10 * kSecond);  // no Tick yet
  const JobId id = PutInto("other");
  EXPECT_EQ("waits", Reserve(worker)) << "one call expires some of them only";
  Pass(0);
  EXPECT_THAT(worker.Heard(), ElementsAre("reserved " + std::to_string(id)));
}

TEST_F(Attempts, OfPausesThatAreOverTogetherOneMayMoveItsJobsToTheOther) {
  SetPolicy({{"expire_after", "10s"},
             {"on_expiry", "move"},
             {"dead_tube", "dead"},
             {"dead_state", "ready"}});
  PutInto("t", {.priority = 1});
  PutInto("t", {.priority = 2});
  PutInto("dead", {.priority = 9});
  engine.Pause(Now(), "t", 10);
  engine.Pause(Now(), "dead", 10);
  RecordingConsumer& hopeful = Waiting({"t"});
  std::vector<RecordingConsumer*> last;
  for (int i = 0; i < 3; ++i) last.push_back(&Waiting({"dead"}));
  Pass(10 * kSecond);
  EXPECT_THAT(hopeful.Heard(), ElementsAre());
  EXPECT_THAT(last[0]->Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(last[1]->Heard(), ElementsAre("reserved 3"));
  EXPECT_THAT(last[2]->Heard(), ElementsAre("reserved 2"));
}

TEST_F(Attempts, OfPausesThatAreOverTogetherOneMayEmptyTheOther) {
  SetPolicy({{"expire_after", "10s"},
             {"on_expiry", "move"},
             {"dead_tube", "dead"},
             {"dead_state", "ready"}});
  const JobId expired = PutInto("t", {.priority = 1}), there = PutInto("dead", {.priority = 9});
  std::vector<JobId> others;
  std::vector<RecordingConsumer*> waiting;
  for (const char* const tube : {"x", "y"}) {
    others.push_back(PutInto(tube, {.priority = 5}));
    waiting.push_back(&Waiting({"none"}));
    engine.Pause(Now(), tube, 10);
    engine.Watch(Now(), *waiting.back(), tube);
  }
  for (const char* const tube : {"t", "dead"}) engine.Pause(Now(), tube, 10);
  Waiting({"t"});
  RecordingConsumer &first = Waiting({"dead"}), &second = Waiting({"dead"});
  Pass(10 * kSecond);
  EXPECT_THAT(first.Heard(), ElementsAre("reserved " + std::to_string(expired)));
  EXPECT_THAT(second.Heard(), ElementsAre("reserved " + std::to_string(there)));
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_THAT(waiting[i]->Heard(), ElementsAre("reserved " + std::to_string(others[i])));
  }
}

TEST_F(Attempts, ExpirySurvivesARestart) {
  SetPolicy({{"expire_after", "10s"}});
  const JobId id = PutInto("t");
  Restarted before(journal, PolicyRules(), Now() + 9 * kSecond);
  EXPECT_NE(nullptr, before.engine.Find(id));
  Restarted after(journal, PolicyRules(), Now() + 10 * kSecond);
  EXPECT_EQ(nullptr, after.engine.Find(id));
}

TEST_F(Attempts, TheTubesLimitsAreApplied) {
  SetPolicy({{"ttr", "7"}, {"ttr_max", "20"}, {"max_jobs", "3"}});
  EXPECT_EQ(20u, JobOf(PutInto("t", {.ttr_s = 60})).ttr_s);
  EXPECT_EQ(7u, JobOf(Background("t")).ttr_s);
  PutInto("t");
  EXPECT_EQ(Code::kQueueFull, Submit("t", {}).code);
  SetPolicy({{"max_bytes", "100"}});
  EXPECT_EQ(Code::kOutOfMemory, Submit("t", {}).code);
  EXPECT_EQ(1u, At("t").policy_state().counts.refused_memory);
}

TEST_F(Attempts, WhatAnAdministratorSetsOutlivesARestart) {
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "attempts", "5").status.ok());
  EXPECT_EQ(Code::kNotFound, engine.SetPolicy(Now(), "t", "atempts", "5").status.code());
  EXPECT_EQ(Code::kInvalid, engine.SetPolicy(Now(), "t", "attempts", "x").status.code());
  Restarted after(journal, PolicyRules(), Now());
  ASSERT_NE(nullptr, after.engine.FindTube("t"));
  EXPECT_EQ(5u, after.engine.FindTube("t")->policy()->attempts);
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "attempts", std::nullopt).status.ok());
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  Restarted later(journal, PolicyRules(), Now());
  EXPECT_EQ(nullptr, later.engine.FindTube("t"));
}

TEST_F(Attempts, ReserveJobGivesAnExpiredJobOnlyIfItIsBuried) {
  SetPolicy({{"expire_after", "10s"}});
  const JobId ready = PutInto("t"), buried = PutInto("t");
  engine.Bury(buried, std::nullopt, false);
  clock.Advance(10 * kSecond);  // no Tick yet
  RecordingConsumer& worker = Connect("t");
  EXPECT_EQ(nullptr, engine.ReserveJob(Now(), worker, ready).job);
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), worker, buried).job);
  EXPECT_EQ("ready", State(ready));
}

TEST_F(Attempts, JitterSpreadsTheWaits) {
  SetPolicy({{"backoff", "100s"}, {"jitter", "50"}});
  RecordingConsumer& worker = Connect("t");
  Time least = kNever, most = 0;
  for (int i = 0; i < 50; ++i) {
    const JobId id = PutAndTake(worker);
    engine.Release(Now(), worker, id, 1, 0);
    const Time wait = engine.TimeLeft(Now(), JobOf(id));
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_GE(least, 50 * kSecond);
  EXPECT_LE(most, 150 * kSecond);
  EXPECT_GT(most - least, 50 * kSecond);
}

TEST_F(Attempts, AJobThatItsClientsLeftIsGoneIfItFails) {
  RecordingObserver& client = Client();
  RecordingConsumer& worker = Worker({"t"});
  const JobId id = Foreground("t", client);
  Grab(worker);
  while (!engine.Forget(client)) continue;
  EXPECT_EQ(Verdict::Fate::kGone, FateOfFailed(JobOf(id)));
  engine.WorkFail(Now(), worker, id);
  EXPECT_EQ("gone", State(id));
}

TEST_F(Attempts, AJobWhoseDeadTubeHasNoNameIsBuriedWhereItIs) {
  const std::string name(198, 'n');
  SetPolicies({{.match = "*", .values = {{"attempts", "1"}, {"on_failure", "move"}}}});
  RecordingConsumer& worker = Connect(name);
  const JobId id = PutInto(name);
  Reserve(worker);
  EXPECT_EQ(Verdict::Fate::kBuried, FateOfFailed(JobOf(id)));
  engine.Release(Now(), worker, id, 1, 0);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(name, JobOf(id).tube().name());
}

TEST_F(Attempts, RetentionWaitsForTheJournal) {
  SetPolicy({{"keep_buried", "10s"}});
  const JobId id = PutInto("t");
  engine.Bury(id, std::nullopt, false);
  journal.Refuse(Record::Kind::kDelete);
  Pass(10 * kSecond);
  EXPECT_EQ("buried", State(id));
  EXPECT_EQ(0u, journal.dropped());
  journal.AcceptAll();
  Pass(kSecond);
  EXPECT_EQ("gone", State(id));
}

// As earlier versions wrote the record.
TEST_F(Attempts, RetentionBeginsWithTheStartIfNobodyKnowsWhenAJobWasBuried) {
  Record buried;
  buried.id = 1;
  buried.tube = "t";
  buried.state = Record::State::kBuried;
  buried.burial = 1;
  KeptJournal old({OwnedRecord(buried)});
  const PolicyRules rules({{.match = "t", .values = {{"keep_buried", "10s"}}}});
  Restarted after(old, rules, Now());
  after.engine.Tick(Now() + 9 * kSecond);
  EXPECT_NE(nullptr, after.engine.Find(1));
  after.engine.Tick(Now() + 10 * kSecond);
  EXPECT_EQ(nullptr, after.engine.Find(1));
}

TEST_F(Attempts, AWaitIsNoLongerThanItWasWhenTheClockWasSetBack) {
  SetPolicy({{"backoff", "10s"}});
  RecordingConsumer& worker = Connect("t");
  const JobId id = PutAndTake(worker);
  engine.Release(Now(), worker, id, 1, 0);
  const Time back = Now() - 3600 * kSecond;
  KeptJournal copy(journal.records());
  Engine again({}, copy);
  Restart(copy, again, back);
  EXPECT_EQ(10 * kSecond, again.TimeLeft(back, *again.Find(id)));
  EXPECT_EQ(1u, again.Stats().retrying);
}

}  // namespace
}  // namespace gearstalk
