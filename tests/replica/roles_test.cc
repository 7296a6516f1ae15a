// What a broker's journal does with what it is asked, and with answers that come late, in each of
// its roles.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/record.h"
#include "broker/replica/replicated_journal.h"
#include "tests/replica/fake_store.h"
#include "tests/replica/parts.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;
using Role = ReplicaStats::Role;

// A broker without clients: it does what the test says, also when its journal is over.
class Host final : public LiveState, public JournalEvents {
 public:
  Host(Simulation& simulation, FakeShard& shard, std::string name)
      : simulation_(simulation), shard_(shard), name_(std::move(name)) {}

  void Start() {
    ReplicaOptions options;
    options.name = options.address = name_;
    options.server_name = "gearstalkd";
    options.max_bytes = max_bytes;
    options.boot = [this] { return simulation_.now + (taken_ += takes); };
    options.wall = [this] { return simulation_.now; };
    options.random = [this] { return simulation_.random(); };
    journal = std::make_unique<ReplicatedJournal>(
        options, std::make_unique<FakeStore>(simulation_, shard_, link));
    ASSERT_TRUE(journal->Start(*this, *this).ok());
  }
  Time Round() {
    if (journal == nullptr) return kNever;
    taken_ = 0;
    const Time next = journal->Tick(simulation_.now);
    journal->Flush(simulation_.now);
    return next;
  }
  Role role() const { return journal->Replica().role; }

  Lsn Put(const Record& record) {
    bodies[record.id] = record.body;
    return journal->Append(record);
  }
  Lsn Put(std::uint64_t id, const std::string& body) { return Put(PutOf(id, body)); }
  Lsn Delete(std::uint64_t id) {
    bodies.erase(id);
    cold.erase(id);
    Record record;
    record.kind = Record::Kind::kDelete;
    record.id = id;
    return journal->Append(record);
  }

  Status Apply(const Record& record) override {
    if (record.kind == Record::Kind::kDelete) bodies.erase(record.id);
    if (record.kind != Record::Kind::kPut) return {};
    bodies[record.id] = record.body;
    if (record.body_left_out > 0) left_out[record.id] = record.body_left_out;
    if (!record.put_key.empty()) hashes[record.id] = record.put_key;
    return {};
  }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    const auto job = bodies.find(id);
    if (job == bodies.end()) return false;
    Record record = PutOf(id, job->second);
    record.body_left_out = BodyLeftOut(id);
    if (record.body_left_out > 0) record.body = {};
    emit(record);
    return true;
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    Record record;
    record.kind = Record::Kind::kNextId;
    record.id = 1000;
    emit(record);
  }
  std::uint32_t BodyLeftOut(std::uint64_t id) const override {
    return cold.contains(id) ? static_cast<std::uint32_t>(bodies.at(id).size()) : 0;
  }
  bool RestsDamaged(std::uint64_t /*id*/) const override { return false; }
  bool TakesBodiesLater() const override { return takes_later; }
  std::vector<std::uint64_t> MissingBodies() const override { return missing; }
  void OnBody(std::uint64_t id, const BodyRead& read) override {
    results[id].push_back(read.result);
    read_bodies[id] = read.body;
    problem = read.problem;
  }

  void OnReplaying(const ReplayProgress&) override {}
  void OnFollowing(bool) override {}
  void OnActive() override { ++active; }
  void OnServing() override { ++serving; }
  void OnSuspended(bool /*isolated*/) override {}
  void OnResumed() override {}
  void OnOver(Status status, int code) override {
    ++over;
    why = status.message();
    exit_code = code;
  }

  FakeLink link;
  std::uint64_t max_bytes = 1 << 20;
  Time takes = 0;  // each look at the clock, of a round
  bool takes_later = true;
  std::vector<std::uint64_t> missing;
  std::set<std::uint64_t> cold;
  std::unique_ptr<ReplicatedJournal> journal;

  std::map<std::uint64_t, std::string> bodies, hashes, read_bodies;
  std::map<std::uint64_t, std::uint32_t> left_out;
  std::map<std::uint64_t, std::vector<Result>> results;
  std::string problem;
  int active = 0, serving = 0, over = 0, exit_code = -1;
  std::string why;

 private:
  Simulation& simulation_;
  FakeShard& shard_;
  const std::string name_;
  Time taken_ = 0;
};

class RolesTest : public testing::Test {
 protected:
  RolesTest() { shard.keeps_bodies = true; }

  void RunFor(Time span) {
    const Time until = simulation.now + span;
    while (simulation.now < until) {
      simulation.RunUntil(std::min(until, simulation.now + kMillisecond));
      for (Host* host : {&first, &second}) host->Round();
    }
  }
  bool RunUntil(const std::function<bool()>& reached) {
    const Time until = simulation.now + 60 * kSecond;
    while (!reached() && simulation.now < until) RunFor(kMillisecond);
    return reached();
  }
  // The first broker leads, and the second one follows.
  void LeadAndFollow() {
    Lead();
    second.Start();
    ASSERT_TRUE(RunUntil([this] { return second.role() == Role::kFollowing; }));
  }
  void Lead() {
    first.Start();
    ASSERT_TRUE(RunUntil([this] { return first.serving == 1; }));
  }
  void MakeDurable() {
    const Lsn last = first.journal->Append(PutOf(999, "last"));
    ASSERT_TRUE(RunUntil([&] { return first.journal->Durable() >= last; }));
    RunFor(100 * kMillisecond);
  }
  // The first broker leads, in a small store, and the bodies of jobs 1 to 5 are there alone.
  void LeadWithColdJobs() {
    first.max_bytes = 64 * 1024;
    Lead();
    for (std::uint64_t id = 1; id <= 5; ++id) first.Put(id, BodyOf(id));
    MakeDurable();
    first.cold = {1, 2, 3, 4, 5};
  }
  // The part in which this is.
  std::uint64_t PartWith(const std::string& what) const {
    for (const auto& [seq, bytes] : shard.parts) {
      if (bytes.find(what) != std::string::npos) return seq;
    }
    return 0;
  }
  static std::string BodyOf(std::uint64_t id, std::size_t size = 300) {
    return "body of " + std::to_string(id) + std::string(size, 'b');
  }

  Simulation simulation{5};
  FakeShard shard;
  Host first{simulation, shard, "b1"}, second{simulation, shard, "b2"};
};

TEST_F(RolesTest, AStandbyLeavesLargeBodiesInTheStoreButNotThoseOfHeldJobs) {
  Lead();
  const std::string body(300, 'b');
  Record held = PutOf(2, body), key = PutOf(3, body);
  held.transfer.name = "x";
  held.transfer.held = Record::Held::kFirstPhase;
  key.unique_is_body = true;
  first.Put(1, body);
  first.Put(held);
  first.Put(key);
  first.Put(4, "short");
  MakeDurable();
  second.Start();
  ASSERT_TRUE(RunUntil([this] { return second.bodies.contains(4); }));
  EXPECT_EQ(second.left_out, (std::map<std::uint64_t, std::uint32_t>{{1, 300}, {3, 300}}));
  EXPECT_EQ(second.bodies[2], body);
  EXPECT_EQ(second.bodies[4], "short");
  EXPECT_EQ(second.hashes,
            (std::map<std::uint64_t, std::string>{{3, std::string(View(HashOfBody(body)))}}));
  Host whole(simulation, shard, "b3");
  whole.takes_later = false;
  whole.Start();
  for (int i = 0; i < 1000 && !whole.bodies.contains(4); ++i) {
    RunFor(kMillisecond);
    whole.Round();
  }
  EXPECT_TRUE(whole.left_out.empty());
  for (const std::uint64_t id : {1, 2, 3}) EXPECT_EQ(whole.bodies[id], body);
}

// It cannot know whether the leader sees the same.
TEST_F(RolesTest, AStandbyShowsBodiesAndJudgesNone) {
  LeadAndFollow();
  first.Put(1, BodyOf(1));
  first.Put(2, BodyOf(2));
  MakeDurable();
  second.journal->Fetch(1, BodyUse::kQuery);
  ASSERT_TRUE(RunUntil([this] { return !second.results[1].empty(); }));
  EXPECT_EQ(second.results[1], std::vector{Result::kWhole});
  EXPECT_EQ(second.read_bodies[1], BodyOf(1));
  std::string& part = shard.parts[PartWith(BodyOf(2))];
  part[part.find(BodyOf(2)) + 20] ^= 1;
  second.journal->Fetch(2, BodyUse::kQuery);
  first.journal->Fetch(2, BodyUse::kQuery);
  ASSERT_TRUE(RunUntil([this] { return !second.results[2].empty() && !first.results[2].empty(); }));
  EXPECT_EQ(second.results[2], std::vector{Result::kFailed});
  EXPECT_EQ(second.problem, "this broker serves nobody now");
  EXPECT_EQ(first.results[2], std::vector{Result::kDamaged});
}

TEST_F(RolesTest, ABodyThatIsNeededAndDamagedEndsATakeover) {
  LeadAndFollow();
  first.Put(1, BodyOf(1));
  MakeDurable();
  std::string& part = shard.parts[PartWith(BodyOf(1))];
  part[part.find(BodyOf(1)) + 20] ^= 1;
  second.missing = {1};
  first.journal.reset();
  ASSERT_TRUE(RunUntil([this] { return second.over == 1; }));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_NE(second.why.find("the record of job 1 is damaged"), std::string::npos) << second.why;
  EXPECT_EQ(second.active, 0);
}

// A question that was asked before is not answered with what it would judge.
TEST_F(RolesTest, ABodyThatIsNeededAndCannotBeReadHoldsATakeoverUp) {
  LeadAndFollow();
  first.Put(1, BodyOf(1));
  first.Put(2, BodyOf(2));
  MakeDurable();
  shard.unreadable = {{PartWith(BodyOf(1)), Code::kIo}, {PartWith(BodyOf(2)), Code::kIo}};
  second.missing = {1};
  first.journal.reset();
  ASSERT_TRUE(RunUntil([this] { return second.role() == Role::kCatchingUp; }));
  second.journal->Fetch(2, BodyUse::kQuery);
  RunFor(5 * kSecond);
  EXPECT_EQ(second.role(), Role::kCatchingUp);
  EXPECT_EQ(second.active, 0);
  EXPECT_FALSE(second.results.contains(1));
  shard.unreadable.clear();
  ASSERT_TRUE(RunUntil([this] { return second.serving == 1; }));
  EXPECT_EQ(second.results[1], std::vector{Result::kWhole});
  EXPECT_EQ(second.results[2].front(), Result::kFailed);
  EXPECT_EQ(second.read_bodies[1], BodyOf(1));
}

TEST_F(RolesTest, NothingThatAStandbyAppendsIsDurable) {
  LeadAndFollow();
  const std::uint64_t last = shard.view.last;
  EXPECT_FALSE(second.journal->Accepts(Record::Kind::kPut));
  EXPECT_FALSE(second.journal->Accepts(Record::Kind::kDelete));
  EXPECT_EQ(second.journal->SpareIds(), 0U);
  EXPECT_TRUE(second.journal->Health().ok());
  EXPECT_EQ(second.journal->MostWaiting(), 8U << 20);
  second.journal->OnNotify();
  const Lsn lsn = second.Put(1, "x");
  RunFor(kSecond);
  EXPECT_LT(second.journal->Durable(), lsn);
  EXPECT_EQ(shard.view.last, last);
  EXPECT_EQ(second.over, 0);
}

TEST_F(RolesTest, NothingIsAppendedBehindTheEndOfAReign) {
  Lead();
  first.link.least = 50 * kMillisecond;
  first.link.most = 60 * kMillisecond;
  const Lsn before = first.Put(1, "before");
  bool left = false;
  first.Round();
  first.journal->Leave([&left] { left = true; });
  const Lsn behind = first.Put(2, "behind");
  EXPECT_FALSE(left);
  ASSERT_TRUE(RunUntil([&] { return first.journal->Durable() >= before; }));
  EXPECT_FALSE(first.journal->Accepts(Record::Kind::kPut)) << "it gives up the shard";
  EXPECT_TRUE(first.journal->Health().ok());
  EXPECT_FALSE(first.journal->MayServe());
  ASSERT_TRUE(RunUntil([&] { return left; }));
  EXPECT_LT(first.journal->Durable(), behind);
  EXPECT_EQ(PartWith("behind"), 0U);
  EXPECT_NE(PartWith("before"), 0U);
  EXPECT_EQ(first.journal->Health().message(), "this broker does not lead any more");
  EXPECT_TRUE(first.journal->Stats().failed);
  EXPECT_FALSE(first.journal->Stats().full);
  EXPECT_EQ(first.over, 0);
  EXPECT_TRUE(first.journal->Close().ok());
}

// Beats, looks, deletions and reads are under way when it hears that another one leads.
TEST(BehindTheEnd, AnswersChangeNothing) {
  int answered = 0, trimmed = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(seed);
    FakeShard shard;
    shard.keeps_bodies = true;
    Host host(simulation, shard, "b1");
    // Some have to carry jobs forward and delete parts.
    const bool churns = seed % 2 == 0;
    if (churns) host.max_bytes = 64 * 1024;
    const auto run_for = [&](Time span) {
      for (const Time until = simulation.now + span; simulation.now < until; host.Round()) {
        simulation.RunUntil(simulation.now + kMillisecond);
      }
    };
    host.Start();
    run_for(3 * kSecond);
    ASSERT_EQ(host.serving, 1);
    const std::string body(300, 'b');
    for (std::uint64_t id = 1; id <= 3; ++id) host.Put(id, body);
    run_for(kSecond);
    for (std::uint64_t id = 10; churns && id < 40; ++id) {
      host.Put(id, std::string(2000, 'b'));
      run_for(20 * kMillisecond);
      host.Delete(id);
    }
    host.link.least = kMillisecond;
    host.link.most = 400 * kMillisecond;
    host.link.hedge = 10 * kSecond;
    run_for(static_cast<Time>(simulation.Below(700)) * kMillisecond);
    for (std::uint64_t id = 1; id <= 3; ++id) host.journal->Fetch(id, BodyUse::kReply);
    host.Put(4, "x");
    run_for(static_cast<Time>(simulation.Below(400)) * kMillisecond);
    shard.view.leader_at = shard.Begin();
    for (int i = 0; i < 20'000 && host.over == 0; ++i) run_for(kMillisecond);
    ASSERT_EQ(host.over, 1);
    EXPECT_EQ(host.exit_code, 3);
    EXPECT_EQ(host.why, "another broker leads");
    const auto results = host.results;
    const Lsn durable = host.journal->Durable();
    run_for(3 * kSecond);
    EXPECT_EQ(host.over, 1);
    EXPECT_EQ(host.serving, 1);
    EXPECT_EQ(host.results, results);
    EXPECT_EQ(host.journal->Durable(), durable);
    EXPECT_EQ(host.role(), Role::kOver);
    EXPECT_FALSE(host.journal->Accepts(Record::Kind::kDelete));
    answered += results.empty() ? 0 : 1;
    trimmed += shard.parts.begin()->first > 1 ? 1 : 0;
  }
  EXPECT_GT(answered, 5);
  EXPECT_LT(answered, 80) << "some answers came behind the end";
  EXPECT_GT(trimmed, 5);
}

TEST_F(RolesTest, AStoreWithoutSpaceIsToldOnce) {
  Lead();
  EXPECT_TRUE(first.journal->Persistent());
  std::vector<bool> stuck;
  first.journal->SetOnStuck([&stuck](bool for_good) { stuck.push_back(for_good); });
  shard.full = true;
  const Lsn put = first.Put(1, "x");
  RunFor(5 * kSecond);
  EXPECT_EQ(stuck, std::vector<bool>{false});
  EXPECT_LT(first.journal->OnDisk(), put);
  EXPECT_FALSE(first.journal->Accepts(Record::Kind::kDelete));
  EXPECT_NE(first.journal->Health().message().find("the store has no space"), std::string::npos);
  shard.full = false;
  ASSERT_TRUE(RunUntil([&] { return first.journal->OnDisk() >= put; }));
  EXPECT_EQ(stuck, std::vector<bool>{false});
  EXPECT_TRUE(first.journal->Accepts(Record::Kind::kPut));
}

// It is told to leave while it acquires.
class LeavingTest : public RolesTest {
 protected:
  void ExpectItLeaves(const StoreResult& answer) {
    LeadAndFollow();
    second.link.acquired = answer;
    second.link.least = 20 * kMillisecond;
    second.link.most = 30 * kMillisecond;
    first.journal.reset();
    ASSERT_TRUE(RunUntil([this] { return second.role() == Role::kAcquiring; }));
    bool left = false;
    second.journal->Leave([&left] { left = true; });
    EXPECT_FALSE(left) << "it may lead already";
    ASSERT_TRUE(RunUntil([&] { return left; }));
    EXPECT_EQ(second.serving, 0);
    EXPECT_EQ(second.over, 0);
  }
};

TEST_F(LeavingTest, OfABrokerThatGetsTheShardGivesItUpAtOnce) {
  ExpectItLeaves({});
  EXPECT_TRUE(shard.view.leader.vacant);
}

TEST_F(LeavingTest, OfABrokerThatIsRefusedIsDone) {
  ExpectItLeaves({StoreAnswer::kRefused, {Code::kJournal, "the node is read-only"}});
}

TEST_F(LeavingTest, OfABrokerForWhichThereIsNoSpaceIsDone) {
  ExpectItLeaves({StoreAnswer::kFull, {Code::kJournal, "full"}});
}

TEST_F(LeavingTest, OfABrokerThatLostTheRaceIsDone) { ExpectItLeaves({StoreAnswer::kFenced, {}}); }

TEST_F(RolesTest, ALeadThatComesBehindTheEndIsNotTaken) {
  LeadAndFollow();
  second.link.least = 50 * kMillisecond;
  second.link.most = 60 * kMillisecond;
  first.journal.reset();
  ASSERT_TRUE(RunUntil([this] { return second.role() == Role::kAcquiring; }));
  second.link.watch_end = StoreResult{StoreAnswer::kFailed, {Code::kJournal, "the watch is lost"}};
  second.link.least = kMillisecond;
  RunFor(kSecond);
  EXPECT_EQ(second.over, 1);
  EXPECT_EQ(second.why, "the watch is lost");
  RunFor(5 * kSecond);
  EXPECT_EQ(second.role(), Role::kOver);
  EXPECT_EQ(second.active, 0);
}

// Its first batch is on its way when it is told to leave.
TEST_F(RolesTest, ABrokerThatLeavesBeforeItServesNeverServes) {
  first.Start();
  ASSERT_TRUE(RunUntil([this] { return first.active == 1; }));
  ASSERT_EQ(first.serving, 0);
  EXPECT_FALSE(first.journal->Replica().suspended);
  bool left = false;
  first.journal->Leave([&left] { left = true; });
  ASSERT_TRUE(RunUntil([&] { return left; }));
  EXPECT_EQ(first.serving, 0);
  EXPECT_TRUE(shard.view.leader.vacant);
}

TEST_F(RolesTest, HistoryThatIsCompactedMeanwhileIsLookedAtAnew) {
  for (const bool founded : {false, true}) {
    first.link.read = {StoreAnswer::kTrimmed, {}};
    first.serving = 0;
    first.Start();
    RunFor(kSecond);
    EXPECT_EQ(first.over, 0);
    EXPECT_EQ(first.role(), Role::kStarting) << founded;
    first.link.read = {};
    ASSERT_TRUE(RunUntil([this] { return first.serving == 1; }));
    bool left = false;
    first.journal->Leave([&left] { left = true; });
    ASSERT_TRUE(RunUntil([&] { return left; }));
  }
}

// It would lead without the rest of the journal.
class CatchingUpTest : public RolesTest {
 protected:
  void ExpectEnd(const StoreResult& read, int exit_code, const std::string& why) {
    LeadAndFollow();
    second.link.watch_late = 600 * kSecond;
    RunFor(5 * kSecond);
    first.Put(1, "x");
    MakeDurable();
    first.journal.reset();
    second.link.read = read;
    ASSERT_TRUE(RunUntil([this] { return second.over == 1; }));
    EXPECT_EQ(second.exit_code, exit_code);
    EXPECT_EQ(second.why, why);
    EXPECT_EQ(second.active, 0);
    EXPECT_EQ(shard.view.leader.broker, "b2");
  }
};

TEST_F(CatchingUpTest, EndsWhereTheRestWasTrimmed) {
  ExpectEnd({StoreAnswer::kTrimmed, {}}, 3, "what is to be read next has been trimmed");
}

TEST_F(CatchingUpTest, EndsWhereTheRestCannotBeRead) {
  ExpectEnd({StoreAnswer::kFailed, {Code::kCorrupt, "why"}}, 1, "why");
}

TEST_F(RolesTest, ARoundAppliesForABoundedTime) {
  Lead();
  for (std::uint64_t id = 1; id <= 200; ++id) {
    first.Put(id, "x");
    MakeDurable();
  }
  second.takes = kMillisecond;
  second.Start();
  int busy = 0;
  for (int i = 0; i < 2000 && second.bodies.size() < 201; ++i) {
    simulation.RunUntil(simulation.now + kMillisecond);
    first.Round();
    const std::size_t before = second.bodies.size();
    const Time now = simulation.now;
    if (second.Round() == now && second.role() == Role::kReading) ++busy;
    EXPECT_LT(second.bodies.size(), before + 100) << "in one round";
  }
  EXPECT_EQ(second.bodies.size(), 201U);
  EXPECT_GT(busy, 3) << "it wants to be called at once";
}

TEST_F(RolesTest, WhatIsSaidOfALeaderThatLeftAndOfAStoreThatIsAway) {
  LeadAndFollow();
  EXPECT_TRUE(second.journal->Replica().leader_known);
  second.link.acquired = {StoreAnswer::kRefused, {Code::kJournal, "the node is read-only"}};
  bool left = false;
  first.journal->Leave([&left] { left = true; });
  ASSERT_TRUE(RunUntil([&] { return left; }));
  RunFor(5 * kSecond);
  EXPECT_FALSE(second.journal->Replica().leader_known);
  EXPECT_EQ(second.journal->Replica().trouble, "this broker cannot lead: the node is read-only");
  second.link.cut = true;
  RunFor(10 * kSecond);
  EXPECT_EQ(second.journal->Replica().trouble, "no answer from the store: no call is answered")
      << "this comes first";
}

TEST_F(RolesTest, APartThatIsNotAnsweredIsTroubleAlthoughBeatsAre) {
  Lead();
  first.link.appends_wait = true;
  first.Put(1, "x");
  RunFor(kSecond);
  EXPECT_FALSE(first.journal->Replica().stuck);
  EXPECT_EQ(first.journal->Replica().trouble, "");
  RunFor(3 * kSecond);
  EXPECT_TRUE(first.journal->MayServe());
  EXPECT_TRUE(first.journal->Replica().stuck);
  EXPECT_EQ(first.journal->Replica().trouble,
            "no answer from the store: an append is not answered");
  first.link.stats.trouble = "permission denied";
  EXPECT_EQ(first.journal->Replica().trouble, "no answer from the store: permission denied");
  first.link.stats.trouble = "";
  first.link.appends_wait = false;
  RunFor(kSecond);
  EXPECT_FALSE(first.journal->Replica().stuck);
  EXPECT_EQ(first.journal->Replica().trouble, "");
}

TEST_F(RolesTest, AStoreWithoutSpaceIsNoAppendWithoutAnswer) {
  Lead();
  shard.full = true;
  first.Put(1, "x");
  RunFor(5 * kSecond);
  EXPECT_FALSE(first.journal->Replica().stuck);
}

// It reads all that is there; only its own announcement shows that it may not write.
TEST_F(RolesTest, AStandbyThatMayNotWriteSaysThatItCannotLead) {
  second.link.announced = {StoreAnswer::kRefused, {Code::kJournal, "permission denied"}};
  LeadAndFollow();
  RunFor(10 * kSecond);
  EXPECT_EQ(second.role(), Role::kFollowing);
  EXPECT_EQ(second.journal->Replica().trouble, "this broker cannot lead: permission denied")
      << "whatever beats it sees";
  EXPECT_FALSE(first.journal->Replica().stuck);
  second.link.announced = {};
  RunFor(10 * kSecond);
  EXPECT_EQ(second.journal->Replica().trouble, "");
}

// The compaction needs the body, and the store cannot read it now.
TEST_F(RolesTest, ABodyThatIsCarriedIsReadAgainWhereThatFailed) {
  LeadWithColdJobs();
  const std::uint64_t part = PartWith(BodyOf(1));
  shard.unreadable = {{part, Code::kIo}};
  const auto churn = [this] {
    for (std::uint64_t id = 100; id < 200; ++id) {
      first.Put(id, BodyOf(id));
      RunFor(20 * kMillisecond);
      first.Delete(id);
      RunFor(20 * kMillisecond);
    }
  };
  churn();
  EXPECT_LE(shard.view.oldest, part);
  EXPECT_NE(PartWith(BodyOf(1)), 0U);
  EXPECT_TRUE(first.results.empty()) << "that says nothing of a job";
  shard.unreadable.clear();
  churn();
  EXPECT_GT(shard.view.oldest, part);
  first.journal->Fetch(1, BodyUse::kReply);
  ASSERT_TRUE(RunUntil([this] { return !first.results[1].empty(); }));
  EXPECT_EQ(first.results[1], std::vector{Result::kWhole});
  EXPECT_EQ(first.read_bodies[1], BodyOf(1));
}

// Its body is read for the compaction when its job is deleted.
TEST_F(RolesTest, AJobThatIsDeletedWhileItsBodyIsReadIsNotCarried) {
  LeadWithColdJobs();
  first.link.fetches = 0;
  std::uint64_t id = 100;
  const auto churn = [&] {
    ++id;
    first.Put(id, BodyOf(id));
    RunFor(20 * kMillisecond);
    first.Delete(id);
    RunFor(20 * kMillisecond);
  };
  first.link.least = 5 * kMillisecond;
  first.link.most = 9 * kMillisecond;
  while (first.link.fetches == 0 && id < 1000) churn();
  ASSERT_GT(first.link.fetches, 0U);
  for (std::uint64_t job = 1; job <= 5; ++job) first.Delete(job);
  for (int i = 0; i < 100; ++i) churn();
  EXPECT_GT(shard.view.oldest, 1U);
  EXPECT_TRUE(first.results.empty());
  second.Start();
  RunFor(kSecond);
  EXPECT_EQ(second.role(), Role::kFollowing);
  EXPECT_TRUE(second.bodies.empty());
  EXPECT_EQ(first.over, 0);
}

}  // namespace
}  // namespace gearstalk
