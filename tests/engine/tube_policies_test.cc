// How tubes get their policies, and what becomes of policies that no tube has.

#include "broker/engine/tube_policies.h"

#include <string>

#include "broker/engine/names.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

class TubePoliciesTest : public PolicyTest {
 protected:
  // "t0" and so on, which stay.
  void MakeTubes(int tubes) {
    for (int i = 0; i < tubes; ++i) engine.CreateFunction("t" + std::to_string(i));
  }

  std::size_t TubesWithAPolicy() const {
    std::size_t tubes = 0;
    std::uint64_t last = 0;
    while (const Tube* const tube = engine.NextTube(last)) {
      last = tube->id();
      if (tube->policy() != nullptr) ++tubes;
    }
    return tubes;
  }
};

TEST_F(TubePoliciesTest, ManyTubesFollowTheirRulesInSlices) {
  MakeTubes(2'000);
  SetPolicies({{.match = "*", .values = {{"max_jobs", "3"}}}});
  std::size_t followed = TubesWithAPolicy();
  EXPECT_GT(followed, 0u);
  EXPECT_LT(followed, 1'000u);
  EXPECT_EQ(3u, At("t0").policy()->max_jobs[0]);
  engine.CreateFunction("new");
  ASSERT_NE(nullptr, At("new").policy());
  while (engine.Tick(Now()) <= Now()) {
    EXPECT_LT(TubesWithAPolicy(), followed + 1'000);
    followed = TubesWithAPolicy();
  }
  EXPECT_EQ(engine.Stats().tubes, TubesWithAPolicy());
  EXPECT_EQ(3, At("t1999").settings.max_queue[0]);
  EXPECT_EQ(At("t0").policy(), At("t1999").policy()) << "tubes of the same entries share it";
  EXPECT_EQ(1u, engine.policies().policies());
}

TEST_F(TubePoliciesTest, PatternsThatAreTriedCountForTheSlice) {
  MakeTubes(500);
  Entries entries;
  for (int i = 0; i < 1'000; ++i) {
    entries.push_back({"*x" + std::to_string(i), {{"attempts", "3"}}});
  }
  entries.push_back({"*", {{"attempts", "4"}}});
  SetPolicies(std::move(entries));
  EXPECT_LT(TubesWithAPolicy(), 20u);
  Pass(0);
  EXPECT_EQ(engine.Stats().tubes, TubesWithAPolicy());
}

TEST_F(TubePoliciesTest, RulesThatComeAmidASliceReplaceTheOthers) {
  MakeTubes(2'000);
  SetPolicies({{.match = "*", .values = {{"max_jobs", "3"}}}});
  SetPolicies({{.match = "t1*", .values = {{"attempts", "7"}}}});
  Pass(0);
  EXPECT_EQ(nullptr, At("t0").policy());
  EXPECT_EQ(0, At("t0").settings.max_queue[0]);
  EXPECT_EQ(7u, At("t1999").policy()->attempts);
  EXPECT_EQ(0, At("t1999").settings.max_queue[0]);
}

TEST_F(TubePoliciesTest, ATubeThatIsReachedLateServesWhoWaits) {
  SetPolicies({{.match = "*", .values = {{"max_running", "1"}}}});
  MakeTubes(2'000);
  RecordingConsumer &first = Connect("late"), &second = Connect("late");
  PutInto("late");
  PutInto("late");
  Reserve(first);
  EXPECT_EQ("waits", Reserve(second));
  SetPolicies({});
  EXPECT_THAT(second.Heard(), IsEmpty());
  Pass(0);
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 2"));
}

TEST_F(TubePoliciesTest, PoliciesThatNoTubeHasGo) {
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(engine.SetPolicy(Now(), "t", "jitter", std::to_string(i % 101)).status.ok());
    ASSERT_TRUE(engine.SetPolicy(Now(), "t", "attempts", std::to_string(i + 1)).status.ok());
  }
  EXPECT_EQ(10'000u, At("t").policy()->attempts);
  EXPECT_LT(engine.policies().policies(), 200u);
}

TEST_F(TubePoliciesTest, ALargestJobIsKnownBeforeItsTubeIsThere) {
  EXPECT_EQ(0u, engine.policies().MaxJobSize("t"));
  EXPECT_TRUE(engine.SetPolicy(Now(), "set", "max_job_size", "200").status.ok());
  EXPECT_EQ(200u, engine.policies().MaxJobSize("set"));
  EXPECT_EQ(0u, engine.policies().MaxJobSize("t")) << "there are no rules";
  SetPolicy({{"max_job_size", "300"}});
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  EXPECT_EQ(300u, engine.policies().MaxJobSize("t"));
  EXPECT_EQ(0u, engine.policies().MaxJobSize("other"));
  PutInto("t");
  EXPECT_EQ(300u, engine.policies().MaxJobSize("t"));
}

TEST_F(TubePoliciesTest, TakingBackWhatWasNeverSetMakesNoTube) {
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "ttr", std::nullopt).status.ok());
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "", std::nullopt).status.ok());
  EXPECT_EQ(nullptr, engine.FindTube("t"));
  EXPECT_EQ(0u, journal.last());
  PutInto("t");
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "ttr", "9").status.ok());
  EXPECT_TRUE(engine.SetPolicy(Now(), "t", "", std::nullopt).status.ok());
  EXPECT_TRUE(At("t").policy_state().set.empty());
}

TEST_F(TubePoliciesTest, ATubeSaysWhyItHandsOutNothing) {
  const auto held = [this] { return NameOf(At("t").held_back); };
  RecordingConsumer& worker = Connect("t");
  for (int i = 0; i < 2; ++i) PutInto("t");
  EXPECT_EQ("none", held());
  SetPolicy({{"max_running", "1"}, {"rate", "1/m"}, {"burst", "1"}});
  Reserve(worker);
  EXPECT_EQ("running", held());
  engine.Delete(Now(), worker, 1);
  EXPECT_EQ("rate", held());
  Pass(60 * kSecond);
  EXPECT_EQ("none", held());
}

}  // namespace
}  // namespace gearstalk
