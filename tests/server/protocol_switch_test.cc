// The protocol switch with protocols that are simple enough to see what it does.

#include "broker/server/protocol_switch.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/server/fake_protocol.h"

namespace gearstalk {
namespace {

class FakeWire final : public Wire {
 public:
  Output& out() override { return out_; }
  const Peer& peer() const override { return peer_; }
  Time Now() const override { return 0; }
  void Resume() override { ++resumed_; }
  void OnRefused(Refusal why, const Refused& /*what*/) override { refused_ = why; }

  std::string Hear() { return out_.TakeAll(); }
  int resumed() const { return resumed_; }
  std::optional<Refusal> refused() const { return refused_; }

 private:
  Output out_;
  Peer peer_;
  int resumed_ = 0;
  std::optional<Refusal> refused_;
};

class ProtocolSwitchTest : public ::testing::Test {
 protected:
  // Shows bytes behind what is left of the last ones, and returns the answers.
  std::string Say(std::string_view bytes) {
    left_ += bytes;
    const InputResult result = switch_.OnInput(left_);
    EXPECT_LE(result.bytes, left_.size());
    left_.erase(0, result.bytes);
    next_ = result.next;
    return wire_.Hear();
  }
  bool Owned() const { return switch_.owner() != nullptr; }

  FakeProtocol a_{'a', FakeProtocol::Answers::kCrLf};
  FakeProtocol b_{'b', FakeProtocol::Answers::kLf};
  std::vector<Protocol*> both_{&a_, &b_};
  FakeWire wire_;
  ProtocolSwitch switch_{both_, wire_};
  std::string left_;
  Next next_ = Next::kBytes;
};

TEST_F(ProtocolSwitchTest, MakesNoSessionBeforeItIsNeeded) {
  EXPECT_EQ(Say(""), "");
  EXPECT_EQ(switch_.Describing(), nullptr);
  EXPECT_EQ(a_.created + b_.created, 0);
}

TEST_F(ProtocolSwitchTest, TheFirstWordDecides) {
  EXPECT_EQ(Say("b echo 1\n"), "1\n");
  EXPECT_TRUE(Owned());
  EXPECT_EQ(Say("b echo 2\nb echo 3\n"), "2\n3\n");
  EXPECT_EQ(a_.created, 0);
  EXPECT_EQ(b_.created, 1);
  EXPECT_EQ(next_, Next::kBytes);
}

TEST_F(ProtocolSwitchTest, WaitsForTheWholeWord) {
  EXPECT_EQ(Say("b"), "");
  EXPECT_EQ(next_, Next::kBytes);
  EXPECT_EQ(left_, "b");
  EXPECT_FALSE(Owned());
  EXPECT_EQ(Say(" echo 1\n"), "1\n");
}

TEST_F(ProtocolSwitchTest, AWordOfHttpEndsTheConnection) {
  for (const std::string line : {"GET / HTTP/1.1\r\n", "POST /", "Host: x\r\n", "PUT\n"}) {
    for (const bool owned : {false, true}) {
      FakeWire wire;
      ProtocolSwitch chooser(both_, wire);
      if (owned) chooser.OnInput("a echo 1\n");
      const InputResult result = chooser.OnInput(line + "\r\na echo 2\n");
      EXPECT_EQ(result.next, Next::kClose) << line;
      EXPECT_EQ(wire.refused(), Refusal::kHttp);
      EXPECT_EQ(wire.Hear(), owned ? "1\n" : "");
    }
  }
}

TEST_F(ProtocolSwitchTest, AWordOfHttpEndsAConnectionOfASingleProtocol) {
  const std::vector<Protocol*> one{&a_};
  ProtocolSwitch chooser(one, wire_);
  EXPECT_EQ(chooser.OnInput("POST / HTTP/1.1\r\n").next, Next::kClose);
  EXPECT_EQ(wire_.refused(), Refusal::kHttp);
}

TEST_F(ProtocolSwitchTest, WhatOnlyBeginsLikeHttpDoesNot) {
  EXPECT_EQ(Say("POSTS x\r\n"), "a?POSTS x\r\n");
  EXPECT_EQ(Say("PUT 0 0 1 1\r\n"), "a?PUT 0 0 1 1\r\n");
  EXPECT_EQ(Say("get x\r\n"), "a?get x\r\n");
  EXPECT_EQ(Say("GET"), "");
  EXPECT_EQ(next_, Next::kBytes);
}

TEST_F(ProtocolSwitchTest, OneMessageLeavesTheConnectionUndecided) {
  EXPECT_EQ(Say("B echo 1\n"), "1\n");
  EXPECT_FALSE(Owned());
  EXPECT_EQ(Say("A echo 2\n"), "2\n");
  EXPECT_FALSE(Owned());
  EXPECT_EQ(Say("a echo 3\n"), "3\n");
  EXPECT_TRUE(Owned());
}

TEST_F(ProtocolSwitchTest, OneMessagesMayFollowEachOtherInOneRead) {
  EXPECT_EQ(Say("B echo 1\nA echo 2\nb echo 3\nA echo 4\nB echo 5\nb echo 6\n"),
            "1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(left_, "");
}

TEST_F(ProtocolSwitchTest, AnOwnerLetsGuestsAnswerTheirLines) {
  EXPECT_EQ(Say("a echo 1\nB echo 2\na echo 3\n"), "1\n2\n3\n");
  EXPECT_EQ(a_.created, 1);
  EXPECT_EQ(b_.created, 1);
  EXPECT_EQ(Say("B echo 4\n"), "4\n");
  EXPECT_EQ(b_.created, 1);
}

TEST_F(ProtocolSwitchTest, AnOwnerKeepsItsConnection) {
  EXPECT_EQ(Say("a echo 1\n"), "1\n");
  EXPECT_EQ(Say("b echo 2\r\n"), "a?b echo 2\r\n");
  EXPECT_EQ(Say("b echo 2\n"), "b?b echo 2\n");
  EXPECT_EQ(Say("a echo 3\n"), "3\n");
}

TEST_F(ProtocolSwitchTest, UnknownLinesGoToWhoeverAnswersTheirEnd) {
  EXPECT_EQ(Say("x\r\n"), "a?x\r\n");
  EXPECT_EQ(Say("x\n"), "b?x\n");
  EXPECT_FALSE(Owned());
  EXPECT_EQ(Say("\n\r\n"), "b?\na?\r\n");
}

TEST_F(ProtocolSwitchTest, UnknownLinesWaitForTheirEnd) {
  EXPECT_EQ(Say("xyz"), "");
  EXPECT_EQ(Say("\r"), "");
  EXPECT_EQ(next_, Next::kBytes);
  EXPECT_EQ(left_, "xyz\r");
  EXPECT_EQ(Say("\n"), "a?xyz\r\n");
}

TEST_F(ProtocolSwitchTest, ABlockedOwnerIsNotAskedForGuests) {
  EXPECT_EQ(Say("a wait\nB echo 1\n"), "");
  EXPECT_EQ(next_, Next::kWait);
  EXPECT_EQ(left_, "B echo 1\n");
  a_.Release();
  EXPECT_EQ(wire_.resumed(), 1);
  EXPECT_EQ(Say(""), "released\n1\n");
}

TEST_F(ProtocolSwitchTest, ABlockedGuestStopsItsConnection) {
  EXPECT_EQ(Say("a echo 1\nB wait\na echo 2\n"), "1\n");
  EXPECT_EQ(next_, Next::kWait);
  EXPECT_EQ(Say(""), "");
  EXPECT_EQ(next_, Next::kWait);
  b_.Release();
  EXPECT_EQ(Say(""), "released\n2\n");
  EXPECT_EQ(next_, Next::kBytes);
}

TEST_F(ProtocolSwitchTest, AYieldingGuestFinishesFirst) {
  EXPECT_EQ(Say("a echo 1\nB slow 3\na echo 2\n"), "1\n");
  EXPECT_EQ(next_, Next::kYield);
  EXPECT_EQ(Say(""), "");
  EXPECT_EQ(next_, Next::kYield);
  EXPECT_EQ(Say("a echo 3\n"), "");
  EXPECT_EQ(Say(""), "slow\n2\n3\n");
  EXPECT_EQ(next_, Next::kBytes);
}

TEST_F(ProtocolSwitchTest, AYieldingGuestOfNobodyFinishesFirst) {
  EXPECT_EQ(Say("B slow 2\nA echo 1\n"), "");
  EXPECT_EQ(Say(""), "");
  EXPECT_EQ(Say(""), "slow\n1\n");
  EXPECT_FALSE(Owned());
}

TEST_F(ProtocolSwitchTest, ManyMessagesOfGuestsLetOthersGoFirst) {
  const std::size_t round = static_cast<std::size_t>(TurnShare::kMessages) + 1;
  for (const std::string first : {"", "a echo 0\n"}) {
    if (!first.empty()) Say(first);
    std::string lines;
    for (std::size_t i = 0; i < round + 1; ++i) lines += "B echo 1\n";
    EXPECT_EQ(Say(lines).size(), 2 * round);
    EXPECT_EQ(next_, Next::kYield);
    EXPECT_EQ(Say(""), "1\n");
    EXPECT_EQ(next_, Next::kBytes);
  }
}

TEST_F(ProtocolSwitchTest, MuchOutputOfGuestsLetsOthersGoFirst) {
  const std::string big = "B echo " + std::string(TurnShare::kOutput, 'x') + "\n";
  EXPECT_EQ(Say(big + big + big).size(), 2 * TurnShare::kOutput + 2);
  EXPECT_EQ(next_, Next::kYield);
  EXPECT_EQ(Say("").size(), TurnShare::kOutput + 1);
}

TEST_F(ProtocolSwitchTest, CloseEndsIt) {
  EXPECT_EQ(Say("a echo 1\na close\na echo 2\n"), "1\nbye\n");
  EXPECT_EQ(next_, Next::kClose);
}

TEST_F(ProtocolSwitchTest, AGuestMayClose) {
  EXPECT_EQ(Say("a echo 1\nB close\na echo 2\n"), "1\nbye\n");
  EXPECT_EQ(next_, Next::kClose);
}

TEST_F(ProtocolSwitchTest, BodiesBelongToTheOwner) {
  EXPECT_TRUE(switch_.BodySpace().empty());
  EXPECT_EQ(Say("a body 4\n"), "");
  const std::span<char> space = switch_.BodySpace();
  ASSERT_EQ(space.size(), 4U);
  space[0] = 'x';
  space[1] = 'y';
  switch_.OnBody(2);
  EXPECT_EQ(Say("zwa echo 1\n"), "body 2 w\n1\n");
  EXPECT_TRUE(switch_.BodySpace().empty());
}

TEST_F(ProtocolSwitchTest, ThereIsNoSpaceForABodyWhileAGuestAnswers) {
  EXPECT_EQ(Say("a echo 1\nB slow 2\n"), "1\n");
  EXPECT_TRUE(switch_.BodySpace().empty());
}

TEST_F(ProtocolSwitchTest, EndReachesEverySession) {
  EXPECT_EQ(Say("a echo 1\nB wait\n"), "1\n");
  switch_.OnEof();
  EXPECT_EQ(wire_.Hear(), "end\n");
}

TEST_F(ProtocolSwitchTest, DescribesItselfByItsOwnerOrAGuest) {
  EXPECT_EQ(Say("B echo 1\n"), "1\n");
  const Session* const guest = switch_.Describing();
  EXPECT_NE(guest, nullptr);
  EXPECT_EQ(Say("a echo 2\n"), "2\n");
  EXPECT_EQ(switch_.Describing(), switch_.owner());
  EXPECT_NE(switch_.Describing(), guest);
}

TEST_F(ProtocolSwitchTest, AGuestMayBecomeTheOwner) {
  EXPECT_EQ(Say("B echo 1\nb echo 2\n"), "1\n2\n");
  EXPECT_TRUE(Owned());
  EXPECT_EQ(b_.created, 1);
}

TEST(SingleProtocol, GetsEverything) {
  FakeProtocol a('a');
  std::vector<Protocol*> alone{&a};
  FakeWire wire;
  ProtocolSwitch chooser(alone, wire);
  EXPECT_NE(chooser.owner(), nullptr);
  for (const std::string_view bytes : {"a echo 1\n", "A echo 1\n", "x\n", "\n"}) {
    const InputResult result = chooser.OnInput(bytes);
    EXPECT_EQ(result.bytes, bytes.size());
    EXPECT_EQ(result.next, Next::kBytes);
  }
  EXPECT_EQ(wire.Hear(), "1\n1\na?x\na?\n");
}

class GreetedProtocol : public ::testing::Test {
 protected:
  FakeProtocol a_{'a'};
  FakeProtocol b_{'b', FakeProtocol::Answers::kNothing, true};
  std::vector<Protocol*> both_{&a_, &b_};
  FakeWire wire_;
};

TEST_F(GreetedProtocol, TakesAConnectionThatBeginsWithItsWord) {
  ProtocolSwitch chooser(both_, wire_);
  EXPECT_EQ(a_.connections(), 1U);
  EXPECT_EQ(chooser.OnInput("b").next, Next::kBytes);
  const std::string_view bytes = "b echo 1\n";
  EXPECT_EQ(chooser.OnInput(bytes).bytes, bytes.size());
  EXPECT_EQ(wire_.Hear(), "1\n");
  EXPECT_EQ(chooser.protocol(), "b");
  EXPECT_EQ(a_.connections(), 0U);
  EXPECT_EQ(b_.connections(), 1U);
}

TEST_F(GreetedProtocol, LeavesAllElseToTheOther) {
  ProtocolSwitch chooser(both_, wire_);
  for (const std::string_view bytes : {"a echo 1\n", "A echo 1\n", "x\n", "b echo 1\n"}) {
    EXPECT_EQ(chooser.OnInput(bytes).bytes, bytes.size());
  }
  EXPECT_EQ(wire_.Hear(), "1\n1\na?x\na?b echo 1\n");
  EXPECT_EQ(b_.created, 0);
}

TEST(EveryCut, GivesTheSameAnswers) {
  const std::string bytes =
      "B echo 1\nx\r\nA echo 2\na echo 3\nB slow 2\nb\na slow 2\ny y\r\na body 5\n12345z\n"
      "A echo 4\nB body 2\nhia close\na echo 5\n";
  const auto answers = [&bytes](std::size_t first, std::size_t then) {
    FakeProtocol a('a', FakeProtocol::Answers::kCrLf), b('b', FakeProtocol::Answers::kLf);
    std::vector<Protocol*> both{&a, &b};
    FakeWire wire;
    ProtocolSwitch chooser(both, wire);
    std::string left;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = at == 0 ? first : then;
      left += bytes.substr(at, size);
      at += size;
      InputResult result{0, Next::kYield};
      while (result.next == Next::kYield) {
        result = chooser.OnInput(left);
        left.erase(0, result.bytes);
      }
      if (result.next == Next::kClose) return wire.Hear();
    }
    return wire.Hear() + "(open)";
  };
  const std::string whole = answers(bytes.size(), 1);
  EXPECT_EQ(whole, "1\nb?x\r\n2\n3\nslow\nb?b\nslow\na?y y\r\nbody 0 5\nb?z\n4\nbody 0 i\nbye\n");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    EXPECT_EQ(answers(cut, bytes.size()), whole) << "cut at " << cut;
    EXPECT_EQ(answers(cut, 1), whole) << "cut at " << cut << ", then byte by byte";
  }
}

}  // namespace
}  // namespace gearstalk
