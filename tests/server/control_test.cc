// What the server is told to do with all that it serves.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class Control : public ServerTest {
 protected:
  bool Served(Client& client, const std::string& word) {
    client.Send("a echo " + word + "\n");
    return Hear(client, word + "\n") == word + "\n";
  }
  ConnectionList::Entry First() { return server_.Next(0); }
};

TEST_F(Control, AFrozenServerReadsRunsAndSendsNothing) {
  Client speaks(path_), waits(path_);
  ASSERT_TRUE(Served(speaks, "1"));
  waits.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 2; }));
  server_.Freeze(true);
  speaks.Send("a echo 2\n");
  a_.Release();
  Client late(path_);
  late.Send("a echo 3\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 2);
  EXPECT_EQ(waits.Read(), "");
  EXPECT_EQ(server_.Count(), 2U);
  EXPECT_TRUE(WaitsForEvents()) << "input that is not read";
  server_.Freeze(false);
  ExpectHears(speaks, "2\n");
  ExpectHears(waits, "released\n");
  ExpectHears(late, "3\n");
}

TEST_F(Control, WhileFrozenNobodyIsIdle) {
  server_.SetLimits({.idle_timeout = 2 * kSecond});
  Client client(path_);
  ASSERT_TRUE(Served(client, "1"));
  server_.Freeze(true);
  Pass(20 * kSecond);
  EXPECT_EQ(server_.Count(), 1U);
}

TEST_F(Control, AFrozenServerSeesHangUpsLater) {
  Client client(ListenToTcp());
  client.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  const std::string much(200'000, 'x');
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    sent += client.Send(std::string_view(much).substr(sent));
    server_.Turn(0);
  }
  server_.Freeze(true);
  client.Reset();
  TurnAll();
  EXPECT_EQ(server_.Count(), 1U);
  EXPECT_TRUE(WaitsForEvents());
  server_.Freeze(false);
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(Control, AFrozenServerSendsTheRestOfALongAnswerLater) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  server_.Freeze(true);
  TurnAll();
  std::size_t heard = client.Read().size();
  TurnAll();
  EXPECT_EQ(client.Read(), "");
  EXPECT_TRUE(WaitsForEvents());
  server_.Freeze(false);
  EXPECT_TRUE(Until([&] {
    heard += client.Read().size();
    return heard == 4'000'001;
  }));
}

TEST_F(Control, NothingIsSentWhenTheHooksForbid) {
  Client client(path_);
  hooks_.may_send = false;
  client.Send("a echo 1\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 1);
  EXPECT_EQ(client.Read(), "");
  hooks_.may_send = true;
  ExpectHears(client, "1\n");
}

TEST_F(Control, CloseAllEndsEveryConnection) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t i = 0; i < 2 * Server::kRoundFlushes; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    clients.back()->Send(i % 2 == 0 ? "a wait\n" : "a stay 3\n");
    server_.Turn(0);
  }
  ASSERT_TRUE(Until([&] { return a_.commands == static_cast<int>(clients.size()); }));
  server_.Freeze(true);
  server_.CloseAll();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
  EXPECT_EQ(a_.left, static_cast<int>(clients.size()));
  for (const auto& client : clients) {
    client->Read();
    EXPECT_TRUE(client->ended());
  }
  server_.Freeze(false);
  Client later(path_);
  EXPECT_TRUE(Served(later, "1"));
}

TEST_F(Control, WhoeverComesIsRefusedUntilItListensAgain) {
  const std::uint16_t port = ListenToTcp();
  Client before(port);
  ASSERT_TRUE(Served(before, "1"));
  server_.Freeze(true);
  server_.StopListening();
  Client refused(port);
  EXPECT_FALSE(refused.connected());
  Client turned_away(path_);
  EXPECT_TRUE(Ends(turned_away));
  EXPECT_TRUE(WaitsForEvents());
  ASSERT_TRUE(server_.ListenAgain().ok());
  server_.Freeze(false);
  EXPECT_TRUE(Served(before, "2")) << "who was there has stayed";
  Client over_tcp(port), local(path_);
  EXPECT_TRUE(Served(over_tcp, "3"));
  EXPECT_TRUE(Served(local, "4"));
}

TEST_F(Control, DisconnectEndsOneConnection) {
  Client one(path_);
  ASSERT_TRUE(Served(one, "1"));
  Client other(path_);
  ASSERT_TRUE(Served(other, "2"));
  const Peer peer = *First().peer;
  EXPECT_FALSE(server_.Disconnect(peer.fd, peer.id + 100));
  EXPECT_FALSE(server_.Disconnect(100'000, peer.id));
  EXPECT_FALSE(server_.Disconnect(-1, peer.id));
  EXPECT_TRUE(server_.Disconnect(peer.fd, peer.id));
  EXPECT_FALSE(server_.Disconnect(peer.fd, peer.id)) << "a second time";
  EXPECT_TRUE(Ends(one));
  EXPECT_TRUE(Served(other, "3"));
}

TEST_F(Control, TellsOfEachConnection) {
  clock_.Advance(5 * kSecond);
  const Time came = clock_.Now();
  Client client(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == 1; }));
  EXPECT_EQ(First().protocol, "");
  Pass(3 * kSecond);
  ASSERT_TRUE(Served(client, "1"));
  EXPECT_EQ(First().protocol, "a");
  EXPECT_EQ(First().peer->connected_at, came);
  EXPECT_EQ(First().active_at, came + 3 * kSecond);
  EXPECT_FALSE(First().peer->tls);
  EXPECT_EQ(First().peer->listen, "unix:" + path_);
}

}  // namespace
}  // namespace gearstalk
