#include "broker/engine/groups.h"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/log.h"
#include "broker/engine/slab.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

// Tube "t" has groups: the first line of a body is the name.
class GroupsTest : public PolicyTest {
 protected:
  void SetGroups(PolicyValues values = {}) {
    values.emplace("group", "line");
    SetPolicy(std::move(values));
  }
  JobId PutOf(std::string_view group, std::uint32_t priority = 1024, std::uint32_t delay_s = 0) {
    return PutInto("t", {.priority = priority, .delay_s = delay_s, .body = group});
  }
  // The bodies of the next jobs that leave, one for each.
  std::string Next(int jobs) {
    std::string names;
    for (int i = 0; i < jobs; ++i) {
      Taken taken;
      const ReserveResult result = engine.Reserve(Now(), Taker(), Now(), taken);
      names += result == ReserveResult::kTaken ? taken.job->body() : "-";
      if (taken.job != nullptr) last_ = taken.job->id();
    }
    return names;
  }
  // The same, each finished before the next.
  std::string Finish(int jobs) {
    std::string names;
    for (int i = 0; i < jobs; ++i) {
      names += Next(1);
      engine.Delete(Now(), Taker(), last_);
    }
    return names;
  }
  RecordingConsumer& Taker() {
    if (taker_ == nullptr) taker_ = &Connect("t");
    return *taker_;
  }
  const Groups& TubeGroups() const { return *At("t").groups(); }
  std::string Held(std::string_view name) const {
    return std::string(NameOf(TubeGroups().Find(name)->held()));
  }

  JobId last_ = 0;

 private:
  RecordingConsumer* taker_ = nullptr;
};

TEST_F(GroupsTest, TakeTurns) {
  SetGroups();
  for (int i = 0; i < 4; ++i) PutOf("a");
  PutOf("b");
  PutOf("c");
  PutOf("b");
  EXPECT_EQ(Finish(7), "abcabaa");
}

TEST_F(GroupsTest, JobsThatComeOutOfOrderFindTheirPlaceByPriorityAndId) {
  SetGroups();
  std::vector<JobId> jobs;
  for (const std::uint32_t priority : {5U, 5U, 7U, 3U, 5U}) jobs.push_back(PutOf("a", priority));
  EXPECT_EQ(Next(2), "aa");
  EXPECT_EQ(last_, jobs[0]);
  engine.Release(Now(), Taker(), jobs[0], 5, 0);
  engine.Release(Now(), Taker(), jobs[3], 7, 0);
  EXPECT_EQ(TubeGroups().OldestOf(*TubeGroups().Find("a"))->id(), jobs[0]);
  EXPECT_EQ(TubeGroups().Check(), "");
  for (const std::size_t next : {0, 1, 4, 2, 3}) {
    EXPECT_EQ(Finish(1), "a");
    EXPECT_EQ(last_, jobs[next]);
  }
}

// (sum of shares)^2 / (n * sum of squares): 1 when all are equal.
TEST_F(GroupsTest, EquallyLoadedOnesGetEqualShares) {
  SetGroups();
  constexpr int kGroups = 20, kWorkers = 7, kHandOuts = 2'000;
  for (int i = 0; i < kGroups * kHandOuts / 5; ++i) PutOf(std::to_string(i % kGroups));
  std::map<std::string, double> share;  // worker time
  std::set<std::pair<Time, JobId>> busy;
  std::minstd_rand random(1);
  for (int i = 0; i < kHandOuts; ++i) {
    if (busy.size() == kWorkers) {
      const auto [end, job] = *busy.begin();
      Pass(end - Now());
      engine.Delete(Now(), Taker(), job);
      busy.erase(busy.begin());
    }
    const std::string group = Next(1);
    const Time lasts = kSecond + random() % kSecond;
    share[group] += static_cast<double>(lasts);
    busy.emplace(Now() + lasts, last_);
  }
  ASSERT_EQ(share.size(), kGroups);
  double sum = 0, squares = 0;
  for (const auto& [group, time] : share) {
    sum += time;
    squares += time * time;
  }
  EXPECT_GE(sum * sum / (kGroups * squares), 0.99);
}

TEST_F(GroupsTest, CountHowOldTheirJobsWereWhenTheyLeft) {
  SetGroups();
  PutOf("a");
  PutOf("b");
  Next(1);
  Pass(10 * kSecond);
  Next(1);
  EXPECT_EQ(TubeGroups().ages().sum_seconds(), 10);
  EXPECT_EQ(TubeGroups().ages().counts().front(), 1U);
}

TEST_F(GroupsTest, TheOneWithTheFewestReservedJobsIsNext) {
  SetGroups();
  for (int i = 0; i < 4; ++i) PutOf("a");
  EXPECT_EQ(Next(2), "aa");
  for (int i = 0; i < 4; ++i) PutOf("b");
  EXPECT_EQ(Next(4), "bbab");
}

TEST_F(GroupsTest, AMoreUrgentJobLeavesBeforeAnyTurn) {
  SetGroups();
  PutOf("a", 10);
  PutOf("a", 5);
  PutOf("b", 10);
  PutOf("a", 5);
  EXPECT_EQ(Finish(4), "aaba");
}

TEST_F(GroupsTest, JobsWithoutOneAreAGroupWithTurns) {
  SetGroups({{"group_running", "1"}, {"group_order", "fifo"}});
  PutOf("\n1");
  PutOf("\n2");
  PutOf("a");
  PutOf("a");
  EXPECT_EQ(Next(4), "\n1a\n2-");
  EXPECT_EQ(TubeGroups().counts().groups, 1U);
  EXPECT_EQ(TubeGroups().counts().without, 2U);
}

TEST_F(GroupsTest, OfAgeLeaveAsWithoutGroups) {
  SetGroups({{"group_order", "age"}, {"group_running", "1"}});
  PutOf("a");
  PutOf("a");
  PutOf("b");
  PutOf("c", 1);
  EXPECT_EQ(Next(4), "cab-");
  EXPECT_EQ(Held("a"), "running");
}

// What peek-ready shows.
TEST_F(GroupsTest, WhereAllAreHeldBackTheMostUrgentJobIsReady) {
  SetGroups({{"group_running", "1"}});
  for (const char* const name : {"a", "b", "c", "d"}) PutOf(name, 1);
  PutOf("d", 6);
  const JobId shown = PutOf("c", 3);
  PutOf("b", 4);
  PutOf("a", 3);
  EXPECT_EQ(Next(5), "abcd-");
  EXPECT_EQ(TubeGroups().AnyReady()->id(), shown);
}

TEST_F(GroupsTest, ALineGivesOneJobAtATimeInTheOrderOfIds) {
  SetGroups({{"group_order", "fifo"}});
  const JobId first = PutOf("a", 100);
  const JobId second = PutOf("a", 1);
  EXPECT_EQ(Next(2), "a-");
  EXPECT_EQ(last_, first);
  EXPECT_EQ(Held("a"), "none") << "a line that runs is not held back";
  engine.Release(Now(), Taker(), first, 1000, 0);
  EXPECT_EQ(Next(1), "a");
  EXPECT_EQ(last_, first) << "a job that comes back is before all others of its group";
  engine.Release(Now(), Taker(), first, 1000, 10);
  EXPECT_EQ(Next(1), "-") << "the line waits for a delayed job";
  EXPECT_EQ(Held("a"), "fifo");
  Pass(10 * kSecond);
  EXPECT_EQ(Next(1), "a");
  EXPECT_EQ(last_, first);
  engine.Bury(Now(), Taker(), first, 1000);
  EXPECT_EQ(Next(1), "a") << "bury sets it aside";
  EXPECT_EQ(last_, second);
  engine.KickJob(Now(), first);
  EXPECT_EQ(Next(1), "-");
  engine.Delete(Now(), Taker(), second);
  EXPECT_EQ(Next(1), "a");
}

TEST_F(GroupsTest, ReserveJobTakesTheFirstOfALineOrOneThatWasSetAside) {
  SetGroups({{"group_order", "fifo"}, {"group_on_failure", "hold"}});
  const JobId first = PutOf("a"), second = PutOf("a"), third = PutOf("a");
  const auto takes = [&](JobId id) { return engine.ReserveJob(Now(), Taker(), id).job != nullptr; };
  EXPECT_FALSE(takes(second));
  EXPECT_TRUE(takes(first));
  EXPECT_FALSE(takes(second));
  engine.Bury(Now(), Taker(), first, 0);
  EXPECT_EQ(Next(1), "-");
  EXPECT_EQ(Held("a"), "failed");
  EXPECT_FALSE(takes(third));
  EXPECT_TRUE(takes(second)) << "it gets through `hold`";
  EXPECT_FALSE(takes(first));
  engine.Delete(Now(), Taker(), second);
  EXPECT_TRUE(takes(first));
}

TEST_F(GroupsTest, HaveALimitOfRunningJobsEach) {
  SetGroups({{"group_running", "2"}});
  for (int i = 0; i < 3; ++i) PutOf("a");
  PutOf("b");
  EXPECT_EQ(Next(5), "aba--");
  EXPECT_EQ(TubeGroups().counts().held_back, 1U);
  RecordingConsumer& waiting = Connect("t");
  EXPECT_EQ(Reserve(waiting), "waits");
  engine.Delete(Now(), Taker(), last_);
  EXPECT_THAT(waiting.Heard(), ElementsAre(::testing::StartsWith("reserved")));
}

TEST_F(GroupsTest, HaveAPaceEach) {
  SetGroups({{"group_rate", "1/s"}});
  for (int i = 0; i < 3; ++i) PutOf("a");
  PutOf("b");
  EXPECT_EQ(Next(3), "ab-");
  EXPECT_EQ(Held("a"), "rate");
  RecordingConsumer& waiting = Connect("t");
  EXPECT_EQ(Reserve(waiting), "waits");
  Pass(kSecond);
  EXPECT_THAT(waiting.Heard(), ElementsAre(::testing::StartsWith("reserved")));
  Pass(kSecond);
  EXPECT_EQ(Next(1), "a");
}

TEST_F(GroupsTest, APaceOutlivesItsJobsUntilItIsFull) {
  SetGroups({{"group_rate", "1/m"}});
  PutOf("a");
  EXPECT_EQ(Finish(1), "a");
  PutOf("a");
  EXPECT_EQ(Next(1), "-");
  engine.Cancel(Now(), 2);
  Leave(Taker());
  EXPECT_NE(engine.FindTube("t"), nullptr);
  Pass(60 * kSecond);
  ASSERT_TRUE(engine.FindTube("t") == nullptr || TubeGroups().empty());
}

TEST_F(GroupsTest, ASleeperIsWokenOnlyForAJobThatItMayHave) {
  SetGroups({{"group_order", "fifo"}});
  RecordingConsumer& one = Sleeping({"t"});
  RecordingConsumer& other = Sleeping({"t"});
  PutOf("a");
  PutOf("a");
  EXPECT_THAT(one.Heard(), ElementsAre("noop"));
  EXPECT_THAT(other.Heard(), IsEmpty());
  EXPECT_EQ(Grab(one), "reserved 1");
  Pass(kSecond);
  EXPECT_THAT(other.Heard(), IsEmpty());
  PutOf("a");
  EXPECT_THAT(other.Heard(), IsEmpty());
  PutOf("b");
  EXPECT_THAT(other.Heard(), ElementsAre("noop"));
}

TEST_F(GroupsTest, AHeldGroupGivesNothingUntilItsDeadJobComesHome) {
  SetGroups({{"group_on_failure", "hold"}, {"on_failure", "move"}, {"attempts", "1"}});
  PutOf("a");
  PutOf("a");
  PutOf("b");
  Worker({"t"});
  EXPECT_EQ(Next(1), "a");
  const JobId dead = last_;
  engine.Release(Now(), Taker(), dead, 0, 0);
  EXPECT_EQ(engine.Find(dead)->tube().name(), "t.dead");
  EXPECT_EQ(Next(2), "b-");
  EXPECT_EQ(Held("a"), "failed");
  engine.KickJob(Now(), dead);
  EXPECT_EQ(Next(2), "aa");
}

TEST_F(GroupsTest, RefuseJobsBeyondTheirLimit) {
  SetGroups({{"group_max_jobs", "2"}, {"group_missing", "refuse"}});
  PutOf("a");
  PutOf("a");
  PutOf("b");
  RecordingConsumer& producer = Connect("t");
  EXPECT_EQ(engine.Put(Now(), producer, MakeJob({.body = "a"})).code, Code::kGroupFull);
  EXPECT_EQ(engine.Put(Now(), producer, MakeJob({.body = "\n"})).code, Code::kGroupMissing);
  EXPECT_EQ(engine.Put(Now(), producer, MakeJob({.body = "b"})).code, Code::kOk);
}

TEST_F(GroupsTest, FollowAChangedPolicyById) {
  SetGroups();
  for (int i = 0; i < 2000; ++i) PutOf(i % 2 == 0 ? "a\nx" : "b\nx");
  SetPolicy({{"group", "json:"}});
  engine.Tick(Now());
  EXPECT_LT(TubeGroups().counts().without, 2000U);
  while (engine.Tick(Now()) <= Now()) continue;
  EXPECT_EQ(TubeGroups().counts().without, 2000U);
  EXPECT_EQ(TubeGroups().gives(), 2000U);
  SetPolicy({{"group", "line"}, {"group_order", "fifo"}});
  while (engine.Tick(Now()) <= Now()) continue;
  EXPECT_EQ(TubeGroups().gives(), 2U);
  SetPolicy({{"weight", "2"}});
  while (engine.Tick(Now()) <= Now()) continue;
  EXPECT_EQ(At("t").groups(), nullptr);
  EXPECT_EQ(Next(2), "a\nxb\nx");
}

TEST_F(GroupsTest, ComeBackAtAStartByTheirRecords) {
  const PolicyRules rules({{.match = "t", .values = {{"group", "line"}}}});
  SetGroups();
  PutOf("a");
  PutOf("b");
  PutOf("\n");
  const Restarted after(journal, rules, Now());
  const Groups& groups = *after.engine.FindTube("t")->groups();
  EXPECT_EQ(groups.counts().groups, 2U);
  EXPECT_EQ(groups.counts().without, 1U);
  EXPECT_EQ(journal.records().front().View().group.name, "a");
  EXPECT_EQ(journal.records().front().View().group.source, "line");
  const Restarted other(journal, PolicyRules({{.match = "t", .values = {{"group", "json:"}}}}),
                        Now());
  EXPECT_EQ(other.engine.FindTube("t")->groups()->counts().without, 3U);
}

TEST_F(GroupsTest, ALineGivesItsOnlyJobByItsIdThoughThatIsDelayed) {
  SetGroups({{"group_order", "fifo"}});
  const JobId delayed = PutOf("a", 1024, 60), later = PutOf("b");
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), Taker(), delayed).job);
  EXPECT_EQ("reserved", State(delayed));
  EXPECT_EQ(Next(1), "b");
  EXPECT_EQ(last_, later);
}

TEST_F(GroupsTest, TheOldestJobIsFoundThoughNoneMayLeave) {
  SetGroups({{"group_running", "1"}});
  for (const char* const group : {"a", "a", "b"}) PutOf(group);
  EXPECT_EQ(Next(3), "ab-");
  EXPECT_EQ(At("t").OldestReady()->id(), 2U);
  engine.Cancel(Now(), 2);
  EXPECT_EQ(At("t").OldestReady(), nullptr);
}

TEST_F(GroupsTest, TheOldestOfALineIsItsFirst) {
  SetGroups({{"group_order", "fifo"}});
  const JobId first = PutOf("a", 9), second = PutOf("a", 1);
  EXPECT_EQ(At("t").OldestReady()->id(), first);
  EXPECT_EQ(Next(1), "a");
  engine.Release(Now(), Taker(), first, 1, 60);
  EXPECT_EQ(TubeGroups().OldestOf(*TubeGroups().Find("a"))->id(), second) << "that one is delayed";
}

// Jobs of one priority are in a list, those of others in a tree.
TEST_F(GroupsTest, TheOldestJobIsLookedForInAFewPriorities) {
  SetGroups();
  const auto oldest = [this] { return TubeGroups().OldestOf(*TubeGroups().Find("a")); };
  const JobId first = PutOf("a", 5), second = PutOf("a", 9);
  PutOf("a", 8);
  PutOf("a", 7);
  EXPECT_EQ(oldest()->id(), first);
  EXPECT_EQ(Next(1), "a");
  EXPECT_EQ(oldest()->id(), second) << "nothing is left in the list";
  for (std::uint32_t priority = 30; priority > 10; --priority) PutOf("a", priority);
  EXPECT_EQ(oldest()->id(), second);
  engine.Cancel(Now(), second);
  ASSERT_NE(oldest(), nullptr);
  EXPECT_EQ(oldest()->state(), JobState::kReady);
  const JobId delayed = PutOf("b", 5, 60);
  PutOf("b", 5);
  EXPECT_EQ(TubeGroups().OldestOf(*TubeGroups().Find("b"))->id(), delayed + 1);
}

TEST_F(GroupsTest, NoJobIsVisitedBeyondTheBound) {
  SetGroups();
  for (const char* const group : {"a", "b"}) PutOf(group);
  int visited = 0;
  const auto visit = [&](const Job&) { ++visited; };
  At("t").VisitNext(JobState::kReady, 0, visit);
  EXPECT_EQ(visited, 0);
  At("t").VisitNext(JobState::kReady, 1, visit);
  EXPECT_EQ(visited, 1);
}

TEST_F(GroupsTest, ManyWhosePaceLetsThemGoTogetherGoInSlices) {
  SetGroups({{"group_rate", "1/s"}});
  constexpr std::uint64_t kGroups = 300;
  for (std::uint64_t i = 0; i < 2 * kGroups; ++i) PutOf(std::to_string(i % kGroups));
  Next(kGroups);
  EXPECT_EQ(TubeGroups().gives(), 0U);
  clock.Advance(kSecond);
  engine.Tick(Now());
  EXPECT_GT(TubeGroups().gives(), 0U);
  EXPECT_LT(TubeGroups().gives(), kGroups);
  Pass(0);
  EXPECT_EQ(TubeGroups().gives(), kGroups);
}

TEST_F(GroupsTest, ManyIdleOnesAreForgottenInSlices) {
  SetGroups({{"group_rate", "1/s"}});
  for (int i = 0; i < 300; ++i) PutOf(std::to_string(i));
  Finish(300);
  EXPECT_FALSE(TubeGroups().empty());
  clock.Advance(kSecond);
  engine.Tick(Now());
  EXPECT_FALSE(TubeGroups().empty());
  Pass(0);
  EXPECT_TRUE(TubeGroups().empty());
}

TEST_F(GroupsTest, AnIdleOneIsForgottenThoughThePolicyIsGone) {
  Taker();
  const std::size_t before = JobMemory();
  SetGroups({{"group_rate", "1/m"}});
  PutOf("a");
  EXPECT_EQ(Finish(1), "a");
  PutOf("b");
  SetPolicy({});
  Pass(0);
  EXPECT_EQ(At("t").groups(), nullptr);
  EXPECT_EQ(Finish(1), "b");
  EXPECT_GT(JobMemory(), before) << "its bucket is still remembered";
  Pass(60 * kSecond);
  EXPECT_EQ(JobMemory(), before);
}

TEST_F(GroupsTest, AnEngineMayEndWithIdleOnes) {
  const std::size_t before = JobMemory();
  {
    KeptJournal kept;
    Engine other({}, kept);
    other.SetRules(
        1, PolicyRules({{.match = "t", .values = {{"group", "line"}, {"group_rate", "1/m"}}}}));
    RecordingConsumer taker;
    other.Join(taker);
    other.Use(taker, "t");
    other.Watch(1, taker, "t");
    for (const char* const body : {"a", "b"}) other.Put(1, taker, MakeJob({.body = body}));
    Taken taken;
    other.Reserve(1, taker, 1, taken);
    EXPECT_TRUE(other.Delete(1, taker, taken.job->id()).ok());
    EXPECT_NE(other.FindTube("t")->groups()->Find("a"), nullptr) << "it is idle";
    while (!other.Leave(1, taker)) continue;
  }
  EXPECT_EQ(JobMemory(), before);
}

TEST_F(GroupsTest, AJobThatIsReservedAfterThePolicyWentHasNoGroup) {
  SetGroups();
  const JobId first = PutOf("a"), second = PutOf("a");
  SetPolicy({});
  EXPECT_NE(nullptr, engine.ReserveJob(Now(), Taker(), second).job);
  EXPECT_EQ("", GroupNameOf(JobOf(second)));
  EXPECT_EQ("a", GroupNameOf(JobOf(first))) << "it was not looked at yet";
  ExpectSound();
  Pass(0);
  EXPECT_EQ("", GroupNameOf(JobOf(first)));
  EXPECT_EQ(Next(1), "a");
}

TEST_F(GroupsTest, ADeadJobThatMayRunHoldsAGroupThatComesLater) {
  SetPolicy({{"on_failure", "move"}, {"attempts", "1"}, {"dead_state", "ready"}});
  const JobId dead = PutOf("a");
  EXPECT_EQ(Next(1), "a");
  engine.Release(Now(), Taker(), dead, 0, 0);
  ASSERT_EQ("t.dead", JobOf(dead).tube().name());
  ASSERT_EQ("ready", State(dead));
  for (const char* const group : {"a", "b"}) PutOf(group);
  SetGroups({{"group_on_failure", "hold"}});
  Pass(0);
  EXPECT_EQ(Next(2), "b-");
  EXPECT_EQ(Held("a"), "failed");
  engine.Cancel(Now(), dead);
  EXPECT_EQ(Next(1), "a");
}

TEST_F(GroupsTest, ADeadJobWhoseTubeIsGoneComesIntoAGroupWhereItIs) {
  SetPolicy({{"on_failure", "move"}, {"attempts", "1"}});
  const JobId dead = PutOf("a");
  EXPECT_EQ(Next(1), "a");
  engine.Release(Now(), Taker(), dead, 0, 0);
  Leave(Taker());
  ASSERT_EQ(nullptr, engine.FindTube("t"));
  SetPolicies({{.match = "t.dead", .values = {{"group", "line"}}}});
  Pass(0);
  EXPECT_EQ("a", GroupNameOf(JobOf(dead)));
  EXPECT_EQ(nullptr, engine.FindTube("t"));
}

TEST_F(GroupsTest, ManyJobsInARowWithoutOneAreToldOnce) {
  static std::size_t told;
  told = 0;
  SetLogSink([](LogLevel, LogCause, std::string_view event,
                std::span<const LogField>) { told += event == "many jobs in a row have no group"; },
             LogLevel::kWarning);
  SetGroups();
  const auto put = [this](int jobs, std::string_view body) {
    for (int i = 0; i < jobs; ++i) PutOf(body);
  };
  put(99, "\n");
  put(1, "a");
  put(99, "\n");
  EXPECT_EQ(told, 0U);
  put(200, "\n");
  EXPECT_EQ(told, 1U);
  put(1, "a");
  put(100, "\n");
  EXPECT_EQ(told, 2U);
  SetLogSink(nullptr, LogLevel::kOff);
}

}  // namespace
}  // namespace gearstalk
