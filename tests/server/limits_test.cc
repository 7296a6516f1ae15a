// Who may come in, and how long one may stay without a word.

#include "broker/server/limits.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/server/time_wheel.h"
#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

// --- Admission -----------------------------------------------------------------------------------

TEST(Admission, HasNoLimitsUnlessTold) {
  Admission admission;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(admission.Enter({}, 7).has_value());
  EXPECT_EQ(admission.count(), 1000U);
}

TEST(Admission, LimitsAllTogether) {
  const ServerLimits limits{.connections = 2};
  Admission admission;
  EXPECT_FALSE(admission.Enter(limits, 1).has_value());
  EXPECT_FALSE(admission.Enter(limits, 0).has_value());
  EXPECT_EQ(admission.Enter(limits, 2), Refusal::kConnections);
  admission.Leave(0);
  EXPECT_FALSE(admission.Enter(limits, 2).has_value());
  EXPECT_EQ(admission.count(), 2U);
}

TEST(Admission, LimitsEachAddress) {
  const ServerLimits limits{.connections_per_address = 2};
  Admission admission;
  EXPECT_FALSE(admission.Enter(limits, 1).has_value());
  EXPECT_FALSE(admission.Enter(limits, 1).has_value());
  EXPECT_EQ(admission.Enter(limits, 1), Refusal::kConnectionsPerAddress);
  EXPECT_FALSE(admission.Enter(limits, 2).has_value());
  EXPECT_EQ(admission.count(), 3U);
  admission.Leave(1);
  EXPECT_FALSE(admission.Enter(limits, 1).has_value());
}

TEST(Admission, KnowsHowManyTheBusiestAddressHas) {
  Admission admission;
  EXPECT_EQ(admission.most_of_network(), 0U);
  for (std::uint64_t network : {1, 2, 1, 2, 1, 0, 0, 0, 0}) admission.Enter({}, network);
  EXPECT_EQ(admission.most_of_network(), 3U);
  admission.Leave(2);
  EXPECT_EQ(admission.most_of_network(), 3U);
  admission.Leave(1);
  EXPECT_EQ(admission.most_of_network(), 2U);
  admission.Leave(1);
  EXPECT_EQ(admission.most_of_network(), 1U) << "either of them";
  admission.Leave(1);
  admission.Leave(2);
  EXPECT_EQ(admission.most_of_network(), 0U);
}

TEST(Admission, DoesNotLimitUnixSocketsAsOneAddress) {
  const ServerLimits limits{.connections_per_address = 1};
  Admission admission;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(admission.Enter(limits, 0).has_value());
}

TEST(Refusals, HaveNames) {
  EXPECT_EQ(kRefusalNames[static_cast<std::size_t>(Refusal::kConnections)], "connections");
  EXPECT_EQ(kRefusalNames[static_cast<std::size_t>(Refusal::kIdleTimeout)], "idle_timeout");
  EXPECT_EQ(kRefusalNames[static_cast<std::size_t>(Refusal::kRights)], "rights");
}

// --- TimeWheel -----------------------------------------------------------------------------------

struct Thing {
  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  Hook hook;
};
using Wheel = TimeWheel<Thing, Thing::Hook, &Thing::hook>;

constexpr Time kStart = 1'000 * kSecond;

TEST(TimeWheel, NothingComesOutBeforeItsTime) {
  Wheel wheel;
  wheel.Start(kStart, 32 * kSecond);
  std::vector<Thing> things(33);
  for (std::size_t i = 0; i < things.size(); ++i) {
    wheel.Put(things[i], kStart + static_cast<Time>(i) * kSecond);
  }
  std::size_t out = 0;
  for (Time now = kStart; now < kStart + 34 * kSecond; now += kSecond / 4) {
    while (const Thing* thing = wheel.Pop(now)) {
      EXPECT_EQ(thing, &things[out]);
      EXPECT_LE(kStart + static_cast<Time>(out) * kSecond, now);
      ++out;
    }
  }
  EXPECT_EQ(out, things.size());
}

TEST(TimeWheel, LetsNothingLieMuchLonger) {
  Wheel wheel;
  wheel.Start(kStart, 32 * kSecond);
  Thing thing;
  wheel.Put(thing, kStart + 5 * kSecond);
  EXPECT_EQ(wheel.Pop(kStart + 5 * kSecond), nullptr);
  EXPECT_LE(wheel.NextLook(), kStart + 6 * kSecond);
  EXPECT_EQ(wheel.Pop(kStart + 6 * kSecond), &thing);
}

TEST(TimeWheel, MayBePutAgainWhileOthersComeOut) {
  Wheel wheel;
  wheel.Start(kStart, 32 * kSecond);
  Thing thing;
  Time now = kStart;
  wheel.Put(thing, now);
  int rounds = 0;
  for (int i = 0; i < 1000; ++i, now += kSecond) {
    while (Thing* out = wheel.Pop(now)) {
      ++rounds;
      wheel.Put(*out, now + 32 * kSecond);
    }
  }
  EXPECT_NEAR(rounds, 1000 / 33, 1);
}

TEST(TimeWheel, FindsEverythingAfterALongStop) {
  Wheel wheel;
  wheel.Start(kStart, 32 * kSecond);
  std::vector<Thing> things(10);
  for (std::size_t i = 0; i < things.size(); ++i) {
    wheel.Put(things[i], kStart + static_cast<Time>(3 * i) * kSecond);
  }
  std::size_t out = 0;
  while (wheel.Pop(kStart + 100'000 * kSecond) != nullptr) ++out;
  EXPECT_EQ(out, things.size());
}

TEST(TimeWheel, WhatIsPutBackComesOutOnceAfterAnyGap) {
  for (Time gap = 0; gap < 200 * kSecond; gap += kSecond / 2) {
    Wheel wheel;
    wheel.Start(kStart, 32 * kSecond);
    std::vector<Thing> things(3);
    for (Thing& thing : things) wheel.Put(thing, kStart + kSecond);
    const Time now = kStart + 3 * kSecond + gap;
    int out = 0;
    while (Thing* thing = wheel.Pop(now)) {
      wheel.Put(*thing, now + 32 * kSecond);
      ASSERT_LE(++out, 3) << gap;
    }
    EXPECT_EQ(out, 3) << gap;
  }
}

TEST(TimeWheel, ForgetsWhatEnds) {
  Wheel wheel;
  wheel.Start(kStart, 32 * kSecond);
  {
    Thing thing;
    wheel.Put(thing, kStart);
  }
  EXPECT_EQ(wheel.Pop(kStart + 100 * kSecond), nullptr);
}

// --- The server ----------------------------------------------------------------------------------

using Limits = ServerTest;

TEST_F(Limits, RefusedConnectionsEndWithoutAWord) {
  server_.SetLimits({.connections = 1});
  Client first(path_), second(path_);
  first.Send("a echo 1\n");
  ExpectHears(first, "1\n");
  EXPECT_EQ(Hear(second, "?"), "");
  EXPECT_TRUE(second.ended());
  EXPECT_EQ(server_.Count(), 1U);
  EXPECT_EQ(server_.Total(), 2U);
  EXPECT_EQ(server_.refusals().of(Refusal::kConnections), 1U);
}

TEST_F(Limits, MakeRoomWhenAConnectionLeaves) {
  server_.SetLimits({.connections = 1});
  Client first(path_);
  first.Send("a echo 1\n");
  ExpectHears(first, "1\n");
  first.Close();
  ASSERT_TRUE(Until([&] { return server_.Count() == 0; }));
  Client second(path_);
  second.Send("a echo 2\n");
  ExpectHears(second, "2\n");
  EXPECT_EQ(server_.refusals().of(Refusal::kConnections), 0U);
}

TEST_F(Limits, OfOneAddress) {
  server_.SetLimits({.connections_per_address = 2});
  const auto name = Listen("127.0.0.1:0", {&a_, &b_});
  ASSERT_TRUE(name.ok());
  const auto port =
      static_cast<std::uint16_t>(std::stoi(name.value().substr(name.value().find(':') + 1)));
  Client one(port), two(port), three(port), local(path_);
  EXPECT_TRUE(Ends(three));
  EXPECT_EQ(server_.refusals().of(Refusal::kConnectionsPerAddress), 1U);
  local.Send("a echo 1\n");
  ExpectHears(local, "1\n");
  two.Send("a echo 2\n");
  ExpectHears(two, "2\n");
}

TEST_F(Limits, OfOutputMayBeSmaller) {
  server_.SetLimits({.output = 100'000});
  Client client(path_);
  std::string commands;
  for (int i = 0; i < 100; ++i) commands += "a big 20000\n";
  client.Send(commands);
  TurnAll();
  // What the socket takes, and one round's worth.
  EXPECT_LT(a_.commands, 45);
}

TEST_F(Limits, OfOutputMayBeLarger) {
  server_.SetLimits({.output = 20'000'000});
  Client client(path_);
  std::string commands;
  for (int i = 0; i < 100; ++i) commands += "a big 200000\n";
  client.Send(commands);
  ASSERT_TRUE(Until([&] { return a_.commands == 100; }));
}

TEST_F(Limits, AnUnfinishedFirstWordHasItsTime) {
  server_.SetLimits({.handshake_timeout = 20 * kSecond});
  Client slow(path_), silent(path_), served(path_);
  served.Send("a echo 1\n");
  ExpectHears(served, "1\n");
  slow.Send("nonsense");
  Pass(19 * kSecond);
  EXPECT_EQ(server_.Count(), 3U);
  Pass(2 * kSecond);
  EXPECT_TRUE(Ends(slow));
  EXPECT_EQ(server_.refusals().of(Refusal::kHandshakeTimeout), 1U);
  EXPECT_EQ(server_.Count(), 2U);
}

TEST_F(Limits, AWordBehindAnAnsweredOneHasAllItsTime) {
  server_.SetLimits({.handshake_timeout = 20 * kSecond});
  Client first(path_), second(path_);
  first.Send("non");
  second.Send("B ech");
  Pass(15 * kSecond);
  second.Send("o 1\nnonse");
  ExpectHears(second, "1\n");
  Pass(10 * kSecond);
  EXPECT_TRUE(Ends(first));
  EXPECT_EQ(server_.Count(), 1U);
  second.Send("nse\r\n");
  ExpectHears(second, "b?nonsense\r\n");
  EXPECT_EQ(server_.refusals().of(Refusal::kHandshakeTimeout), 1U);
}

TEST_F(Limits, AnUndecidedConnectionMayReadSlowly) {
  server_.SetLimits({.handshake_timeout = 20 * kSecond});
  Client reads(path_), slow(path_);
  constexpr int kBig = 20;
  std::string lines;
  for (int i = 0; i < kBig; ++i) lines += "B big 1000000\n";
  reads.Send(lines + "B echo 1\n");
  TurnAll();
  EXPECT_LT(b_.commands, kBig);
  slow.Send("nonsense");
  Pass(21 * kSecond);
  EXPECT_TRUE(Ends(slow));
  EXPECT_EQ(server_.refusals().of(Refusal::kHandshakeTimeout), 1U);
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += reads.Read();
    return heard.size() >= kBig * 1'000'001 + 2;
  }));
  EXPECT_TRUE(heard.ends_with("x\n1\n"));
}

TEST_F(Limits, IdleConnectionsEnd) {
  server_.SetLimits({.idle_timeout = 40 * kSecond});
  Client silent(path_), spoke(path_), waits(path_);
  waits.Send("a wait\n");
  spoke.Send("a echo 1\n");
  ExpectHears(spoke, "1\n");
  Pass(39 * kSecond);
  EXPECT_EQ(server_.Count(), 3U);
  Pass(4 * kSecond);
  EXPECT_TRUE(Ends(silent));
  EXPECT_TRUE(Ends(spoke));
  EXPECT_EQ(server_.Count(), 1U);
  EXPECT_EQ(server_.refusals().of(Refusal::kIdleTimeout), 2U);
  a_.Release();
  ExpectHears(waits, "released\n");
  Pass(50 * kSecond);
  EXPECT_TRUE(Ends(waits));
}

// However long the process was stopped, or the machine asleep: the round ends, and whoever waits
// stays.
TEST_F(Limits, TheLoopMayBeAwayForAnyTime) {
  server_.SetLimits({.idle_timeout = 2 * kSecond});
  Client waits(path_);
  waits.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  for (Time away = 0; away < 12 * kSecond; away += 30 * kMillisecond) {
    clock_.Advance(away);
    server_.Turn(0);
  }
  EXPECT_EQ(server_.Count(), 1U);
  a_.Release();
  ExpectHears(waits, "released\n");
}

TEST_F(Limits, ARoundLooksAtSoManyIdleConnections) {
  server_.SetLimits({.idle_timeout = 2 * kSecond});
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    server_.Turn(0);
  }
  ASSERT_TRUE(Until([&] { return server_.Count() == clients.size(); }));
  clock_.Advance(100 * kSecond);
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(Limits, AnIdleTimeoutHoldsForThoseWhoAreThere) {
  Client silent(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == 1; }));
  server_.SetLimits({.idle_timeout = 20 * kSecond});
  Pass(25 * kSecond);
  EXPECT_TRUE(Ends(silent));
}

TEST_F(Limits, AnIdleTimeoutMayBeTakenBack) {
  server_.SetLimits({.idle_timeout = 20 * kSecond});
  Client silent(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == 1; }));
  server_.SetLimits({});
  Pass(100 * kSecond);
  silent.Send("a echo 1\n");
  ExpectHears(silent, "1\n");
}

TEST_F(Limits, APeerThatReadsNothingIsIdle) {
  server_.SetLimits({.idle_timeout = 40 * kSecond});
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  Pass(50 * kSecond);
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(Limits, WhoWaitsForTheJournalIsNotIdle) {
  server_.SetLimits({.idle_timeout = 20 * kSecond});
  Client client(path_), other(path_);
  client.Send("a hold 5\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  Pass(25 * kSecond);
  EXPECT_TRUE(Ends(other));
  Pass(25 * kSecond);
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(client, "held 5\n");
}

}  // namespace
}  // namespace gearstalk
