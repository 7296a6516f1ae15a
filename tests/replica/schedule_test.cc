// Brokers over a store that is slow, cut off, and answers late, under seeded schedules of kills,
// stops and cuts. Nothing that was acknowledged is lost or comes back, no two brokers may act at a
// time, and only whole rounds are seen. GEARSTALK_SCHEDULES says how many seeds are tried,
// beginning with GEARSTALK_FIRST_SCHEDULE; each thousand is told on standard error.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/replica/sim_broker.h"

namespace gearstalk {
namespace {

// Events of a schedule are some ten thousand. One with more than these turns round and round.
constexpr std::uint64_t kMostSteps = 1'000'000;

class World {
 public:
  explicit World(std::uint64_t seed) : simulation(seed) {
    for (int i = 0; i < 3; ++i) {
      brokers.push_back(
          std::make_unique<SimBroker>(simulation, shard, ledger, "b" + std::to_string(i)));
    }
  }
  // The brokers' pending calls use the simulation.
  ~World() {
    for (auto& broker : brokers) broker->Kill();
  }

  void RunFor(Time span) {
    const Time until = simulation.now + span;
    while (steps_ < kMostSteps && simulation.Step(until)) {
      ++steps_;
      CheckDeadlines();
    }
    if (steps_ == kMostSteps) return ledger.Fault("it turns round and round");
    simulation.now = std::max(simulation.now, until);
  }
  void CheckDeadlines() {
    int open = 0;
    for (const auto& broker : brokers) open += broker->may_serve() ? 1 : 0;
    if (open > 1) ledger.Fault("two brokers with an open deadline");
  }
  // Two brokers; the one that is started first leads.
  struct ActiveAndStandby {
    SimBroker& active;
    SimBroker& standby;
  };
  ActiveAndStandby Pair() { return {*brokers[0], *brokers[1]}; }

  SimBroker* Active() {
    for (const auto& broker : brokers) {
      if (broker->serving() && broker->may_serve()) return broker.get();
    }
    return nullptr;
  }

  // Starts all brokers; the one that leads five seconds later.
  SimBroker* Lead() {
    Restart();
    RunFor(5 * kSecond);
    return Active();
  }
  // How long until a broker serves.
  Time Outage(Time most) {
    const Time from = simulation.now;
    while (Active() == nullptr && simulation.now < from + most) RunFor(10 * kMillisecond);
    return simulation.now - from;
  }
  void Restart() {
    for (const auto& broker : brokers) {
      if (!broker->running()) broker->Start();
    }
  }
  std::string Faults() const {
    std::string all;
    for (const std::string& fault : ledger.faults) all += fault + "\n";
    return all;
  }

  Simulation simulation;
  FakeShard shard;
  Ledger ledger;
  std::vector<std::unique_ptr<SimBroker>> brokers;

 private:
  std::uint64_t steps_ = 0;
};

void Disturb(World& world) {
  Simulation& simulation = world.simulation;
  SimBroker& broker = *world.brokers[simulation.Below(world.brokers.size())];
  switch (simulation.Below(8)) {
    case 0:
      broker.Kill();
      break;
    case 1:
      if (broker.running()) broker.Stop();
      break;
    case 2:
      if (broker.stopped()) broker.Continue();
      break;
    case 3:
      broker.link.cut = !broker.link.cut;
      break;
    case 4:
      broker.link.lose_answer = static_cast<unsigned>(simulation.Below(60));
      broker.link.lose_request = static_cast<unsigned>(simulation.Below(60));
      break;
    case 5:
      broker.link.most = kMillisecond + static_cast<Time>(simulation.Below(800)) * kMillisecond;
      break;
    case 6:
      if (!broker.stopped()) broker.Leave();
      break;
    case 7:
      world.shard.full = simulation.Chance(30);
      break;
  }
}

void Heal(World& world) {
  world.shard.full = false;
  for (const auto& broker : world.brokers) {
    broker->link.cut = false;
    broker->link.lose_answer = broker->link.lose_request = 0;
    broker->link.most = 3 * kMillisecond;
    if (broker->stopped()) broker->Continue();
  }
  world.Restart();
}

// Whether a broker serves before long. Those that end are started again, as a service manager does.
bool Serves(World& world) {
  for (int second = 0; second < 60 && world.Active() == nullptr; ++second) {
    world.Restart();
    world.RunFor(kSecond);
  }
  return world.Active() != nullptr;
}

void RunSchedule(std::uint64_t seed, bool keeps_bodies) {
  World world(seed);
  world.shard.keeps_bodies = keeps_bodies;
  for (const auto& broker : world.brokers) broker->max_bytes = 64 * 1024;
  world.Restart();
  for (int step = 0; step < 25; ++step) {
    world.RunFor(static_cast<Time>(world.simulation.Below(1500)) * kMillisecond);
    Disturb(world);
    if (world.simulation.Chance(40)) world.Restart();
  }
  Heal(world);
  EXPECT_TRUE(Serves(world)) << "nobody serves";
  // Once more, so that what was acknowledged last is looked for, too.
  world.RunFor(5 * kSecond);
  if (SimBroker* active = world.Active()) active->Kill();
  EXPECT_TRUE(Serves(world)) << "nobody serves";
  EXPECT_EQ(world.Faults(), "");
  EXPECT_FALSE(world.ledger.put.empty());
  std::uint64_t read = 0;
  for (const auto& broker : world.brokers) read += broker->bodies_read;
  EXPECT_EQ(read > 0, keeps_bodies);
}

std::uint64_t NumberOf(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Schedules, NothingIsLostDoubledOrBroughtBack) {
  const std::uint64_t seeds = NumberOf("GEARSTALK_SCHEDULES", 60);
  const std::uint64_t first = NumberOf("GEARSTALK_FIRST_SCHEDULE", 1);
  for (std::uint64_t done = 0; done < seeds && !testing::Test::HasFailure();) {
    SCOPED_TRACE("seed " + std::to_string(first + done));
    RunSchedule(first + done, (first + done) % 2 == 0);
    if (++done % 1000 == 0) {
      std::fprintf(stderr, "%llu schedules\n", static_cast<unsigned long long>(done));
    }
  }
}

// Schedules that once went wrong.
class Schedule : public testing::TestWithParam<std::uint64_t> {};
TEST_P(Schedule, Of) { RunSchedule(GetParam(), false); }
INSTANTIATE_TEST_SUITE_P(Seeds, Schedule, testing::Values(164, 774, 954, 959, 9489, 67464));

TEST(Takeover, OfACrashedBrokerTakesALease) {
  World world(1);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  active->Kill();
  const Time outage = world.Outage(10 * kSecond);
  EXPECT_GT(outage, kSecond);
  EXPECT_LT(outage, 2 * kSecond + 700 * kMillisecond);
  EXPECT_EQ(world.Faults(), "");
}

// As an engine does with the pause of a tube that nobody uses.
TEST(Takeover, ChangesOfABrokerThatBecomesActiveAreOfItsFirstSegment) {
  World world(1);
  for (const auto& broker : world.brokers) broker->ends_pauses = true;
  for (int reign = 0; reign < 3; ++reign) {
    SimBroker* active = world.Lead();
    ASSERT_NE(active, nullptr);
    active->Kill();
    world.RunFor(5 * kSecond);
    EXPECT_EQ(world.Faults(), "");
  }
}

// The lease of the leader counts, not that of who takes over.
TEST(Takeover, TakesTheLeaseOfTheLeader) {
  for (const auto& [first, second] : {std::pair<Time, Time>{2, 60}, {60, 2}}) {
    World world(13);
    const auto [active, standby] = world.Pair();
    active.lease = first * kSecond;
    standby.lease = second * kSecond;
    active.Start();
    world.RunFor(kSecond);
    standby.Start();
    world.RunFor(5 * kSecond);
    ASSERT_EQ(world.Active(), &active);
    active.Kill();
    const Time outage = world.Outage(200 * kSecond);
    EXPECT_GT(outage, first * kSecond / 2);
    EXPECT_LT(outage, first * kSecond + 700 * kMillisecond);
    EXPECT_EQ(standby.journal().Replica().epoch, 2U);
    EXPECT_EQ(world.shard.view.leader.lease, second * kSecond);
  }
}

TEST(Takeover, OfABrokerThatLeavesTakesNoTime) {
  World world(2);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  active->Leave();
  EXPECT_LT(world.Outage(10 * kSecond), 100 * kMillisecond);
  EXPECT_EQ(world.Faults(), "");
}

// Also while the store is away, and when a beat arrives after the release, which is refused then.
TEST(Leaving, AtAnyMomentEndsInOrder) {
  for (int step = 0; step < 200; ++step) {
    World world(static_cast<std::uint64_t>(step));
    world.brokers[0]->Start();
    world.RunFor(3 * kSecond);
    world.brokers[0]->Leave();
    SimBroker& broker = *world.brokers[1];
    broker.link.most = 200 * kMillisecond;
    broker.Start();
    world.RunFor(step * 15 * kMillisecond);
    broker.link.cut = step % 4 == 1;
    world.RunFor(broker.link.cut ? 200 * kSecond : 0);
    broker.Leave();
    broker.link.cut = step % 4 == 2;
    world.RunFor(broker.link.cut ? 200 * kSecond : 0);
    broker.link.cut = false;
    world.RunFor(5 * kSecond);
    EXPECT_EQ(world.Faults(), "") << step;
    EXPECT_EQ(broker.exit_code(), 0) << step << ": " << broker.why();
  }
}

TEST(Takeover, AStoppedBrokerFindsItselfFenced) {
  World world(3);
  SimBroker* first = world.Lead();
  ASSERT_NE(first, nullptr);
  first->Stop();
  world.RunFor(5 * kSecond);
  SimBroker* second = world.Active();
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first, second);
  first->Continue();
  EXPECT_FALSE(first->may_serve());
  world.RunFor(kSecond);
  EXPECT_EQ(first->exit_code(), 3);
  EXPECT_EQ(world.Faults(), "");
}

// A standby that reads slowly while history is compacted again and again.
TEST(Reading, GoesOnAtANewerRevisionWhereHistoryWasCompacted) {
  World world(8);
  const auto [active, standby] = world.Pair();
  active.delete_percent = 0;
  active.Start();
  world.RunFor(300 * kSecond);
  ASSERT_GT(world.shard.parts.size(), 500U);
  standby.link.least = 150 * kMillisecond;
  standby.link.most = 200 * kMillisecond;
  standby.Start();
  for (int i = 0; i < 30 && !standby.caught_up(); ++i) {
    world.RunFor(kSecond);
    world.shard.compacted = world.shard.view.at;
  }
  EXPECT_TRUE(standby.caught_up());
  world.RunFor(5 * kSecond);
  EXPECT_EQ(standby.exit_code(), std::nullopt) << standby.why();
  EXPECT_GT(standby.jobs().size(), active.jobs().size() / 2);
  EXPECT_EQ(world.Faults(), "");
}

// A batch is never split, so it may be larger than all that is read ahead of applying.
TEST(Reading, ABatchOfAnySizeIsReadToItsEnd) {
  World world(11);
  const auto [active, standby] = world.Pair();
  active.max_bytes = 1 << 30;
  active.body_size = 20 << 20;
  active.put_percent = 100;
  active.delete_percent = 0;
  active.Start();
  while (world.ledger.put.empty()) world.RunFor(10 * kMillisecond);
  active.put_percent = 0;
  world.RunFor(10 * kSecond);
  standby.Start();
  world.RunFor(10 * kSecond);
  EXPECT_TRUE(standby.caught_up());
  EXPECT_EQ(standby.jobs(), active.jobs());
  EXPECT_EQ(world.Faults(), "");
}

TEST(Reading, EndsWhereWhatIsNeededNextWasTrimmed) {
  World world(9);
  const auto [active, standby] = world.Pair();
  active.Start();
  world.RunFor(300 * kSecond);
  active.Kill();
  standby.link.least = 150 * kMillisecond;
  standby.link.most = 200 * kMillisecond;
  standby.Start();
  world.RunFor(kSecond);
  ASSERT_FALSE(standby.caught_up());
  world.shard.view.oldest = world.shard.view.last;
  world.shard.compacted = world.shard.view.at;
  world.RunFor(5 * kSecond);
  EXPECT_EQ(standby.exit_code(), 3);
}

TEST(Bodies, ThatTheStateNeedsAreReadBeforeABrokerLeads) {
  World world(30);
  world.shard.keeps_bodies = true;
  const auto [active, standby] = world.Pair();
  active.delete_percent = 10;
  active.Start();
  world.RunFor(5 * kSecond);
  standby.needs_bodies = true;
  standby.put_percent = standby.delete_percent = 0;
  standby.Start();
  world.RunFor(5 * kSecond);
  EXPECT_EQ(standby.bodies_read, 0U);
  active.Kill();
  standby.link.lose_answer = 50;
  EXPECT_LT(world.Outage(20 * kSecond), 20 * kSecond);
  EXPECT_GE(standby.bodies_read, 5U);
  EXPECT_EQ(world.Faults(), "");
}

// Nothing else is held up by it, and no part stays for it once its job is buried.
TEST(Bodies, ADamagedOneIsCarriedForwardWithoutItsBytesWhenItsJobIsBuried) {
  World world(31);
  world.shard.keeps_bodies = true;
  SimBroker& broker = *world.brokers[0];
  broker.max_bytes = 256 * 1024;
  broker.expects_damage = true;
  broker.buries = false;
  broker.delete_percent = 0;
  broker.Start();
  while (world.ledger.put.size() < 20) world.RunFor(10 * kMillisecond);
  const std::uint64_t job = 7;
  const std::string body = std::to_string(job) + std::string(kLeastLeftOut + job, 'b');
  std::uint64_t part = 0;
  for (auto& [seq, bytes] : world.shard.parts) {
    const std::size_t at = bytes.find(body);
    if (at == std::string::npos) continue;
    part = seq;
    bytes[at + 50] ^= 1;
    break;
  }
  ASSERT_NE(part, 0U);
  broker.put_percent = 20;
  broker.delete_percent = 90;
  broker.keeps.insert(job);
  while (broker.found_damaged.empty() && world.simulation.now < 2000 * kSecond) {
    world.RunFor(kSecond);
  }
  world.RunFor(2 * kSecond);
  EXPECT_EQ(broker.found_damaged, std::set<std::uint64_t>{job});
  EXPECT_LE(world.shard.view.oldest, part);
  EXPECT_TRUE(broker.may_serve());
  broker.buries = true;
  world.RunFor(30 * kSecond);
  EXPECT_GT(world.shard.view.oldest, part);
  broker.Kill();
  broker.Start();
  world.RunFor(10 * kSecond);
  EXPECT_TRUE(broker.may_serve());
  EXPECT_EQ(broker.without_bodies, std::set<std::uint64_t>{job});
  EXPECT_EQ(world.Faults(), "");
}

// Every watch would be given up before it tells the first event.
TEST(Following, AStoreThatTellsLateIsFollowed) {
  World world(10);
  const auto [active, standby] = world.Pair();
  active.Start();
  standby.Start();
  world.RunFor(5 * kSecond);
  SimBroker& late = active.serving() ? standby : active;
  SimBroker& serving = active.serving() ? active : standby;
  late.link.least = 1400 * kMillisecond;
  late.link.most = 1500 * kMillisecond;
  world.RunFor(5 * kSecond);
  const std::uint64_t before = *serving.jobs().rbegin();
  world.RunFor(20 * kSecond);
  EXPECT_GT(*late.jobs().rbegin(), before);
  EXPECT_EQ(world.Faults(), "");
}

TEST(Following, AStandbyThatLagsSaysSoAndKnowsNothingOfTheClock) {
  World world(21);
  const auto [active, standby] = world.Pair();
  active.Start();
  world.RunFor(5 * kSecond);
  standby.Start();
  world.RunFor(5 * kSecond);
  EXPECT_TRUE(standby.caught_up());
  standby.link.watch_late = 2 * kSecond;
  for (int i = 0; i < 20; ++i) {
    world.RunFor(kSecond / 2);
    EXPECT_EQ(standby.journal().Replica().clock_skew, 0);
  }
  standby.link.watch_late = 60 * kSecond;
  world.RunFor(10 * kSecond);
  EXPECT_FALSE(standby.caught_up());
  EXPECT_GT(standby.journal().Replica().behind_batches, 0U);
  EXPECT_TRUE(active.may_serve());
  standby.link.watch_late = 0;
  world.RunFor(20 * kSecond);
  EXPECT_TRUE(standby.caught_up());
  EXPECT_EQ(world.Faults(), "");
}

TEST(Leading, ABrokerKnowsWhetherAStandbyHasCaughtUp) {
  World world(24);
  const auto [active, standby] = world.Pair();
  active.Start();
  world.RunFor(20 * kSecond);
  EXPECT_TRUE(active.caught_up()) << "a standby has had no time to show itself";
  world.RunFor(20 * kSecond);
  EXPECT_FALSE(active.caught_up());
  standby.Start();
  world.RunFor(10 * kSecond);
  EXPECT_TRUE(active.caught_up());
  standby.link.watch_late = 600 * kSecond;
  world.RunFor(50 * kSecond);
  EXPECT_FALSE(active.caught_up());
}

// The store is away from everybody: its return finds the leader that was.
TEST(Pause, OfTheStoreKeepsTheLeader) {
  World world(4);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  for (const auto& broker : world.brokers) broker->link.cut = true;
  world.RunFor(10 * kSecond);
  EXPECT_EQ(world.Active(), nullptr);
  for (const auto& broker : world.brokers) broker->link.cut = false;
  EXPECT_LT(world.Outage(10 * kSecond), kSecond);
  EXPECT_EQ(world.Active(), active);
  EXPECT_EQ(active->journal().Replica().suspensions, 1U);
  EXPECT_EQ(world.Faults(), "");
}

// The store does not idle while the replies of a batch are sent.
TEST(Sending, TheNextBatchIsUnderWayBeforeReplies) {
  World world(6);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  world.RunFor(5 * kSecond);
  EXPECT_GT(active->batches, 100U);
  EXPECT_GT(active->followed, active->batches / 8);
  EXPECT_EQ(world.Faults(), "");
}

// It was suspended from its deadline on, whenever it finds out.
TEST(Pause, OfTheBrokerItselfIsCounted) {
  World world(12);
  SimBroker& broker = *world.brokers[0];
  broker.Start();
  world.RunFor(5 * kSecond);
  broker.Stop();
  world.RunFor(10 * kSecond);
  broker.Continue();
  world.RunFor(kSecond);
  EXPECT_TRUE(broker.may_serve());
  EXPECT_EQ(broker.journal().Replica().suspensions, 1U);
  EXPECT_GT(broker.journal().Replica().suspended_time, 8 * kSecond);
}

TEST(Space, OfAFullStoreComesBackAndNothingIsLost) {
  World world(5);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  world.shard.full = true;
  world.RunFor(10 * kSecond);
  EXPECT_EQ(world.Active(), active) << "nobody can take over either";
  EXPECT_FALSE(active->journal().Health().ok());
  EXPECT_FALSE(active->journal().Accepts(Record::Kind::kPut));
  world.shard.full = false;
  world.RunFor(3 * kSecond);
  EXPECT_TRUE(active->journal().Health().ok());
  active->Kill();
  EXPECT_LT(world.Outage(10 * kSecond), 10 * kSecond);
  EXPECT_EQ(world.Faults(), "");
}

// A foreground job may be answered although its id is not in the journal.
TEST(Space, SpareIdsOfAFullStoreAreOfOneReign) {
  World world(5);
  std::set<std::uint64_t> seen;
  for (int reign = 0; reign < 3; ++reign) {
    SimBroker* active = reign == 0 ? world.Lead() : world.Active();
    ASSERT_NE(active, nullptr);
    EXPECT_EQ(active->journal().SpareIds(), 0U);
    world.shard.full = true;
    world.RunFor(5 * kSecond);
    const std::uint64_t first = active->journal().SpareIds();
    EXPECT_GE(first, kFirstSpareId);
    EXPECT_TRUE(seen.insert(first >> 30U).second);
    world.shard.full = false;
    world.RunFor(3 * kSecond);
    EXPECT_EQ(active->journal().SpareIds(), 0U);
    active->Kill();
    world.RunFor(5 * kSecond);
    active->Start();
  }
}

// The leader holds on without beats; then there is space again, and it is cut off, at any moment.
TEST(Space, OfALeaderThatHeldOnIsTakenOverAfterItsLease) {
  for (int step = 0; step < 80; ++step) {
    World world(7);
    SimBroker* active = world.Lead();
    ASSERT_NE(active, nullptr);
    world.shard.full = true;
    world.RunFor(step * 100 * kMillisecond);
    active->link.cut = true;
    world.shard.full = false;
    world.RunFor(10 * kSecond);
    EXPECT_NE(world.Active(), nullptr);
    EXPECT_NE(world.Active(), active);
    EXPECT_EQ(world.Faults(), "") << step;
  }
}

// Otherwise each segment would be full of them, and the next one begin at once.
TEST(Space, SettingsLongerThanASegmentLeaveRoomForJobs) {
  World world(20);
  for (const auto& broker : world.brokers) {
    broker->max_bytes = 1 << 20;
    broker->tubes = 400;
  }
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  for (int i = 0; i < 20; ++i) {
    world.RunFor(kSecond);
    EXPECT_TRUE(active->journal().Accepts(Record::Kind::kPut)) << i;
  }
  EXPECT_LT(active->journal().Segments().current, 10U);
  active->Kill();
  EXPECT_LT(world.Outage(10 * kSecond), 10 * kSecond);
  world.RunFor(5 * kSecond);
  ASSERT_NE(world.Active(), nullptr);
  EXPECT_TRUE(world.Active()->journal().Accepts(Record::Kind::kPut));
  EXPECT_EQ(world.Faults(), "");
}

TEST(Space, AShardThatCannotBeFoundedIsFoundedLater) {
  World world(22);
  world.shard.full = true;
  SimBroker& broker = *world.brokers[0];
  broker.Start();
  world.RunFor(5 * kSecond);
  EXPECT_TRUE(broker.running());
  EXPECT_TRUE(broker.journal().Replica().trouble.starts_with("this broker cannot lead: "));
  world.shard.full = false;
  world.RunFor(5 * kSecond);
  EXPECT_TRUE(broker.may_serve());
  EXPECT_EQ(broker.journal().Replica().trouble, "");
}

TEST(Space, AStandbyThatCannotTakeOverSaysWhy) {
  World world(23);
  SimBroker* active = world.Lead();
  ASSERT_NE(active, nullptr);
  SimBroker& standby = *world.brokers[active == world.brokers[0].get() ? 1 : 0];
  world.shard.full = true;
  active->Kill();
  world.RunFor(10 * kSecond);
  EXPECT_TRUE(standby.journal().Replica().trouble.starts_with("this broker cannot lead: "));
  world.shard.full = false;
  world.RunFor(20 * kSecond);
  ASSERT_NE(world.Active(), nullptr);
  EXPECT_EQ(standby.journal().Replica().trouble, "");
}

TEST(Space, TheLogStaysBelowMaxBytesAndDeletionsMakeRoom) {
  World world(6);
  for (const auto& broker : world.brokers) {
    broker->max_bytes = 256 * 1024;
    broker->body_size = 2000;
    broker->delete_percent = 0;
  }
  world.Restart();
  for (int i = 0; i < 20; ++i) {
    world.RunFor(kSecond);
    std::uint64_t stored = 0;
    for (const auto& [seq, bytes] : world.shard.parts) stored += bytes.size();
    EXPECT_LT(stored, 256 * 1024U + 64 * 1024);
  }
  SimBroker* active = world.Active();
  ASSERT_NE(active, nullptr);
  EXPECT_FALSE(active->journal().Accepts(Record::Kind::kPut));
  EXPECT_EQ(active->journal().Health().message(), "replica.max_bytes is reached");
  active->delete_percent = 100;
  active->put_percent = 0;
  world.RunFor(20 * kSecond);
  EXPECT_TRUE(active->journal().Accepts(Record::Kind::kPut));
  EXPECT_GT(world.shard.view.oldest, 1U);
  EXPECT_EQ(world.Faults(), "");
}

}  // namespace
}  // namespace gearstalk
