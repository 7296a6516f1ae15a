// The server with real sockets, turned round by round from the test. Nothing here sleeps: what is
// waited for is an event, with a generous limit.

#include "broker/server/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/server/fake_protocol.h"

namespace gearstalk {
namespace {

constexpr std::chrono::seconds kLimit{20};

class FakeWork final : public Work {
 public:
  Time Tick(Time /*now*/) override { return kNever; }
  void EndRound(Time /*now*/) override { ++rounds; }
  Lsn Durable() const override {
    ++asked;
    return durable;
  }
  bool Behind() const override { return behind; }

  Lsn durable = 0;
  bool behind = false;
  int rounds = 0;
  mutable int asked = 0;  // how often somebody had something to send
};

// The other end of a connection; never blocks.
class Client {
 public:
  explicit Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { Close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  bool ended() const { return ended_; }
  int fd() const { return fd_; }

  // Returns how much the socket took.
  std::size_t Send(std::string_view bytes) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  void HalfClose() { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  // Reads what is there, `most` bytes at most.
  std::string Read(std::size_t most = SIZE_MAX) {
    std::string all;
    std::vector<char> buffer(65536);
    while (all.size() < most) {
      const ssize_t got = recv(fd_, buffer.data(), std::min(buffer.size(), most - all.size()), 0);
      ended_ = ended_ || got == 0;
      if (got <= 0) break;
      all.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return all;
  }

 private:
  int fd_;
  bool connected_ = false;
  bool ended_ = false;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    spdlog::set_level(spdlog::level::off);
    const auto address = ListenAddress::Parse("unix:" + path_);
    const auto name = server_.Listen(address.value(), {&a_, &b_});
    EXPECT_TRUE(name.ok());
  }

  // Turns until `done`; false if that never comes.
  template <typename Done>
  bool Until(Done done) {
    const auto limit = std::chrono::steady_clock::now() + kLimit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      server_.Turn(server_.Now() + 10 * kMillisecond);
    }
    return true;
  }
  // Does all there is to do now.
  void TurnAll() {
    for (int i = 0; i < 20; ++i) server_.Turn(0);
  }
  // Turns until the client has heard as much as `expected`, and returns that.
  std::string Hear(Client& client, std::string_view expected) {
    std::string heard;
    Until([&] {
      heard += client.Read();
      return heard.size() >= expected.size() || client.ended();
    });
    return heard;
  }
  void ExpectHears(Client& client, std::string_view expected) {
    EXPECT_EQ(Hear(client, expected), expected);
  }
  bool Ends(Client& client) {
    return Until([&] {
      client.Read();
      return client.ended();
    });
  }

  const std::string path_ = ::testing::TempDir() + "gs-server-" + std::to_string(getpid());
  EventLoop loop_;
  SystemClock clock_;
  FakeWork work_;
  FakeProtocol a_{'a', FakeProtocol::Answers::kCrLf};
  FakeProtocol b_{'b', FakeProtocol::Answers::kLf};
  Server server_{loop_, clock_, work_};
};

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
  Connection connection(server_, Peer{pair[0], "unix", true}, std::vector<Protocol*>{&a_});
  send(pair[1], "a echo 1\na big 5000\na echo 2\n", 29, 0);
  connection.OnReadable();
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
  work_.durable = 4;
  server_.OnDurable();
  TurnAll();
  EXPECT_EQ(client.Read(), "");
  work_.durable = 5;
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
  work_.durable = 5;
  server_.OnDurable();
  ExpectHears(one, "held 5\n");
}

TEST_F(ServerTest, GatesOpenOneByOne) {
  Client client(path_);
  client.Send("a hold 1\na hold 2\na hold 3\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 3; }));
  for (Lsn lsn = 1; lsn <= 3; ++lsn) {
    work_.durable = lsn;
    server_.OnDurable();
    TurnAll();
    EXPECT_EQ(client.Read(), "held " + std::to_string(lsn) + "\n");
  }
}

TEST_F(ServerTest, DoesNotReadForTheJournalWhenItIsFarBehind) {
  work_.behind = true;
  Client client(path_);
  client.Send("a hold 5\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  client.Send("a echo 1\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 1);
  work_.durable = 5;
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
  const int asked = work_.asked;
  TurnAll();
  EXPECT_EQ(work_.asked, asked);
  work_.durable = 5;
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

TEST_F(ServerTest, AHalfClosedPeerGetsItsAnswers) {
  Client client(path_);
  client.Send("a echo 1\na slow 3\na wait\na echo 2\nx");
  client.HalfClose();
  EXPECT_EQ(Hear(client, std::string(100, ' ')), "1\nslow\nend\n2\n");
  EXPECT_TRUE(Ends(client));
  EXPECT_EQ(server_.Count(), 0U);
}

TEST_F(ServerTest, AHalfClosedPeerWaitsForTheJournal) {
  Client client(path_);
  client.Send("a hold 5\n");
  client.HalfClose();
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  EXPECT_EQ(server_.Count(), 1U);
  work_.durable = 5;
  server_.OnDurable();
  EXPECT_EQ(Hear(client, std::string(100, ' ')), "held 5\n");
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

TEST_F(ServerTest, ASlowReaderStallsAndGoesOn) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  client.Send("a echo 1\na echo 2\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 1);
  EXPECT_EQ(server_.received_bytes(), 14U);
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += client.Read(50'000);
    return heard.size() >= 4'000'001 + 4;
  }));
  EXPECT_TRUE(heard.ends_with("x\n1\n2\n"));
}

TEST_F(ServerTest, RunsNoMoreCommandsForASlowReader) {
  Client client(path_);
  std::string commands;
  for (int i = 0; i < 100; ++i) commands += "a big 1000000\n";
  client.Send(commands);
  TurnAll();
  EXPECT_LT(a_.commands, 5);
  std::size_t heard = 0;
  ASSERT_TRUE(Until([&] {
    heard += client.Read().size();
    return heard == 100 * 1'000'001;
  }));
  EXPECT_EQ(a_.commands, 100);
}

TEST_F(ServerTest, ASlowReaderKeepsNobodyElse) {
  Client slow(path_), other(path_);
  slow.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  other.Send("a echo 1\n");
  ExpectHears(other, "1\n");
}

TEST_F(ServerTest, AStalledPeerMayLeave) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  client.Send("a echo 1\n");
  client.Close();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(ServerTest, AStalledPeerMayHalfClose) {
  Client client(path_);
  client.Send("a big 4000000\na echo 1\n");
  client.HalfClose();
  TurnAll();
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += client.Read();
    return client.ended();
  }));
  EXPECT_EQ(heard.size(), 4'000'001U + 2);
  EXPECT_EQ(server_.Count(), 0U);
}

TEST_F(ServerTest, AHopelessReaderIsCutOff) {
  server_.set_hopeless_output(5'000'000);
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  EXPECT_EQ(server_.Count(), 1U);
  Client greedy(path_);
  greedy.Send("a big 9000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 2; }));
  EXPECT_TRUE(Ends(greedy));
  EXPECT_EQ(server_.Count(), 1U);
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
  server_.ForEach([&](const Peer& peer, const Session* session) {
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
  ASSERT_TRUE(server_.Listen(ListenAddress::Parse("unix:" + second).value(), {&b_}).ok());
  Client both(path_), only_b(second);
  both.Send("a echo 1\n");
  only_b.Send("a echo 2\n");
  ExpectHears(both, "1\n");
  ExpectHears(only_b, "b?a echo 2\n");
}

TEST_F(ServerTest, SpeaksTcp) {
  const auto name = server_.Listen(ListenAddress::Parse("127.0.0.1:0").value(), {&a_, &b_});
  ASSERT_TRUE(name.ok());
  EXPECT_TRUE(name.value().starts_with("127.0.0.1:"));
  EXPECT_FALSE(server_.Listen(ListenAddress::Parse(name.value()).value(), {&a_}).ok());
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

// Leaves the process `free` descriptors for the time being.
class FewDescriptors {
 public:
  explicit FewDescriptors(unsigned free) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(lowest) + free;
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ServerTest, PausesWhenDescriptorsRunOut) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    clients.back()->Send("a echo " + std::to_string(i) + "\n");
  }
  // A sanitizer takes descriptors of its own when it sees a logger for the first time.
  spdlog::warn("not shown");
  const FewDescriptors few(2);
  ExpectHears(*clients[0], "0\n");
  ExpectHears(*clients[1], "1\n");
  TurnAll();
  EXPECT_EQ(server_.Count(), 2U);
  EXPECT_EQ(clients[2]->Read(), "");
  // Without its own end and the server's, there is room for those that wait.
  clients[0]->Close();
  clients[1]->Close();
  ExpectHears(*clients[2], "2\n");
  ExpectHears(*clients[3], "3\n");
  EXPECT_EQ(server_.Count(), 2U);
}

}  // namespace
}  // namespace gearstalk
