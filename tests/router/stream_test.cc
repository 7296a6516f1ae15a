// A stream and the router that has its socket: both ends of the link in one thread.

#include "broker/server/stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/router/link_rig.h"
#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

using Then = Transport::Received::Then;
using Reading = Transport::Reading;

class StreamTest : public ::testing::Test {
 protected:
  StreamOwner& Owner(std::size_t number = 0) {
    EXPECT_TRUE(rig_.Until([&] { return rig_.owners.size() > number; }));
    return *rig_.owners.at(number);
  }
  // Sends all of it, while the rig turns.
  void SendAll(Client& client, std::string_view bytes) {
    EXPECT_TRUE(rig_.Until([&] {
      bytes.remove_prefix(client.Send(bytes));
      return bytes.empty();
    }));
  }
  std::string HearAll(Client& client, std::size_t size) {
    std::string heard;
    rig_.Until([&] {
      heard += client.Read();
      return heard.size() >= size || client.ended();
    });
    return heard;
  }
  // Bytes whose place can be seen.
  static std::string Pattern(std::size_t size) {
    std::string bytes;
    for (std::uint32_t i = 0; bytes.size() < size; ++i) bytes += std::to_string(i) + ",";
    bytes.resize(size);
    return bytes;
  }

  LinkRig rig_;
};

TEST_F(StreamTest, CarriesBothWays) {
  Client client(rig_.path);
  client.Send("put");
  StreamOwner& owner = Owner();
  EXPECT_TRUE(rig_.Until([&] { return owner.heard == "put"; }));
  owner.Say("INSERTED");
  EXPECT_EQ(HearAll(client, 8), "INSERTED");
  EXPECT_EQ(owner.then, Then::kOpen);
  EXPECT_EQ(rig_.link->streams(), 1U);
}

TEST_F(StreamTest, OpensBeforeTheClientHasSaidAWord) {
  Client client(rig_.path);
  Owner();
  EXPECT_EQ(rig_.link->streams(), 1U);
}

TEST_F(StreamTest, AClientThatNobodyWantsIsClosed) {
  rig_.welcomes = false;
  Client client(rig_.path);
  client.Send("put");
  EXPECT_TRUE(rig_.Until([&] {
    client.Read();
    return client.ended();
  }));
  rig_.Settle();
  EXPECT_EQ(rig_.link->streams(), 0U);
  EXPECT_EQ(rig_.link->lost(), "");
}

TEST_F(StreamTest, TheEndOfAClientComesBehindItsBytes) {
  Client client(rig_.path);
  client.Send("reserve");
  client.HalfClose();
  StreamOwner& owner = Owner();
  EXPECT_TRUE(rig_.Until([&] { return owner.then == Then::kEnd; }));
  EXPECT_EQ(owner.heard, "reserve");
  owner.Say("answer");
  EXPECT_EQ(HearAll(client, 6), "answer");
  EXPECT_FALSE(client.ended());
}

TEST_F(StreamTest, CloseSendsEverythingFirst) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  const std::string all = Pattern(60'000);
  owner.Say(all);
  owner.End(true);
  EXPECT_EQ(HearAll(client, SIZE_MAX), all);
  EXPECT_TRUE(client.ended());
  rig_.Settle();
  EXPECT_EQ(rig_.link->streams(), 0U);
  EXPECT_EQ(rig_.link->under_way(), 0U);
}

TEST_F(StreamTest, NumbersAreUsedAgain) {
  for (std::size_t i = 0; i < 50; ++i) {
    Client client(rig_.path);
    StreamOwner& owner = Owner(i);
    owner.Say("bye");
    owner.End(true);
    EXPECT_EQ(HearAll(client, SIZE_MAX), "bye");
    rig_.Settle();
  }
  EXPECT_EQ(rig_.link->streams(), 0U);
  EXPECT_EQ(rig_.link->lost(), "");
}

TEST_F(StreamTest, AHangUpIsToldWhileNothingIsRead) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.stream().SetReading(Reading::kWatchClose);
  client.Send("x");
  rig_.Settle();
  EXPECT_EQ(owner.hang_ups, 0);
  client.Close();
  EXPECT_TRUE(rig_.Until([&] { return owner.hang_ups == 1; }));
  owner.stream().SetReading(Reading::kOn);
  EXPECT_TRUE(rig_.Until([&] { return owner.then == Then::kEnd; }));
  EXPECT_EQ(owner.heard, "x");
}

// Its window is used up: what it has sent before its end stays in its socket.
TEST_F(StreamTest, AHangUpIsToldWithoutCredit) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.stream().SetReading(Reading::kWatchClose);
  const std::string all = Pattern(link::kWindow + 10'000);
  SendAll(client, all);
  client.Close();
  EXPECT_TRUE(rig_.Until([&] { return owner.hang_ups == 1; }));
  owner.stream().SetReading(Reading::kOn);
  EXPECT_TRUE(rig_.Until([&] { return owner.then == Then::kEnd; }));
  EXPECT_EQ(owner.heard, all);
}

TEST_F(StreamTest, AnUnreadStreamTakesOneWindow) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.stream().SetReading(Reading::kOff);
  const std::string all = Pattern(1 << 20);
  std::size_t sent = 0;
  for (int i = 0; i < 500; ++i) {
    sent += client.Send(std::string_view(all).substr(sent));
    rig_.Turn();
  }
  EXPECT_LT(sent, all.size());
  EXPECT_LE(rig_.link->received_bytes(), link::kWindow + 1024);
  owner.stream().SetReading(Reading::kOn);
  SendAll(client, std::string_view(all).substr(sent));
  EXPECT_TRUE(rig_.Until([&] { return owner.heard.size() == all.size(); }));
  EXPECT_EQ(owner.heard, all);
}

TEST_F(StreamTest, ABodyGetsALargeWindow) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.body_flows = true;
  const std::string all = Pattern(4 << 20);
  SendAll(client, all);
  EXPECT_TRUE(rig_.Until([&] { return owner.heard.size() == all.size(); }));
  EXPECT_EQ(owner.heard, all);
}

TEST_F(StreamTest, AClientThatDoesNotReadHasOneWindowUnderWay) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  const std::string all = Pattern(8 << 20);
  owner.Say(all);
  rig_.Settle();
  EXPECT_GT(owner.unsaid.size(), 1U << 20);
  EXPECT_GT(rig_.link->under_way(), 0U);
  EXPECT_LE(rig_.link->under_way(), link::kMaxWindow);
  EXPECT_EQ(owner.stream().pending(), rig_.link->under_way());
  EXPECT_EQ(HearAll(client, all.size()), all);
  EXPECT_EQ(owner.unsaid, "");
  rig_.Settle();
  EXPECT_EQ(rig_.link->under_way(), 0U);
}

// Until then the connection is there, and counts.
TEST_F(StreamTest, TheLastFlushWaitsUntilTheClientHasIt) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  const std::string all = Pattern(8 << 20);
  owner.Say(all);
  rig_.Settle();
  ASSERT_GT(owner.stream().pending(), 0U);
  const std::size_t said = all.size() - owner.unsaid.size();
  owner.unsaid.clear();
  EXPECT_EQ(owner.stream().Flush(false), Transport::Flushed::kAll);
  EXPECT_EQ(owner.stream().Flush(true), Transport::Flushed::kSome);
  owner.stream().WatchWriting(true);
  owner.writables = 0;
  rig_.Settle();
  EXPECT_EQ(owner.writables, 0) << "there is nothing to do yet";
  EXPECT_EQ(HearAll(client, said), all.substr(0, said));
  EXPECT_TRUE(rig_.Until([&] { return owner.writables > 0; }));
  EXPECT_EQ(owner.stream().Flush(true), Transport::Flushed::kAll);
  owner.End(true);
  rig_.Settle();
  EXPECT_EQ(rig_.link->streams(), 0U);
}

TEST_F(StreamTest, TheLastFlushDoesNotWaitForAClientThatIsGone) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.Say(Pattern(8 << 20));
  rig_.Settle();
  owner.unsaid.clear();
  EXPECT_EQ(owner.stream().Flush(true), Transport::Flushed::kSome);
  owner.stream().SetReading(Reading::kOff);
  owner.stream().WatchWriting(true);
  owner.writables = 0;
  client.Close();
  EXPECT_TRUE(rig_.Until([&] { return owner.writables > 0; }));
  EXPECT_EQ(owner.stream().Flush(true), Transport::Flushed::kAll);
}

TEST_F(StreamTest, OthersDoNotWaitForOneThatDoesNotRead) {
  Client stuck(rig_.path);
  StreamOwner& stuck_owner = Owner(0);
  Client client(rig_.path);
  StreamOwner& owner = Owner(1);
  stuck_owner.Say(Pattern(8 << 20));
  rig_.Settle();
  owner.Say("answer");
  EXPECT_EQ(HearAll(client, 6), "answer");
}

// What waits for a router that does not read is bounded, however many its clients are, and when it
// reads again, each of them has its turn.
TEST_F(StreamTest, ARouterThatDoesNotReadGetsAFullLinkAtMost) {
  constexpr std::size_t kClients = 300;
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>(rig_.path));
    Owner(i);
  }
  const std::string all = Pattern(60'000);
  for (const auto& owner : rig_.owners) owner->Say(all);
  for (int i = 0; i < 10; ++i) rig_.TurnLink();
  EXPECT_LE(rig_.link->under_way(), 2 * link::kFullLink);
  std::vector<std::string> heard(kClients);
  EXPECT_TRUE(rig_.Until([&] {
    bool missing = false;
    for (std::size_t i = 0; i < kClients; ++i) {
      heard[i] += clients[i]->Read();
      missing = missing || heard[i].size() < all.size();
    }
    return !missing;
  }));
  for (const std::string& one : heard) EXPECT_EQ(one, all);
  rig_.Settle();
  EXPECT_EQ(rig_.link->under_way(), 0U);
}

TEST_F(StreamTest, ARouterReportsByItselfWhatTheClientHas) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  const std::string all = Pattern(10'000);
  owner.Say(all);
  EXPECT_EQ(HearAll(client, all.size()), all);
  EXPECT_TRUE(rig_.Until([&] { return rig_.link->under_way() == 0; }));
}

TEST_F(StreamTest, AResetBreaks) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  const std::string all = Pattern(8 << 20);
  owner.Say(all);
  rig_.Settle();
  client.Close();  // a Unix socket with unread bytes is reset
  EXPECT_TRUE(rig_.Until([&] { return owner.broken; }));
  owner.End(false);
  rig_.Settle();
  EXPECT_EQ(rig_.link->streams(), 0U);
  EXPECT_EQ(rig_.link->under_way(), 0U);
  EXPECT_EQ(rig_.link->lost(), "");
}

TEST_F(StreamTest, TheEndOfARouterBreaksItsStreams) {
  Client client(rig_.path);
  Client other(rig_.path);
  StreamOwner& owner = Owner(0);
  StreamOwner& muted = Owner(1);
  muted.stream().Mute(true);
  rig_.router = nullptr;
  EXPECT_TRUE(rig_.Until([&] { return !rig_.link->lost().empty(); }));
  rig_.link = nullptr;
  EXPECT_EQ(owner.then, Then::kBroken);
  // One that does not listen just now learns it later.
  EXPECT_EQ(muted.then, Then::kOpen);
  muted.stream().Mute(false);
  rig_.TurnBroker();
  EXPECT_EQ(muted.then, Then::kBroken);
}

TEST_F(StreamTest, AMutedStreamKeepsWhatArrives) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.stream().Mute(true);
  client.Send("one ");
  rig_.Settle();
  client.Send("two");
  rig_.Settle();
  EXPECT_EQ(owner.heard, "");
  owner.stream().Mute(false);
  EXPECT_TRUE(rig_.Until([&] { return owner.heard == "one two"; }));
}

TEST_F(StreamTest, IsReadInTurns) {
  Client client(rig_.path);
  StreamOwner& owner = Owner();
  owner.most = 10;
  const std::string all = Pattern(100'000);
  SendAll(client, all);
  EXPECT_TRUE(rig_.Until([&] { return owner.heard.size() == all.size(); }));
  EXPECT_EQ(owner.heard, all);
}

}  // namespace
}  // namespace gearstalk
