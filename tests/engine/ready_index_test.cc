#include "broker/engine/ready_index.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

// Consumers of so many tubes that they find their next job through an index.
class ReadyIndexTest : public EngineTest {
 protected:
  static constexpr int kTubes = 150;

  ReadyIndexTest() : consumer_(Connect("0")) {
    for (int tube = 1; tube < kTubes; ++tube) Watch(tube);
  }

  void Watch(int tube) { engine.Watch(Now(), consumer_, std::to_string(tube)); }
  void Ignore(int tube) { engine.Ignore(Now(), consumer_, std::to_string(tube)); }

  // Fills every tube, with priorities that fall as the numbers of the tubes rise.
  void Fill() {
    for (int tube = 0; tube < kTubes; ++tube) {
      PutInto(std::to_string(tube), {.priority = static_cast<std::uint32_t>(1000 - tube)});
    }
  }

  // The answer that a look at every watched tube gives.
  JobId MostUrgent() const {
    const Job* best = nullptr;
    for (const auto& watch : consumer_.watched()) {
      const Job* front = watch->tube.paused() ? nullptr : watch->tube.NextReady();
      if (front != nullptr && (best == nullptr || MoreUrgent(*front, *best))) best = front;
    }
    return best == nullptr ? 0 : best->id();
  }

  JobId Take() {
    Taken taken;
    engine.Reserve(Now(), consumer_, Now(), taken);
    return taken.job == nullptr ? 0 : taken.job->id();
  }

  RecordingConsumer& consumer_;
};

TEST_F(ReadyIndexTest, FindsTheMostUrgentOfManyTubes) {
  Fill();
  for (JobId id = kTubes; id > 0; --id) EXPECT_EQ(id, Take());
  EXPECT_EQ(0u, Take());
}

TEST_F(ReadyIndexTest, SeesWhatArrivesAndWhatComesBack) {
  Fill();
  EXPECT_EQ(JobId{kTubes}, Take());
  const JobId urgent = PutInto("7", {.priority = 1});
  EXPECT_EQ(urgent, Take());
  engine.Release(Now(), consumer_, urgent, 2000, 0);
  engine.Release(Now(), consumer_, kTubes, 3, 0);
  EXPECT_EQ(JobId{kTubes}, Take());
  EXPECT_EQ(JobId{kTubes - 1}, Take());
}

TEST_F(ReadyIndexTest, LeavesOutPausedAndIgnoredTubes) {
  Fill();
  EXPECT_EQ(JobId{kTubes}, Take());
  engine.Pause(Now(), std::to_string(kTubes - 2), 10);
  Ignore(kTubes - 3);
  EXPECT_EQ(JobId{kTubes - 3}, Take());
  Pass(10 * kSecond);
  EXPECT_EQ(JobId{kTubes - 1}, Take());
  Watch(kTubes - 3);
  EXPECT_EQ(JobId{kTubes - 2}, Take());
}

// Groups that nobody has read give nothing; without them the tube has its front again.
TEST_F(ReadyIndexTest, SeesATubeThatLostItsGroupsBeforeTheyWereRead) {
  Fill();
  EXPECT_EQ(JobId{kTubes}, Take());
  const std::string tube = std::to_string(kTubes - 2);
  engine.SetRules(Now(), PolicyRules({{.match = tube, .values = {{"group", "line"}}}}));
  EXPECT_EQ(JobId{kTubes - 2}, Take());
  engine.SetRules(Now(), PolicyRules());
  EXPECT_EQ(JobId{kTubes - 1}, Take());
}

TEST_F(ReadyIndexTest, CatchesUpAfterMoreThanTheRingHolds) {
  Fill();
  EXPECT_EQ(JobId{kTubes}, Take());
  JobId last = 0;
  for (std::uint64_t i = 0; i <= FreshTubes::kKept; ++i) {
    last = PutInto("1", {.priority = static_cast<std::uint32_t>(FreshTubes::kKept - i)});
  }
  EXPECT_EQ(last, Take());
}

// It is shown no fresh tubes here, so that it finds only what it looks at by itself.
TEST_F(ReadyIndexTest, LooksAtNoOtherTubeWhenTheListChanges) {
  const FreshTubes fresh;
  ReadyIndex index;
  std::uint64_t effort = 0;
  const auto best = [&] {
    return index.Best(consumer_.watched(), fresh, /*fair=*/false, effort)->id();
  };
  const JobId first = PutInto("1", {.priority = 100});
  EXPECT_EQ(first, best());
  EXPECT_EQ(std::uint64_t{kTubes}, effort);
  PutInto("2", {.priority = 1});
  const JobId added = PutInto("added", {.priority = 10});
  engine.Watch(Now(), consumer_, "added");
  WatchEntry& watch = *consumer_.watched().Find(At("added"));
  index.Add(watch);
  EXPECT_EQ(added, best());
  index.Remove(watch);
  engine.Ignore(Now(), consumer_, "added");
  EXPECT_EQ(first, best());
  EXPECT_EQ(std::uint64_t{kTubes}, effort);
}

TEST_F(ReadyIndexTest, AgreesWithALookAtEveryTube) {
  std::mt19937 random(8);
  const auto number = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random() % below);
  };
  std::vector<JobId> held;
  Fill();
  for (int step = 0; step < 20'000; ++step) {
    const std::string tube = std::to_string(number(kTubes));
    switch (number(10)) {
      case 0:
        engine.Pause(Now(), tube, number(3));
        break;
      case 1:
        Ignore(static_cast<int>(number(kTubes)));
        break;
      case 2:
        Watch(static_cast<int>(number(kTubes)));
        break;
      case 3:
        Pass(kSecond);
        break;
      case 4:
      case 5:
        PutInto(tube, {.priority = number(1000), .delay_s = number(2) * number(5), .ttr_s = 4});
        break;
      default: {
        const JobId expected = MostUrgent();
        ASSERT_EQ(expected, Take()) << step;
        if (number(2) == 0) engine.Release(Now(), consumer_, expected, number(1000), 0);
        if (number(2) == 0) engine.Delete(Now(), consumer_, expected);
      }
    }
  }
}

TEST_F(ReadyIndexTest, InFairTurnsEachTubeGivesOneBeforeAnyGivesTheNext) {
  engine.SetOptions({.fair = true});
  for (int job = 0; job < 3; ++job) {
    for (int tube = 0; tube < kTubes; ++tube) PutInto(std::to_string(tube));
  }
  const JobId urgent = PutInto("7", {.priority = 1});
  EXPECT_EQ(urgent, Take());
  std::set<std::string> gave;
  for (int tube = 1; tube < kTubes; ++tube) gave.insert(engine.Find(Take())->tube().name());
  EXPECT_EQ(std::size_t{kTubes - 1}, gave.size());
  EXPECT_FALSE(gave.contains("7")) << "it has had its turn";
  engine.SetOptions({.fair = false});
  EXPECT_EQ(8u, Take()) << "the oldest that is left";
}

}  // namespace
}  // namespace gearstalk
