// Connections from their first byte to their end.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

TEST_F(ServerTest, Answers) {
  Client client(path_);
  client.Send("a echo hello\n");
  ExpectHears(client, "hello\n");
  EXPECT_EQ(server_.Count(), 1U);
  EXPECT_EQ(server_.Total(), 1U);
  EXPECT_EQ(server_.received_bytes(), 13U);
  EXPECT_EQ(server_.sent_bytes(), 6U);
}

TEST_F(ServerTest, AnswersByteByByte) {
  Client client(path_);
  std::string heard;
  for (const char byte : std::string("B echo 1\na echo 2\nx\r\n")) {
    client.Send({&byte, 1});
    server_.Turn(0);
    heard += client.Read();
  }
  TurnAll();
  EXPECT_EQ(heard + client.Read(), "1\n2\na?x\r\n");
}

TEST_F(ServerTest, AnswersABurstInOrder) {
  Client client(path_);
  std::string commands, expected;
  for (int i = 0; i < 20'000; ++i) {
    commands += "a echo " + std::to_string(i) + "\n";
    expected += std::to_string(i) + "\n";
  }
  std::string heard;
  std::size_t sent = 0;
  ASSERT_TRUE(Until([&] {
    sent += client.Send(std::string_view(commands).substr(sent));
    heard += client.Read();
    return heard.size() >= expected.size();
  }));
  EXPECT_EQ(heard, expected);
}

TEST_F(ServerTest, SendsARoundWithOneWrite) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  // What a stream is sent in one write comes in one packet here.
  const std::vector<Protocol*> protocols{&a_};
  Connection connection(server_, {.fd = pair[0], .address = "unix", .local = true}, protocols);
  SocketContext sockets(loop_);
  connection.Attach(
      std::make_unique<SocketTransport>(sockets, pair[0], TlsUse::kOff, connection.events()));
  send(pair[1], "a echo 1\na big 5000\na echo 2\n", 29, 0);
  connection.Hear();
  EXPECT_TRUE(connection.Flush());
  std::string packet(10'000, '\0');
  EXPECT_EQ(recv(pair[1], packet.data(), packet.size(), MSG_DONTWAIT), 2 + 5001 + 2);
  EXPECT_LT(recv(pair[1], packet.data(), packet.size(), MSG_DONTWAIT), 0);
  close(pair[1]);
}

TEST_F(ServerTest, HoldsRepliesUntilTheyAreDurable) {
  Client client(path_);
  client.Send("a echo 1\na hold 5\na echo 2\n");
  ExpectHears(client, "1\n");
  TurnAll();
  EXPECT_EQ(client.Read(), "");
  EXPECT_EQ(a_.commands, 3);
  hooks_.durable = 4;
  server_.OnDurable();
  TurnAll();
  EXPECT_EQ(client.Read(), "");
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(client, "held 5\n2\n");
}

TEST_F(ServerTest, HoldsOnlyTheConnectionsThatWait) {
  Client one(path_), other(path_);
  one.Send("a hold 5\n");
  other.Send("a echo 1\n");
  ExpectHears(other, "1\n");
  TurnAll();
  EXPECT_EQ(one.Read(), "");
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(one, "held 5\n");
}

TEST_F(ServerTest, GatesOpenOneByOne) {
  Client client(path_);
  client.Send("a hold 1\na hold 2\na hold 3\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 3; }));
  for (Lsn lsn = 1; lsn <= 3; ++lsn) {
    hooks_.durable = lsn;
    server_.OnDurable();
    TurnAll();
    EXPECT_EQ(client.Read(), "held " + std::to_string(lsn) + "\n");
  }
}

TEST_F(ServerTest, ClosesThoseWhoWaitInVain) {
  Client waiting(path_), idle(path_);
  waiting.Send("a echo 1\na hold 5\na echo 2\n");
  idle.Send("a echo 1\n");
  ExpectHears(waiting, "1\n");
  ExpectHears(idle, "1\n");
  TurnAll();
  server_.AbandonHeld(/*for_good=*/false);
  // Those whose reply was held in the same round are among them.
  Client late(path_);
  late.Send("a hold 5\n");
  EXPECT_TRUE(Ends(waiting));
  EXPECT_TRUE(Ends(late));
  // Others go on, and whoever waits from now on waits.
  idle.Send("a echo 2\na hold 5\n");
  ExpectHears(idle, "2\n");
  TurnAll();
  EXPECT_FALSE(idle.ended());
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(idle, "held 5\n");
}

TEST_F(ServerTest, ClosesWhoeverComesToWaitForAFailedJournal) {
  server_.AbandonHeld(/*for_good=*/true);
  Client client(path_);
  client.Send("a echo 1\n");
  ExpectHears(client, "1\n");
  client.Send("a echo 2\na hold 5\n");
  ExpectHears(client, "2\n");
  EXPECT_TRUE(Ends(client));
}

TEST_F(ServerTest, DoesNotReadForTheJournalWhenItIsFarBehind) {
  hooks_.behind = true;
  Client client(path_);
  client.Send("a hold 5\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  client.Send("a echo 1\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 1);
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(client, "held 5\n1\n");
}

TEST_F(ServerTest, DoesNothingWhileTheJournalIsWaitedFor) {
  Client client(path_);
  client.Send("a big 600000\na hold 5\n");
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += client.Read();
    return heard.size() == 600'001;
  }));
  TurnAll();
  const int asked = hooks_.asked;
  TurnAll();
  EXPECT_EQ(hooks_.asked, asked);
  hooks_.durable = 5;
  server_.OnDurable();
  ExpectHears(client, "held 5\n");
}

TEST_F(ServerTest, GoesOnWhenASessionIsReleased) {
  Client client(path_);
  client.Send("a wait\na echo 1\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  client.Send("a echo 2\n");
  TurnAll();
  EXPECT_EQ(client.Read(), "");
  a_.Release();
  ExpectHears(client, "released\n1\n2\n");
}

TEST_F(ServerTest, BoundsWhatItReadsOfASessionThatWaits) {
  Client client(path_);
  client.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  const std::string line = "a echo " + std::string(992, 'x') + "\n";
  std::size_t sent = 0;
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += line;
  for (int i = 0; i < 100; ++i) {
    sent += client.Send(std::string_view(lines).substr(sent));
    server_.Turn(0);
  }
  EXPECT_LT(server_.received_bytes(), Connection::kMaxInput + 2 * Server::kReadSize);
  a_.Release();
  std::string heard;
  ASSERT_TRUE(Until([&] {
    sent += client.Send(std::string_view(lines).substr(sent));
    heard += client.Read();
    return heard.size() == 9 + 300 * 993;
  }));
  EXPECT_EQ(a_.commands, 301);
}

TEST_F(ServerTest, OthersGoOnWhileOneYields) {
  Client slow(path_), other(path_);
  slow.Send("a slow 5\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  other.Send("a echo 1\n");
  server_.Turn(0);
  server_.Turn(0);
  EXPECT_EQ(other.Read(), "1\n");
  EXPECT_EQ(slow.Read(), "");
  ExpectHears(slow, "slow\n");
}

TEST_F(ServerTest, OthersGoOnWhileOneLeaves) {
  Client one(path_), other(path_);
  one.Send("a stay 100\n");
  ExpectHears(one, "stay\n");
  one.Close();
  int rounds = 0;
  for (; server_.Count() == 2; ++rounds) {
    other.Send("a echo 1\n");
    ExpectHears(other, "1\n");
    ASSERT_LT(rounds, 1000);
  }
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(server_.Count(), 1U);
}

TEST_F(ServerTest, APeerThatSaidNothingMayLeave) {
  Client client(path_);
  ASSERT_TRUE(Until([&] { return server_.Count() == 1; }));
  client.Close();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(ServerTest, APeerMayLeaveAmidAWord) {
  Client client(path_);
  client.Send("nonsense without an end");
  ASSERT_TRUE(Until([&] { return server_.received_bytes() > 0; }));
  client.Close();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(ServerTest, ClosesWhenTheSessionSaysSo) {
  Client client(path_);
  client.Send("a close\na echo 1\n");
  EXPECT_EQ(Hear(client, std::string(100, ' ')), "bye\n");
  EXPECT_EQ(server_.Count(), 0U);
  EXPECT_EQ(a_.commands, 1);
}

TEST_F(ServerTest, WhoIsToEndLeavesTheEngineAtOnce) {
  Client client(path_);
  client.Send("a stay 3\na big 250000\na close\n");
  ASSERT_TRUE(Until([&] { return a_.left == 1; }));
  EXPECT_EQ(server_.Count(), 1U) << "it has not read everything";
  std::size_t heard = 0;
  ASSERT_TRUE(Until([&] {
    heard += client.Read().size();
    return client.ended();
  }));
  EXPECT_EQ(heard, 5U + 250'001U + 4);
}

TEST_F(ServerTest, ClosesBehindWhatIsStillToBeSent) {
  Client client(path_);
  client.Send("a big 3000000\na close\n");
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += client.Read(100'000);
    return client.ended();
  }));
  EXPECT_EQ(heard.size(), 3'000'001U + 4);
  EXPECT_TRUE(heard.ends_with("x\nbye\n"));
}

TEST_F(ServerTest, ReadsABodyIntoItsPlace) {
  Client client(path_);
  const std::string body(500'000, 'b');
  client.Send("a body 500000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  std::size_t sent = 0;
  ASSERT_TRUE(Until([&] {
    sent += client.Send(std::string_view(body).substr(sent));
    return sent == body.size();
  }));
  client.Send("a echo 1\n");
  ExpectHears(client, "body 500000 b\n1\n");
}

TEST_F(ServerTest, ABodyMayComeWithItsCommand) {
  Client client(path_);
  client.Send("a body 5\n12345a echo 1\n");
  ExpectHears(client, "body 0 5\n1\n");
}

TEST_F(ServerTest, DescribesItsConnections) {
  Client silent(path_), speaking(path_);
  speaking.Send("a echo 1\n");
  ExpectHears(speaking, "1\n");
  int described = 0, all = 0;
  ForEach([&](const Peer& peer, const Session* session) {
    EXPECT_EQ(peer.address, "unix");
    EXPECT_TRUE(peer.local);
    ++all;
    described += session != nullptr;
  });
  EXPECT_EQ(all, 2);
  EXPECT_EQ(described, 1);
}

TEST_F(ServerTest, ListensToSeveralAddresses) {
  const std::string second = path_ + "-b";
  ASSERT_TRUE(Listen("unix:" + second, {&b_}).ok());
  Client both(path_), only_b(second);
  both.Send("a echo 1\n");
  only_b.Send("a echo 2\n");
  ExpectHears(both, "1\n");
  ExpectHears(only_b, "b?a echo 2\n");
}

TEST_F(ServerTest, SpeaksTcp) {
  Client client(ListenToTcp());
  ASSERT_TRUE(client.connected());
  client.Send("a echo 1\n");
  ExpectHears(client, "1\n");
  ForEach([](const Peer& peer, const Session*) {
    EXPECT_EQ(peer.address, "127.0.0.1");
    EXPECT_TRUE(peer.local);
  });
}

TEST_F(ServerTest, SendsMuchInSeveralRounds) {
  Client client(ListenToTcp());
  std::size_t most = 0;
  // The kernel takes more at once from a connection that has sent much.
  for (int i = 0; i < 5; ++i) {
    client.Send("a big 3000000\n");
    std::size_t heard = 0;
    ASSERT_TRUE(Until([&] {
      const std::uint64_t before = server_.sent_bytes();
      server_.Turn(0);
      most = std::max(most, server_.sent_bytes() - before);
      heard += client.Read().size();
      return heard == 3'000'001;
    }));
  }
  EXPECT_LE(most, Output::kMaxGather);
}

TEST_F(ServerTest, StopSendsWhatItHas) {
  Client client(path_), waiting(path_);
  waiting.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  a_.on_echo = [this] { server_.Stop(); };
  client.Send("a echo 1\n");
  server_.Run();
  EXPECT_EQ(client.Read(), "1\n");
  EXPECT_TRUE(client.ended());
  waiting.Read();
  EXPECT_TRUE(waiting.ended());
  EXPECT_EQ(server_.Count(), 0U);
  EXPECT_FALSE(Client(path_).connected());
}

TEST_F(ServerTest, WhileItSendsTheRestSessionsLeaveTheEngine) {
  Client slow(path_), leaving(path_);
  slow.Send("a big 3000000\n");
  leaving.Send("a stay 100\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 2; }));
  a_.on_echo = [this] { server_.Stop(); };
  int rounds = 0;
  // It goes on until the slow one has read everything.
  hooks_.on_begin = [&] {
    if (a_.left == 0 && ++rounds < 1000) return;
    slow.Read();
  };
  leaving.Send("a echo 1\na close\n");
  server_.Run();
  EXPECT_LT(rounds, 1000);
  EXPECT_EQ(leaving.Read(), "stay\n1\nbye\n");
}

}  // namespace
}  // namespace gearstalk
