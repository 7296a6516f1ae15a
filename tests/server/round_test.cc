// What one round of the loop does, and what it leaves to the next.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/server/held_input.h"
#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class RoundTest : public ServerTest {
 protected:
  void Connect(std::size_t clients) {
    for (std::size_t i = 0; i < clients; ++i) {
      clients_.push_back(std::make_unique<Client>(path_));
      server_.Turn(0);
    }
    ASSERT_TRUE(Until([&] { return server_.Count() == clients; }));
  }
  void AllSay(const std::string& words) {
    for (const auto& client : clients_) client->Send(words);
  }

  std::vector<std::unique_ptr<Client>> clients_;
};

TEST(TurnShare, ShrinksWithTheNumberOfSessions) {
  EXPECT_EQ(TurnShare::OfOne(0).messages, TurnShare::kMessages);
  EXPECT_EQ(TurnShare::OfOne(4).output, TurnShare::kOutput);
  EXPECT_LT(TurnShare::OfOne(100).output, TurnShare::kOutput / 10);
  const TurnShare least = TurnShare::OfOne(1'000'000);
  EXPECT_EQ(least.messages, 1);
  EXPECT_GT(least.output, 0U);
  EXPECT_GT(least.effort, 0U);
}

TEST(Turn, IsOverByAnyOfItsParts) {
  const TurnShare share{.output = 10, .messages = 2, .effort = 5};
  Output out;
  Turn turn(share, out, 100);
  EXPECT_FALSE(turn.Over(out, 105));
  EXPECT_TRUE(turn.Over(out, 106));
  turn.Count();
  EXPECT_FALSE(turn.Over(out, 100));
  turn.Count();
  EXPECT_TRUE(turn.Over(out, 100));
  Turn other(share, out);
  out.Append("more than ten bytes");
  EXPECT_TRUE(other.Over(out));
}

TEST_F(RoundTest, WhenItsTimeIsOverTheRestComesLater) {
  Connect(20);
  hooks_.step = kMillisecond;
  AllSay("a echo 1\n");
  server_.Turn(0);
  EXPECT_GT(a_.commands, 0);
  EXPECT_LT(a_.commands, 10);
  EXPECT_TRUE(Until([&] { return a_.commands == 20; }));
  for (const auto& client : clients_) ExpectHears(*client, "1\n");
}

TEST_F(RoundTest, NobodyStarvesBehindThoseWhoAlwaysHaveSomethingToSay) {
  Connect(20);
  hooks_.step = kMillisecond;
  std::vector<bool> heard(clients_.size());
  EXPECT_TRUE(Until([&] {
    bool all = true;
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      clients_[i]->Send("a echo 1\n");
      heard[i] = heard[i] || !clients_[i]->Read().empty();
      all = all && heard[i];
    }
    return all;
  }));
}

TEST_F(RoundTest, GreedyConnectionsShareIt) {
  Connect(100);
  std::string much;
  for (int i = 0; i < 2000; ++i) much += "a echo 1\n";
  AllSay(much);
  server_.Turn(0);
  server_.Turn(0);
  const int before = a_.commands;
  server_.Turn(0);
  EXPECT_LT(a_.commands - before, 20 * TurnShare::kMessages);
  std::size_t heard = 0;
  EXPECT_TRUE(Until([&] {
    for (const auto& client : clients_) heard += client->Read().size();
    return heard == 100 * 2000 * 2;
  }));
}

TEST_F(RoundTest, WhoSaysLittleNeedNotWaitForATurnOfEachGreedyConnection) {
  Connect(Server::kRoundFlushes * 3 / 2);
  Client victim(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == clients_.size() + 1; }));
  std::string much;
  for (int i = 0; i < 10'000; ++i) much += "a echo 1\n";
  AllSay(much);
  for (int i = 0; i < 5; ++i) server_.Turn(0);
  // More of them wait to be sent to than the next rounds have time for.
  hooks_.step = Server::kSendTime / 10;
  for (int i = 0; i < 3; ++i) {
    victim.Send("a echo 1\n");
    server_.Turn(0);
    EXPECT_EQ(victim.Read(), "1\n");
  }
}

TEST_F(RoundTest, WhoSaysLittleDoesNotHoldUpGreedyConnectionsForEver) {
  Connect(50);
  Client greedy(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == clients_.size() + 1; }));
  std::string much;
  for (int i = 0; i < 2000; ++i) much += "a echo 1\n";
  greedy.Send(much);
  hooks_.step = Server::kRunTime / 10;
  std::size_t heard = 0;
  EXPECT_TRUE(Until([&] {
    AllSay("a echo 1\n");
    heard += greedy.Read().size();
    return heard == 2000 * 2;
  }));
}

TEST_F(RoundTest, WhoAsksBehindManyThatBeginAtOnceIsAnsweredSoon) {
  Connect(500);
  Client victim(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == clients_.size() + 1; }));
  std::string much;
  for (int i = 0; i < 600; ++i) much += "a echo 1\n";
  hooks_.step = Server::kRunTime / 100;
  AllSay(much);
  victim.Send("a echo 1\n");
  for (int i = 0; i < 3; ++i) server_.Turn(0);
  EXPECT_EQ(victim.Read(), "1\n");
}

TEST_F(RoundTest, OfManyThatBeginAtOnceTheLaterOnesAreRunLess) {
  Connect(100);
  std::string much;
  for (int i = 0; i < 600; ++i) much += "a echo 1\n";
  AllSay(much);
  server_.Turn(0);
  EXPECT_LT(a_.commands, 40 * TurnShare::kMessages);
}

TEST_F(RoundTest, AcceptingEndsWithItsTime) {
  for (int i = 0; i < 20; ++i) clients_.push_back(std::make_unique<Client>(path_));
  hooks_.step = kMillisecond;
  server_.Turn(0);
  EXPECT_GT(server_.Count(), 0U);
  EXPECT_LT(server_.Count(), 10U);
  EXPECT_TRUE(Until([&] { return server_.Count() == 20; }));
}

TEST_F(RoundTest, WhoComesBehindManyInTheBacklogIsAcceptedBeforeTheyAreHeard) {
  for (int i = 0; i < 200; ++i) {
    clients_.push_back(std::make_unique<Client>(path_));
    clients_.back()->Send("a echo 1\n");
  }
  server_.Turn(0);
  EXPECT_EQ(server_.Count(), 200U);
  EXPECT_LT(a_.commands, 100);
  EXPECT_TRUE(Until([&] { return a_.commands == 200; }));
}

TEST_F(RoundTest, ClosingEndsWithItsTime) {
  Connect(50);
  server_.CloseAll();
  hooks_.step = kMillisecond;
  server_.Turn(0);
  EXPECT_GT(server_.Count(), 40U);
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(RoundTest, OfManyWhoSendMuchEachIsReadLess) {
  Connect(200);
  std::string much;
  for (int i = 0; i < 10'000; ++i) much += "a echo 1\n";
  AllSay(much);
  const std::uint64_t before = server_.received_bytes();
  server_.Turn(0);
  EXPECT_GT(server_.received_bytes(), before);
  EXPECT_LT(server_.received_bytes() - before, 200 * much.size() / 2);
}

TEST_F(RoundTest, WhatCameInTimeCountsBeforeAnythingExpires) {
  Connect(100);
  hooks_.next_tick = clock_.Now() + kSecond;
  server_.Turn(0);
  AllSay("a echo 1\n");
  int run_before_tick = -1;
  hooks_.on_tick = [&] { run_before_tick = a_.commands; };
  clock_.Advance(5 * kSecond);
  ASSERT_TRUE(Until([&] { return run_before_tick >= 0; }));
  EXPECT_EQ(run_before_tick, 100);
}

TEST_F(RoundTest, CatchingUpEnds) {
  Connect(1);
  hooks_.next_tick = clock_.Now() + kSecond;
  server_.Turn(0);
  const int before = hooks_.ticks;
  clock_.Advance(5 * kSecond);
  for (int i = 0; i <= Server::kCatchUpRounds; ++i) {
    clients_[0]->Send("a echo 1\n");
    server_.Turn(0);
  }
  EXPECT_GT(hooks_.ticks, before);
}

TEST(HeldInput, GivesItsFrontAwayPieceByPiece) {
  HeldInput input;
  EXPECT_TRUE(input.empty());
  input.Assign("abcdefghijkl");
  std::string all;
  while (!input.empty()) {
    all += input.view().front();
    input.Consume(1);
  }
  EXPECT_EQ(all, "abcdefghijkl");
  input.Append("m");
  EXPECT_EQ(input.view(), "m");
  input.Assign({});
  EXPECT_TRUE(input.empty());
}

TEST(HeldInput, IsMovedAFewTimesHoweverManyTurnsTakeIt) {
  HeldInput input;
  input.Assign(std::string(64 * 1024, 'x'));
  int moves = 0;
  const char* end = input.view().data() + input.size();
  while (!input.empty()) {
    input.Consume(1);
    const char* const now = input.view().data() + input.size();
    moves += now != end;
    end = now;
  }
  EXPECT_LE(moves, 17);
}

}  // namespace
}  // namespace gearstalk
