// The index of failed jobs: which there are, by the time of their failure.

#include "broker/engine/failures.h"

#include <random>
#include <set>
#include <vector>

#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

constexpr Time kHour = 3600 * kSecond;

class FailuresTest : public EngineTest {
 protected:
  JobId Bury(std::string_view tube) {
    const JobId id = PutInto(tube);
    EXPECT_EQ(engine.Bury(id, std::nullopt, false).code, Code::kOk);
    return id;
  }
  // All, the latest first.
  std::vector<JobId> Listed() const {
    std::vector<JobId> ids;
    Failures::Place place = Failures::kEnd;
    for (auto some = engine.failures().Before(place); !some.empty();
         some = engine.failures().Before(place)) {
      for (const Failures::Place& each : some) {
        EXPECT_LT(each, place);
        place = each;
        ids.push_back(each.id);
      }
    }
    return ids;
  }
  void Start() {
    Pass(100 * kHour);
    engine.Tick(Now());
  }
};

TEST_F(FailuresTest, TheLatestComesFirst) {
  Start();
  const JobId first = PutInto("a");
  const JobId second = Bury("b");
  Pass(kSecond);
  engine.Bury(first, std::nullopt, false);
  Pass(kSecond);
  const JobId third = Bury("a");
  EXPECT_THAT(Listed(), ElementsAre(third, first, second));
  engine.KickJob(Now(), first);
  EXPECT_THAT(Listed(), ElementsAre(third, second));
  engine.Cancel(Now(), second);
  engine.Move(Now(), third, "c");
  EXPECT_THAT(Listed(), ElementsAre(third));
}

TEST_F(FailuresTest, ADeadJobHasFailedInAnyState) {
  Start();
  for (const auto& [key, value] : {std::pair{"on_failure", "move"}, {"dead_state", "ready"}}) {
    ASSERT_EQ(engine.SetPolicy(Now(), "f", key, value).status.code(), Code::kOk);
  }
  const JobId id = PutInto("f");
  RecordingConsumer& worker = Worker({"f"});
  ASSERT_EQ("reserved " + std::to_string(id), Grab(worker));
  engine.WorkFail(Now(), worker, id);
  EXPECT_EQ("f.dead", engine.Find(id)->tube().name());
  EXPECT_THAT(Listed(), ElementsAre(id));
  RecordingConsumer& dead = Connect("f.dead");
  Reserve(dead);
  EXPECT_EQ("reserved", State(id));
  EXPECT_THAT(Listed(), ElementsAre(id));
  engine.Release(Now(), dead, id, 5, 10);
  EXPECT_EQ("delayed", State(id));
  EXPECT_THAT(Listed(), ElementsAre(id));
  engine.Move(Now(), id, "f");
  EXPECT_THAT(Listed(), IsEmpty());
}

// Blocks are made, divided, joined and dropped.
TEST_F(FailuresTest, ManyInAnyOrder) {
  Start();
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same on every run
  std::vector<JobId> jobs;
  for (int i = 0; i < 3000; ++i) jobs.push_back(PutInto("t" + std::to_string(i % 7)));
  std::set<std::pair<Time, JobId>> expected;
  for (int step = 0; step < 20'000; ++step) {
    const JobId id = jobs[random() % jobs.size()];
    const Job& job = *engine.Find(id);
    if (job.state() == JobState::kBuried) {
      // Fewer and fewer are left in the end.
      if (step < 8000 && random() % 4 > 0) continue;
      expected.erase({job.extra().ended, id});
      engine.KickJob(Now(), id);
    } else if (step < 12'000) {
      engine.Bury(id, std::nullopt, false);
      expected.insert({job.extra().ended, id});
    }
    if (random() % 3 == 0) Pass(kSecond);
    if (step % 1000 == 0) ExpectSound();
  }
  std::vector<JobId> ids;
  for (auto at = expected.rbegin(); at != expected.rend(); ++at) ids.push_back(at->second);
  EXPECT_EQ(Listed(), ids);
}

TEST_F(FailuresTest, IdsThatAreFarApart) {
  Start();
  std::vector<JobId> ids;
  for (int i = 0; i < 400; ++i) {
    Record record;
    record.kind = Record::Kind::kPut;
    record.id = static_cast<JobId>(i) * (JobId{1} << 33) + 5;
    record.tube = "t";
    record.state = Record::State::kBuried;
    record.burial = static_cast<std::uint64_t>(i) + 1;
    record.failure.ended = Now() - (i * 37 % 400) * kSecond;
    ASSERT_TRUE(engine.records().Apply(record).ok());
  }
  engine.records().BecomeActive(Now());
  for (int second = 0; second < 400; ++second) {
    for (int i = 0; i < 400; ++i) {
      if (i * 37 % 400 == second) ids.push_back(static_cast<JobId>(i) * (JobId{1} << 33) + 5);
    }
  }
  EXPECT_EQ(Listed(), ids);
  for (int i = 0; i < 400; i += 2) {
    engine.KickJob(Now(), static_cast<JobId>(i) * (JobId{1} << 33) + 5);
  }
  EXPECT_EQ(engine.failures().size(), 200U);
}

TEST_F(FailuresTest, ATubeKnowsHowManyWereBuriedWithinADay) {
  Start();
  for (int hour = 0; hour < 10; ++hour) {
    Bury("t");
    Bury("other");
    Pass(kHour);
  }
  EXPECT_EQ(At("t").buried_lately, 10U);
  Pass(14 * kHour);
  EXPECT_EQ(At("t").buried_lately, 9U);
  Pass(kHour);
  EXPECT_EQ(At("t").buried_lately, 8U);
  engine.Move(Now(), At("t").NextBuried()->id(), "u");
  EXPECT_EQ(At("t").buried_lately, 8U) << "that one is old";
  EXPECT_EQ(At("u").buried_lately, 0U);
  Pass(100 * kHour);
  EXPECT_EQ(At("t").buried_lately, 0U);
  EXPECT_EQ(At("t").buried(), 9U);
}

// Millions may grow old together: each call of Tick handles some.
TEST_F(FailuresTest, ManyGrowOldInSlices) {
  Start();
  for (int i = 0; i < 2000; ++i) Bury("t");
  clock.Advance(25 * kHour);
  engine.Tick(Now());
  EXPECT_LE(At("t").buried_lately, 2000U - 100);
  EXPECT_GE(At("t").buried_lately, 2000U - 500);
  while (engine.Tick(Now()) == Now()) continue;
  EXPECT_EQ(At("t").buried_lately, 0U);
}

// The bound of burying half of 10^6 jobs leaves 5 bytes for each.
TEST_F(FailuresTest, AFailureCostsLessThanFiveBytes) {
  Start();
  constexpr int kJobs = 100'000;
  std::vector<JobId> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(PutInto("t"));
  const std::size_t before = JobMemory();
  for (const JobId id : jobs) engine.Bury(id, std::nullopt, false);
  const double each = static_cast<double>(JobMemory() - before) / kJobs;
  EXPECT_LT(each, static_cast<double>(sizeof(JobExtra)) + 5);
}

TEST_F(FailuresTest, OneWithAFarIdDividesAFullBlock) {
  for (const int second : {50, 150}) {
    KeptJournal empty;
    Engine other({}, empty);
    Record record;
    record.tube = "t";
    record.state = Record::State::kBuried;
    const auto apply = [&](JobId id, int ended) {
      record.id = id;
      ++record.burial;
      record.failure.ended = Now() + ended * kSecond;
      ASSERT_TRUE(other.records().Apply(record).ok());
    };
    std::vector<JobId> expected;
    for (int i = 0; i < 200; ++i) {
      apply(static_cast<JobId>(i) + 1, i);
      expected.push_back(static_cast<JobId>(i) + 1);
    }
    const JobId far = JobId{1} << 40;
    apply(far, second);
    expected.insert(expected.begin() + second + 1, far);
    other.records().BecomeActive(Now());
    EXPECT_EQ("", other.CheckInvariants({}));
    std::vector<JobId> listed;
    Failures::Place place = Failures::kEnd;
    for (auto some = other.failures().Before(place); !some.empty();
         some = other.failures().Before(place)) {
      for (const Failures::Place& each : some) listed.insert(listed.begin(), each.id);
      place = some.back();
    }
    EXPECT_EQ(expected, listed) << second;
  }
}

TEST_F(FailuresTest, ADeadJobThatIsNotBuriedDoesNotGrowOldAsOne) {
  Start();
  for (const auto& [key, value] : {std::pair{"on_failure", "move"}, {"dead_state", "ready"}}) {
    ASSERT_TRUE(engine.SetPolicy(Now(), "f", key, value).status.ok());
  }
  const JobId id = PutInto("f");
  RecordingConsumer& worker = Worker({"f"});
  ASSERT_EQ("reserved " + std::to_string(id), Grab(worker));
  engine.WorkFail(Now(), worker, id);
  EXPECT_EQ("ready", State(id));
  Bury("f.dead");
  EXPECT_EQ(1U, At("f.dead").buried_lately);
  Pass(25 * kHour);
  EXPECT_EQ(0U, At("f.dead").buried_lately);
  EXPECT_THAT(Listed(), ElementsAre(id + 1, id));
}

}  // namespace
}  // namespace gearstalk
