#include "admin/metrics/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/admin/reading.h"

namespace gearstalk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr Time kMinute = 60 * kSecond;

class Worker final : public Consumer {};

class AttentionTest : public ::testing::Test {
 protected:
  ~AttentionTest() override { reading_.engine.Leave(reading_.now, worker_); }

  Engine& engine() { return reading_.engine; }
  // A worker that can take jobs of the tube.
  void Serve(std::string_view tube) {
    engine().Join(worker_);
    engine().Watch(reading_.now, worker_, tube, /*able=*/true);
  }
  JobId Take() {
    Taken taken;
    EXPECT_EQ(engine().Reserve(reading_.now, worker_, 0, taken), ReserveResult::kTaken);
    return taken.job->id();
  }
  JobId Bury(std::string_view tube) {
    const JobId id = reading_.Put(tube);
    engine().Tick(reading_.now);
    EXPECT_EQ(engine().Bury(id, std::nullopt, false).code, Code::kOk);
    return id;
  }
  // The tubes that have the concern at the next survey.
  std::vector<std::string> TubesWith(Concern kind) {
    reading_.Survey();
    std::vector<std::string> names;
    for (const Concerns::Finding& finding : reading_.attention.concerns()->Of(kind)) {
      names.push_back(engine().NextTube(finding.tube - 1)->name());
    }
    return names;
  }
  std::size_t CountOf(Concern kind) {
    reading_.Survey();
    return reading_.attention.concerns()->Count(kind);
  }

  Reading reading_;
  Worker worker_;
};

TEST_F(AttentionTest, NobodyServesATubeWithReadyJobs) {
  reading_.Put("alone");
  reading_.Put("later", 60);
  reading_.Put("served");
  Serve("served");
  EXPECT_THAT(TubesWith(Concern::kUnserved), ElementsAre("alone"));
  EXPECT_THAT(reading_.Text(), HasSubstr("gearstalkd_attention{kind=\"unserved\"} 1\n"));
  const Time since = reading_.now;
  reading_.now += 10 * kSecond;
  reading_.Survey();
  EXPECT_EQ(reading_.attention.concerns()->Of(Concern::kUnserved)[0].since, since);
}

TEST_F(AttentionTest, ATubeThatIsPausedIsNotUnserved) {
  reading_.Put("t");
  engine().Pause(reading_.now, "t", 60);
  EXPECT_THAT(TubesWith(Concern::kPaused), ElementsAre("t"));
  EXPECT_THAT(TubesWith(Concern::kUnserved), ElementsAre());
}

TEST_F(AttentionTest, APolicyHoldsJobsBack) {
  Serve("t");
  EXPECT_EQ(engine().SetPolicy(reading_.now, "t", "max_running", "1").status.code(), Code::kOk);
  reading_.Put("t");
  Take();
  EXPECT_THAT(TubesWith(Concern::kHeldBack), ElementsAre());
  reading_.Put("t");
  EXPECT_THAT(TubesWith(Concern::kHeldBack), ElementsAre("t"));
  EXPECT_THAT(TubesWith(Concern::kSilentWorkers), ElementsAre());
}

TEST_F(AttentionTest, GroupsHoldJobsBack) {
  Serve("t");
  for (const auto& [key, value] : {std::pair("group", "line"), {"group_running", "1"}}) {
    EXPECT_EQ(engine().SetPolicy(reading_.now, "t", key, value).status.code(), Code::kOk);
  }
  reading_.Put("t", 0, "ann");
  reading_.Put("t", 0, "ann");
  Take();
  EXPECT_THAT(TubesWith(Concern::kHeldBack), ElementsAre("t"));
  reading_.now += kMinute;
  EXPECT_THAT(TubesWith(Concern::kSilentWorkers), ElementsAre());
  reading_.Put("t", 0, "bob");
  EXPECT_THAT(TubesWith(Concern::kHeldBack), ElementsAre());
}

TEST_F(AttentionTest, WorkersThatTakeNothingForAMinuteAreSilent) {
  reading_.Put("t");
  reading_.Put("t");
  Serve("t");
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(TubesWith(Concern::kSilentWorkers), ElementsAre()) << i;
    reading_.now += 10 * kSecond;
  }
  EXPECT_THAT(TubesWith(Concern::kSilentWorkers), ElementsAre("t"));
  Take();
  EXPECT_THAT(TubesWith(Concern::kSilentWorkers), ElementsAre());
}

TEST_F(AttentionTest, ATubeFallsBehindWhenItsReadyJobsRiseForFiveMinutes) {
  Serve("t");
  reading_.Put("t");
  for (int minute = 0; minute < 5; ++minute) {
    reading_.Put("t");
    reading_.Put("t");
    EXPECT_THAT(TubesWith(Concern::kFallsBehind), ElementsAre()) << minute;
    Take();
    reading_.now += kMinute;
  }
  reading_.Put("t");
  reading_.Put("t");
  EXPECT_THAT(TubesWith(Concern::kFallsBehind), ElementsAre("t"));
  // A minute without a rise ends it.
  reading_.now += kMinute;
  Take();
  EXPECT_THAT(TubesWith(Concern::kFallsBehind), ElementsAre());
}

TEST_F(AttentionTest, BuriedSinceYesterday) {
  reading_.now += 1000 * kMinute;
  Bury("t");
  EXPECT_THAT(TubesWith(Concern::kBuried), ElementsAre("t"));
  reading_.now += 24 * 60 * kMinute;
  EXPECT_THAT(TubesWith(Concern::kBuried), ElementsAre());
}

// The last buried job of the list is an old one.
TEST_F(AttentionTest, AnOldJobThatWasMovedHidesNoneThatWasBuriedToday) {
  reading_.now += 1000 * kMinute;
  const JobId old = Bury("other");
  reading_.now += 24 * 60 * kMinute;
  const JobId fresh = Bury("t");
  ASSERT_EQ(engine().Move(reading_.now, old, "t").code, Code::kOk);
  EXPECT_THAT(TubesWith(Concern::kBuried), ElementsAre("t"));
  engine().KickJob(reading_.now, fresh);
  EXPECT_THAT(TubesWith(Concern::kBuried), ElementsAre());
}

TEST_F(AttentionTest, AScheduleThatWasOffLeftNothingOut) {
  Schedule schedule{.name = "s", .every = kMinute, .tube = "t"};
  ASSERT_TRUE(engine().schedules().Set(reading_.now, {schedule}, "UTC").ok());
  const auto pass = [&](int minutes) {
    for (int i = 0; i < minutes; ++i) {
      engine().Tick(reading_.now);
      reading_.now += kMinute;
    }
    engine().Tick(reading_.now);
  };
  pass(3);  // the first run is not finished: the second time is skipped
  EXPECT_EQ(CountOf(Concern::kSchedules), 1U);
  EXPECT_THAT(reading_.attention.concerns()->schedules, ElementsAre("s"));
  engine().schedules().Switch(reading_.now, "s", false);
  EXPECT_EQ(CountOf(Concern::kSchedules), 0U);
  pass(2);
  engine().schedules().Switch(reading_.now, "s", true);
  EXPECT_EQ(CountOf(Concern::kSchedules), 0U);
  pass(1);
  EXPECT_EQ(CountOf(Concern::kSchedules), 1U);
}

TEST_F(AttentionTest, RefusalsOfTheLastTenMinutes) {
  EXPECT_EQ(CountOf(Concern::kRefused), 0U) << "clients cause those for lack of rights themselves";
  reading_.refused_tls = 2;
  EXPECT_EQ(CountOf(Concern::kRefused), 1U);
  EXPECT_THAT(reading_.attention.concerns()->refused, ElementsAre(Pair("tls", 2)));
  for (int minute = 0; minute < 12; ++minute) {
    reading_.now += kMinute;
    reading_.Survey();
  }
  EXPECT_EQ(CountOf(Concern::kRefused), 0U);
}

TEST_F(AttentionTest, MemoryThatEndsWithinADay) {
  EngineLimits limits;
  limits.memory = JobMemory() + TableMemory() + 400'000'000;
  engine().SetLimits(limits);
  for (int minute = 0; minute < 20; ++minute) {
    EXPECT_EQ(CountOf(Concern::kMemory), minute < 10 ? 0U : 1U) << minute;
    reading_.now += kMinute;
    CountJobMemory(400'000);
  }
  const SpaceLeft space = reading_.attention.concerns()->memory;
  EXPECT_NEAR(static_cast<double>(space.ends_in / kMinute), 980, 30);
  CountJobMemory(-20 * 400'000);
  EXPECT_EQ(CountOf(Concern::kMemory), 0U);
}

TEST_F(AttentionTest, Draining) {
  engine().SetDraining(true);
  EXPECT_EQ(CountOf(Concern::kDraining), 1U);
}

}  // namespace
}  // namespace gearstalk
