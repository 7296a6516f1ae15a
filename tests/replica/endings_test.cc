// What a broker finds that no broker may have done, and how it ends then.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/log.h"
#include "tests/replica/parts.h"
#include "tests/replica/sim_broker.h"

namespace gearstalk {
namespace {

std::vector<std::string> logged;

class EndingsTest : public testing::Test {
 protected:
  void RunFor(Time span) { simulation.RunUntil(simulation.now + span); }
  void StartAndWait(SimBroker& broker) {
    broker.Start();
    RunFor(3 * kSecond);
  }
  // A shard with some batches, whose broker left.
  void WriteSome() {
    StartAndWait(first);
    ASSERT_TRUE(first.may_serve());
    first.Leave();
    RunFor(kSecond);
    ASSERT_EQ(first.exit_code(), 0);
    ASSERT_GT(shard.parts.size(), 5U);
  }
  // It follows, and the leader is gone just now.
  void FollowAlone() {
    StartAndWait(first);
    StartAndWait(second);
    ASSERT_TRUE(first.may_serve());
    ASSERT_TRUE(second.caught_up());
    first.Kill();
  }
  void ExpectEnd(SimBroker& broker, int exit_code, const std::string& why) {
    RunFor(5 * kSecond);
    EXPECT_EQ(broker.exit_code(), exit_code);
    EXPECT_EQ(broker.why(), why);
    EXPECT_FALSE(broker.running());
  }
  void ExpectNoStart(int exit_code, const std::string& why) {
    second.Start();
    ExpectEnd(second, exit_code, why);
  }
  // The part is damaged, however the decoder says it.
  void ExpectDamaged(std::uint64_t part) {
    second.Start();
    RunFor(5 * kSecond);
    EXPECT_EQ(second.exit_code(), 1);
    EXPECT_TRUE(second.why().starts_with(PartName(part) + ": ")) << second.why();
  }
  static StoreResult Failed(Code code) { return {StoreAnswer::kFailed, {code, "why"}}; }

  Simulation simulation{7};
  FakeShard shard;
  Ledger ledger;
  SimBroker first{simulation, shard, ledger, "b1"}, second{simulation, shard, ledger, "b2"};
};

TEST_F(EndingsTest, AShardOfAnotherServer) {
  WriteSome();
  shard.view.meta.server_name = "other";
  ExpectNoStart(2,
                "server_name: this shard belongs to 'other', not to 'gearstalkd'; all brokers of a "
                "shard have the same server_name");
}

TEST_F(EndingsTest, ANewerFormat) {
  WriteSome();
  shard.view.meta.format = kReplicaFormat + 1;
  ExpectNoStart(1,
                "the replicated journal has format 2; this gearstalkd knows formats up to 1: "
                "upgrade it");
}

TEST_F(EndingsTest, AFormatThatWasRaisedMeanwhile) {
  FollowAlone();
  shard.view.meta.format = kReplicaFormat + 1;
  ExpectEnd(second, 1,
            "the replicated journal has format 2; this gearstalkd knows formats up to 1: upgrade "
            "it");
}

TEST_F(EndingsTest, AnImportThatDidNotEnd) {
  WriteSome();
  shard.view.meta_at = 0;
  ExpectNoStart(
      1,
      "meta is missing: the import of this journal was not finished (unless it still "
      "runs, erase it, and import again), or keys of it were deleted (restore the store)");
}

TEST_F(EndingsTest, PartsOfWhichOnlyTheTailIsKnown) {
  WriteSome();
  shard.view.meta_at = shard.view.leader_at = 0;
  ExpectNoStart(
      1,
      "meta is missing: the import of this journal was not finished (unless it still "
      "runs, erase it, and import again), or keys of it were deleted (restore the store)");
}

TEST_F(EndingsTest, PartsWithoutTheirKeys) {
  WriteSome();
  const Revision at = shard.view.at;
  shard.view = {};
  shard.view.at = at;
  ExpectNoStart(1,
                "meta, leader and tail are missing, and j/0000000000000001 is there: keys of this "
                "journal were deleted; restore the store, or erase it to begin without any job");
}

TEST_F(EndingsTest, ATailThatWasSetBack) {
  WriteSome();
  const std::string last = PartName(shard.view.last--);
  ExpectNoStart(1, last + ": lies behind the end of the journal that `tail` names");
}

TEST_F(EndingsTest, AnEndThatIsMissing) {
  WriteSome();
  const std::string last = PartName(shard.view.last);
  shard.parts.erase(shard.view.last);
  ExpectNoStart(1, last + ": is missing");
}

TEST_F(EndingsTest, APartInTheMiddleThatIsMissing) {
  WriteSome();
  shard.parts.erase(3);
  ExpectNoStart(1, "j/0000000000000003: is missing");
}

TEST_F(EndingsTest, APartThatIsDamaged) {
  WriteSome();
  shard.parts[3].back() ^= 1;
  ExpectDamaged(3);
}

TEST_F(EndingsTest, AKeyThatHoldsNoPart) {
  WriteSome();
  const std::map<std::uint64_t, std::string> before = shard.parts;
  for (const std::uint64_t seq : {std::uint64_t{3}, shard.view.last}) {
    for (const std::string& bytes : {std::string("no part"), std::string(500, 'x')}) {
      shard.parts = before;
      shard.parts[seq] = bytes;
      ExpectDamaged(seq);
    }
  }
}

TEST_F(EndingsTest, KeysThatWereDeletedWhileItFollowed) {
  const auto delete_one = [this](Revision& at, const std::string& key) {
    FollowAlone();
    const LogView before = shard.view;
    at = 0;
    ExpectEnd(second, 1, key + " is missing: keys of this journal were deleted; restore the store");
    shard.view = before;
  };
  delete_one(shard.view.meta_at, "meta");
  delete_one(shard.view.leader_at, "leader");
  delete_one(shard.view.tail_at, "tail");
}

TEST_F(EndingsTest, AStoreThatWasRestored) {
  const std::string replaced = "the journal in the store was replaced by another one";
  FollowAlone();
  const LogView before = shard.view;
  shard.view.last = 2;
  ExpectEnd(second, 3, replaced);
  shard.view = before;
  FollowAlone();
  shard.view.leader_at = shard.view.meta_at;
  ExpectEnd(second, 3, replaced);
  EXPECT_EQ(ledger.faults, std::vector<std::string>{});
}

TEST_F(EndingsTest, AStoreThatCannotBeUsed) {
  const auto at_start = [this](StoreResult& answer, Code code, int exit_code) {
    answer = Failed(code);
    ExpectNoStart(exit_code, "why");
    answer = {};
  };
  const auto while_it_follows = [this](Code code, int exit_code) {
    FollowAlone();
    second.link.looked = Failed(code);
    ExpectEnd(second, exit_code, "why");
    second.link.looked = {};
  };
  at_start(second.link.opened, Code::kInvalid, 2);
  at_start(second.link.looked, Code::kCorrupt, 1);
  at_start(second.link.read, Code::kInvalid, 2);
  at_start(second.link.founded, Code::kJournal, 3);
  while_it_follows(Code::kInvalid, 1);  // it could be used before
  while_it_follows(Code::kJournal, 3);
}

TEST_F(EndingsTest, ABrokerThatMayNotLeadWaitsUntilItMay) {
  FollowAlone();
  second.link.acquired = {StoreAnswer::kRefused, {Code::kJournal, "the node is read-only"}};
  SetLogSink([](LogLevel, LogCause, std::string_view event,
                std::span<const LogField>) { logged.emplace_back(event); },
             LogLevel::kInfo);
  RunFor(20 * kSecond);
  SetLogSink(nullptr, LogLevel::kOff);
  EXPECT_EQ(std::exchange(logged, {}),
            (std::vector<std::string>{"acquiring the shard", "this broker cannot lead"}));
  EXPECT_EQ(second.journal().Replica().trouble, "this broker cannot lead: the node is read-only");
  EXPECT_FALSE(second.may_serve());
  second.link.acquired = {};
  RunFor(5 * kSecond);
  EXPECT_TRUE(second.may_serve());
  EXPECT_EQ(second.journal().Replica().trouble, "");
}

TEST_F(EndingsTest, WhatTheStoreSaysOfItselfIsSeen) {
  StartAndWait(first);
  first.link.stats.endpoints = {{"n1", true, 3 << 20}, {"n2", false, 1000}};
  SetLogSink(
      [](LogLevel, LogCause, std::string_view event, std::span<const LogField> fields) {
        logged.push_back(std::string(event.substr(0, 21)) + " " +
                         std::string(fields.empty() ? "" : fields[0].text()));
      },
      LogLevel::kWarning);
  RunFor(20 * kSecond);
  EXPECT_EQ(std::exchange(logged, {}), (std::vector<std::string>{"the file of the store n1"}));
  const ReplicaStats stats = first.journal().Replica();
  ASSERT_EQ(stats.endpoints.size(), 2U);
  EXPECT_EQ(stats.endpoints[0].name, "n1");
  EXPECT_TRUE(stats.endpoints[0].in_use);
  EXPECT_EQ(stats.endpoints[1].db_bytes, 1000U);
  EXPECT_EQ(stats.trouble, "");
  first.link.cut = true;
  RunFor(3 * kSecond);
  first.journal().Tick(simulation.now);
  EXPECT_EQ(first.journal().Replica().trouble, "no answer from the store: no call is answered");
  EXPECT_TRUE(first.journal().Replica().suspended);
  EXPECT_FALSE(first.journal().Replica().isolated);
  first.link.stats.trouble = "connection refused";
  // A store that tries again wants to be called.
  for (int turn = 0; turn < 35; ++turn) {
    RunFor(kSecond);
    first.journal().Tick(simulation.now);
  }
  SetLogSink(nullptr, LogLevel::kOff);
  EXPECT_EQ(first.journal().Replica().trouble, "no answer from the store: connection refused");
  EXPECT_TRUE(first.journal().Replica().isolated);
  EXPECT_EQ(std::count(logged.begin(), logged.end(), "no answer from the st connection refused"),
            4);
  first.link.cut = false;
  first.link.stats.trouble = "";
  RunFor(5 * kSecond);
  EXPECT_EQ(first.journal().Replica().trouble, "");
  EXPECT_FALSE(first.journal().Replica().suspended);
  EXPECT_GT(first.journal().Replica().suspended_time, 30 * kSecond);
}

TEST_F(EndingsTest, APageThatCannotBeRead) {
  WriteSome();
  second.link.read = Failed(Code::kCorrupt);
  ExpectNoStart(1, "why");
}

TEST_F(EndingsTest, ALeadThatCannotBeTaken) {
  FollowAlone();
  second.link.acquired = Failed(Code::kJournal);
  ExpectEnd(second, 3, "why");
}

TEST_F(EndingsTest, AWatchThatEndsIsOpenedAgain) {
  StartAndWait(first);
  StartAndWait(second);
  second.link.watch_end = StoreResult{};
  RunFor(3 * kSecond);
  EXPECT_FALSE(second.link.watch_end);
  EXPECT_TRUE(second.caught_up());
  second.link.watch_end = Failed(Code::kJournal);
  ExpectEnd(second, 3, "why");
  EXPECT_TRUE(first.may_serve());
  StartAndWait(second);
  second.link.watch_end = StoreResult{StoreAnswer::kTrimmed, {}};
  ExpectEnd(second, 3, "what is to be read next has been trimmed");
}

TEST_F(EndingsTest, ARecordThatNobodyKnows) {
  PartMaker maker;
  shard.view.meta_at = shard.Begin();
  shard.view.meta = {kReplicaFormat, 0, "gearstalkd", ""};
  LogPart part = maker.Part("\x05\x01\x01\x01", 1, PartHeader::kBarrier);
  shard.view.leader_at = shard.view.tail_at = shard.Begin();
  shard.view.leader.vacant = true;
  shard.written[1] = shard.view.at;
  shard.view.last = 1;
  shard.parts[1] = std::move(part.bytes);
  ExpectDamaged(1);
}

TEST_F(EndingsTest, ABrokerWithoutSpaceSaysSoAndGoesOn) {
  StartAndWait(first);
  EXPECT_FALSE(first.journal().Stats().full);
  EXPECT_EQ(first.journal().SpareIds(), 0U);
  shard.full = true;
  RunFor(3 * kSecond);
  EXPECT_TRUE(first.journal().Stats().full);
  EXPECT_FALSE(first.journal().Stats().failed);
  EXPECT_GT(first.journal().SpareIds(), 0U);
  shard.full = false;
  RunFor(3 * kSecond);
  EXPECT_FALSE(first.journal().Stats().full);
}

}  // namespace
}  // namespace gearstalk
