// TLS on real sockets.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/server/server_fixture.h"
#include "tests/server/tls_client.h"
#include "tests/server/tls_fixture.h"

namespace gearstalk {
namespace {

class Secure : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    files_ = std::make_unique<TestCertificates>();
    files_->SelfSigned("server");
    files_->SelfSigned("ca");
    files_->Signed("worker", "ca");
  }
  static void TearDownTestSuite() { files_.reset(); }

  Secure() {
    const auto context =
        TlsContext::Load({.certificate = files_->Path("server.pem"),
                          .key = files_->Path("server.key"),
                          .client_ca = files_->Path("ca.pem"),
                          .client_certificates = TlsFiles::ClientCertificates::kOptional});
    EXPECT_TRUE(context.ok());
    server_.SetTls(context.value());
  }

  // One step of both sides; the client takes no more than `most` bytes from its socket.
  void Carry(Client& socket, TlsClient& tls, std::size_t most = SIZE_MAX) {
    waiting_ += tls.Outgoing(1 << 20);
    waiting_.erase(0, socket.Send(waiting_));
    server_.Turn(server_.Now() + kMillisecond);
    tls.Take(socket.Read(most));
  }
  // What the client hears, at least `size` bytes of it unless it ends.
  std::string HearSecurely(Client& socket, TlsClient& tls, std::size_t size,
                           std::size_t most = SIZE_MAX) {
    std::string heard;
    EXPECT_TRUE(Until([&] {
      Carry(socket, tls, most);
      heard += tls.Hear();
      return heard.size() >= size || socket.ended();
    }));
    return heard;
  }

  static inline std::unique_ptr<TestCertificates> files_;
  std::string waiting_;
};

TEST_F(Secure, AndPlainShareAnAddress) {
  Client plain(path_), socket(path_);
  TlsClient tls;
  plain.Send("a echo 1\n");
  ExpectHears(plain, "1\n");
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a echo 2\nB echo 3\n");
  EXPECT_EQ(HearSecurely(socket, tls, 4), "2\n3\n");
  EXPECT_EQ(server_.Count(), 2U);
}

TEST_F(Secure, KnowsItsPeersName) {
  Client socket(path_);
  TlsClient tls(TLS1_3_VERSION, files_->Path("worker.pem"), files_->Path("worker.key"));
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a echo 1\n");
  EXPECT_EQ(HearSecurely(socket, tls, 2), "1\n");
  ForEach([](const Peer& peer, const Session*) { EXPECT_EQ(peer.certificate, "worker"); });
}

TEST_F(Secure, RightsComeWithTheName) {
  const std::vector<std::string> lines = {"cert=worker consume", "* produce"};
  server_.SetAccess(AccessRules::Parse(lines).value());
  Client plain(path_), socket(path_);
  TlsClient tls(TLS1_3_VERSION, files_->Path("worker.pem"), files_->Path("worker.key"));
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open() && server_.Count() == 2;
  }));
  tls.Say("a echo 1\n");
  EXPECT_EQ(HearSecurely(socket, tls, 2), "1\n");
  ForEach([](const Peer& peer, const Session*) {
    ASSERT_NE(peer.access, nullptr);
    EXPECT_EQ(peer.access->AllowsAll(right::kConsume), peer.certificate == "worker");
  });
  server_.SetAccess({});
  ForEach([](const Peer& peer, const Session*) { EXPECT_EQ(peer.access, nullptr); });
}

TEST_F(Secure, CarriesABodyIntoItsPlace) {
  Client socket(path_);
  TlsClient tls;
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a body 300000\n");
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return a_.commands == 1;
  }));
  tls.Say(std::string(300'000, 'b') + "a echo 1\n");
  EXPECT_EQ(HearSecurely(socket, tls, 16), "body 300000 b\n1\n");
}

TEST_F(Secure, BearsASlowReader) {
  Client socket(path_);
  TlsClient tls;
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a big 3000000\na close\n");
  const std::string heard = HearSecurely(socket, tls, SIZE_MAX, 20'000);
  EXPECT_EQ(heard.size(), 3'000'001U + 4);
  EXPECT_TRUE(heard.ends_with("x\nbye\n"));
  EXPECT_TRUE(tls.told_the_end());
}

TEST_F(Secure, HoldsRepliesUntilTheyAreDurable) {
  Client socket(path_);
  TlsClient tls;
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a echo 1\na hold 5\n");
  EXPECT_EQ(HearSecurely(socket, tls, 2), "1\n");
  for (int i = 0; i < 20; ++i) Carry(socket, tls);
  EXPECT_EQ(tls.Hear(), "");
  hooks_.durable = 5;
  server_.OnDurable();
  EXPECT_EQ(HearSecurely(socket, tls, 7), "held 5\n");
}

TEST_F(Secure, AnswersWhoSaysHisEnd) {
  Client socket(path_);
  TlsClient tls;
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a echo 1\na wait\n");
  tls.Close();
  EXPECT_EQ(HearSecurely(socket, tls, SIZE_MAX), "1\nend\n");
  EXPECT_EQ(server_.Count(), 0U);
}

TEST_F(Secure, HandshakesHaveTheirTime) {
  server_.SetLimits({.handshake_timeout = 20 * kSecond});
  Client half(path_);
  half.Send("\x16\x03\x01");
  Pass(19 * kSecond);
  EXPECT_EQ(server_.Count(), 1U);
  Pass(2 * kSecond);
  EXPECT_TRUE(Ends(half));
  EXPECT_EQ(server_.refusals().of(Refusal::kHandshakeTimeout), 1U);
}

TEST_F(Secure, HalfAHelloCostsWhatWasSent) {
  server_.SetLimits({.handshake_timeout = 20 * kSecond});
  TlsClient tls;
  const std::string hello = tls.Outgoing(1 << 20);
  Client slow(path_), ended(path_);
  ended.Send(hello.substr(0, 20));
  ended.HalfClose();
  EXPECT_TRUE(Ends(ended));
  for (const char byte : hello) {
    slow.Send({&byte, 1});
    server_.Turn(0);
  }
  ASSERT_TRUE(Until([&] {
    Carry(slow, tls);
    return tls.open();
  }));
  tls.Say("a echo 1\n");
  EXPECT_EQ(HearSecurely(slow, tls, 2), "1\n");
}

TEST_F(Secure, AReloadMayEndTlsInTheMiddleOfAHello) {
  TlsClient tls;
  const std::string hello = tls.Outgoing(1 << 20);
  Client client(path_);
  client.Send(hello.substr(0, 20));
  ASSERT_TRUE(Until([&] { return server_.received_bytes() == 20; }));
  server_.SetTls(nullptr);
  client.Send(hello.substr(20));
  EXPECT_TRUE(Ends(client));
}

// The server has to answer each request for a new key.
TEST_F(Secure, AnswersToKeyRequestsAreBounded) {
  server_.SetLimits({.output = 64 * 1024});
  Client socket(path_);
  TlsClient tls;
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  std::string requests;
  for (int turns = 0; turns < 10'000 && server_.stalled() == 0; ++turns) {
    for (int i = 0; requests.empty() && i < TlsStream::kMaxRekeys / 2; ++i) tls.Rekey();
    requests += tls.Outgoing(1 << 20);
    requests.erase(0, socket.Send(requests));
    server_.Turn(0);
  }
  ASSERT_EQ(server_.stalled(), 1U);
  tls.Say("a echo 1\n");
  waiting_ = requests;
  EXPECT_EQ(HearSecurely(socket, tls, 2), "1\n");
  EXPECT_EQ(server_.stalled(), 0U);
}

TEST_F(Secure, ARoundHasFewHandshakes) {
  constexpr std::size_t kClients = 20;
  std::vector<std::unique_ptr<Client>> sockets;
  std::vector<std::unique_ptr<TlsClient>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    sockets.push_back(std::make_unique<Client>(path_));
    server_.Turn(0);
  }
  ASSERT_TRUE(Until([&] { return server_.Count() == kClients; }));
  for (const auto& socket : sockets) {
    clients.push_back(std::make_unique<TlsClient>());
    socket->Send(clients.back()->Outgoing(1 << 20));
  }
  const auto answered = [&] {
    server_.Turn(0);
    int count = 0;
    for (std::size_t i = 0; i < kClients; ++i) {
      const std::string answer = sockets[i]->Read();
      count += !answer.empty();
      clients[i]->Take(answer);
    }
    return count;
  };
  EXPECT_LE(answered(), Server::kRoundHandshakes);
  // Slow ones are done one by one.
  hooks_.step = Server::kHandshakeTime;
  EXPECT_EQ(answered(), 1);
  EXPECT_EQ(answered(), 1);
  hooks_.step = 0;
  for (std::size_t i = 0; i < kClients; ++i) {
    ASSERT_TRUE(Until([&] {
      Carry(*sockets[i], *clients[i]);
      return clients[i]->open();
    }));
  }
}

TEST_F(Secure, OnlyWhereItIsRequired) {
  const std::string path = path_ + "-tls";
  ASSERT_TRUE(Listen("unix:" + path + ",tls=required", {&a_}).ok());
  Client plain(path), socket(path);
  TlsClient tls;
  plain.Send("a echo 1\n");
  EXPECT_EQ(Hear(plain, "?"), "");
  EXPECT_EQ(server_.refusals().of(Refusal::kTls), 1U);
  ASSERT_TRUE(Until([&] {
    Carry(socket, tls);
    return tls.open();
  }));
  tls.Say("a echo 1\n");
  EXPECT_EQ(HearSecurely(socket, tls, 2), "1\n");
}

TEST_F(Secure, NothingIsTakenForAHandshakeWithoutACertificate) {
  server_.SetTls(nullptr);
  Client client(path_);
  client.Send("\x16\n");
  ExpectHears(client, "b?\x16\n");
  const auto refused = Listen("unix:" + path_ + "-tls,tls=required", {&a_});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "listen address 'unix:" + path_ + "-tls': tls=required needs tls.certificate");
}

}  // namespace
}  // namespace gearstalk
