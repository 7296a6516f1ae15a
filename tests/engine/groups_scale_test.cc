// Groups of very many jobs, and very many groups, in an engine without a journal.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "broker/engine/groups.h"
#include "broker/engine/slab.h"
#include "broker/journal/memory_journal.h"
#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class GroupsScaleTest : public ::testing::Test {
 protected:
  GroupsScaleTest() {
    engine_.Join(consumer_);
    engine_.Use(consumer_, "t");
    engine_.Watch(Now(), consumer_, "t");
  }
  ~GroupsScaleTest() override {
    EXPECT_EQ(engine_.CheckInvariants({&consumer_}), "");
    while (!engine_.Leave(Now(), consumer_)) continue;
  }

  // Each is a line of a body.
  void SetGroups(PolicyValues values = {}) {
    values.emplace("group", "line");
    engine_.SetRules(Now(), PolicyRules({{.match = "t*", .values = std::move(values)}}));
    Tick();
  }
  JobId Put(std::string_view group) {
    return engine_.Put(Now(), consumer_, MakeJob({.ttr_s = 100'000, .body = group})).id;
  }
  // 0: no job may leave.
  JobId Take() {
    Taken taken;
    engine_.Reserve(Now(), consumer_, Now(), taken);
    return taken.job == nullptr ? 0 : taken.job->id();
  }
  JobId Finish() {
    const JobId job = Take();
    if (job > 0) engine_.Delete(Now(), consumer_, job);
    return job;
  }
  // Returns when to be called again.
  Time Tick() {
    Time next = engine_.Tick(Now());
    while (next <= Now()) next = engine_.Tick(Now());
    return next;
  }
  void Pass(Time by) {
    clock_.Advance(by);
    Tick();
  }
  Time Now() const { return clock_.Now(); }
  const Groups& TubeGroups() const { return *engine_.FindTube("t")->groups(); }
  std::string_view Held(std::string_view name) const {
    return NameOf(TubeGroups().Find(name)->held());
  }
  // The group is held back for an hour, in which nothing has to be done for it and others go on.
  void WaitAnHour(std::string_view group, std::string_view why) {
    EXPECT_EQ(Take(), 0U);
    EXPECT_EQ(Held(group), why);
    const JobId other = Put("other");
    EXPECT_EQ(Finish(), other);
    EXPECT_GE(Tick(), Now() + kHour) << why;
    Pass(kHour - 1);
    EXPECT_EQ(Take(), 0U);
    Pass(1);
  }

  static constexpr Time kHour = 3600 * kSecond;

  FakeClock clock_;
  MemoryJournal journal_;
  Engine engine_{{}, journal_};
  RecordingConsumer consumer_;
};

TEST_F(GroupsScaleTest, AGroupOfAMillionJobsIsHeldBackForAnHourAndLetGo) {
  constexpr JobId kJobs = 1'000'000;
  SetGroups({{"group_rate", "1/h"}});
  for (JobId id = 1; id <= kJobs; ++id) ASSERT_EQ(Put("a"), id);
  EXPECT_EQ(Finish(), 1U);
  WaitAnHour("a", "rate");
  EXPECT_EQ(Take(), 2U);

  SetGroups({{"group_running", "1"}});
  WaitAnHour("a", "running");
  engine_.Bury(Now(), consumer_, 2, 1024);

  SetGroups({{"group_on_failure", "hold"}});
  WaitAnHour("a", "failed");
  engine_.KickJob(Now(), 2);
  EXPECT_EQ(Take(), 2U);

  SetGroups({{"group_order", "fifo"}});
  engine_.Release(Now(), consumer_, 2, 0, 3600);
  WaitAnHour("a", "fifo");

  JobId next = 2;
  while (const JobId id = Finish()) {
    next += id == next ? 1 : 0;
  }
  EXPECT_EQ(next, kJobs + 1) << "all leave in the order of their ids";
  EXPECT_TRUE(engine_.FindTube("t")->groups()->empty());
}

// In the process, ten million: scripts/bench --only groups/turnover.
TEST_F(GroupsScaleTest, LeaveNothingBehindWhenTheyGo) {
  const PolicyValues policies[] = {
      {},
      {{"group_order", "fifo"}},
      {{"group_rate", "100/s"}, {"group_burst", "3"}},
      {{"group_order", "fifo"},
       {"group_on_failure", "hold"},
       {"attempts", "1"},
       {"on_failure", "move"},
       {"retry_on", "release"}},
  };
  int name = 0;
  // Each group has a job that comes back and one that fails.
  const auto come_and_go = [&] {
    for (int i = 0; i < 5'000; ++i) {
      const std::string group = std::to_string(++name);
      const JobId first = Put(group), second = Put(group);
      EXPECT_EQ(Take(), first);
      engine_.Release(Now(), consumer_, first, 0, 1);
      Pass(kSecond);
      engine_.KickJob(Now(), first);
      EXPECT_EQ(Finish(), first);
      EXPECT_EQ(Take(), second);
      engine_.Bury(Now(), consumer_, second, 0);
      engine_.Cancel(Now(), second);
    }
    Pass(kSecond);
    return JobMemory();
  };
  for (const PolicyValues& policy : policies) {
    SetGroups(policy);
    const std::size_t before = come_and_go();
    EXPECT_EQ(come_and_go(), before);
    EXPECT_TRUE(TubeGroups().empty());
  }
}

}  // namespace
}  // namespace gearstalk
