// The limits of the HTTP server, by a clock of the test.

#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "admin/http/server.h"

namespace gearstalk {
namespace {

constexpr std::size_t kTcp = 2, kKept = 16, kSliced = 1;
constexpr std::size_t kPlaces = kTcp + kKept;

HttpBody Sliced(int count) {
  for (; count > 1; --count) {
    std::string slice = "slice";
    slice.resize(100'000);
    co_yield slice;
  }
  co_return "slice";
}

class Site final : public HttpSite {
 public:
  std::size_t MaxBody(const HttpRequest&) override { return 100; }
  bool Probes(const HttpRequest& request) const override { return request.path == "/probe"; }
  HttpAnswer Answer(HttpRequest& request) override {
    ++asked;
    HttpAnswer answer{{.body = body, .lsn = Probes(request) ? 0 : lsn}};
    if (request.path == "/slices") {
      answer.body.clear();
      answer.rest = Sliced(slices);
    }
    return answer;
  }
  HttpAnswer Refuse(int status, const HttpRequest&) override {
    return {{.status = status, .body = "refused " + std::to_string(status)}};
  }

  Lsn lsn = 0;
  int asked = 0;
  int slices = 1;
  std::string body = "answer";
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(0, bind(listener_, reinterpret_cast<sockaddr*>(&address_), size));
    EXPECT_EQ(0, getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size));
    EXPECT_TRUE(server_.Listen(listener_, /*unix=*/false).ok());
  }
  ~HttpServerTest() override {
    for (const int peer : peers_) close(peer);
    close(listener_);
  }

  int Connect(const char* from = "127.0.0.1") {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(0, bind(peer, reinterpret_cast<sockaddr*>(&own), sizeof own));
    EXPECT_EQ(0, connect(peer, reinterpret_cast<sockaddr*>(&address_), sizeof address_));
    peers_.push_back(peer);
    return peer;
  }

  void Send(int peer, std::string_view bytes) {
    EXPECT_EQ(static_cast<ssize_t>(bytes.size()), send(peer, bytes.data(), bytes.size(), 0));
  }
  // The body of all that comes until the connection ends.
  std::string Rest(int peer) {
    std::string text, part(1 << 16, ' ');
    while (true) {
      const ssize_t got = recv(peer, part.data(), part.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) break;
      if (got > 0) text.append(part, 0, static_cast<std::size_t>(got));
      Turn();
    }
    const std::size_t head = text.find("\r\n\r\n");
    return head == std::string::npos ? "" : text.substr(head + 4);
  }
  std::string Ask(const std::string& path) {
    const int peer = Connect();
    Send(peer, "GET " + path + " HTTP/1.0\r\n\r\n");
    return Rest(peer);
  }
  void AwaitEnd(int peer) { Rest(peer); }
  // Whether there are connections that are not accepted yet.
  bool Pending() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(0, getsockopt(listener_, IPPROTO_TCP, TCP_INFO, &info, &size));
    return info.tcpi_unacked > 0;
  }

  void AwaitConnections(std::size_t count) {
    while (server_.connections() != count) Turn();
  }
  void Turn() {
    event_base_loop(base_.get(), EVLOOP_NONBLOCK);
    slices_.Run(now_);
  }
  // Sends a part of a request, which is read: once acknowledged it is there for the next turns.
  void Trickle(int peer) {
    EXPECT_EQ(1, send(peer, "G", 1, 0));
    for (int unacknowledged = 1; unacknowledged > 0; Turn()) {
      EXPECT_EQ(0, ioctl(peer, SIOCOUTQ, &unacknowledged));
    }
    for (int turns = 0; turns < 1000; ++turns) Turn();
  }

  std::unique_ptr<event_base, decltype(&event_base_free)> base_{event_base_new(), event_base_free};
  Time now_ = 1000 * kSecond;
  Site site_;
  SliceQueue slices_;
  HttpServer server_{
      base_.get(),
      site_,
      {.begin_round = [] {}, .now = [this] { return now_; }, .durable = [] { return Lsn{0}; }},
      slices_,
      {.tcp = kTcp, .kept = kKept, .sliced = kSliced}};
  sockaddr_in address_{};
  int listener_;
  std::vector<int> peers_;
};

TEST_F(HttpServerTest, ASilentPeerStaysForAWhile) {
  Connect();
  AwaitConnections(1);
  now_ += 9 * kSecond;
  server_.CloseSilent();
  EXPECT_EQ(1U, server_.connections());
  now_ += 2 * kSecond;
  server_.CloseSilent();
  EXPECT_EQ(0U, server_.connections());
}

TEST_F(HttpServerTest, WhoComesTakesThePlaceOfWhoWaitedLongest) {
  std::vector<int> silent;
  for (std::size_t i = 0; i < kPlaces; ++i) {
    silent.push_back(Connect());
    AwaitConnections(i + 1);
    if (i == 0) Trickle(silent[0]);
    now_ += kMillisecond;
  }
  Trickle(silent[0]);  // a byte now and then gives no longer life
  EXPECT_EQ("answer", Ask("/"));
  AwaitEnd(silent[0]);
  Connect();
  AwaitConnections(kPlaces);
  EXPECT_EQ("answer", Ask("/"));
  AwaitEnd(silent[1]);
}

TEST_F(HttpServerTest, ThousandsOfSilentPeersKeepNobodyOut) {
  std::vector<int> silent;
  for (int i = 0; i < 900; ++i) silent.push_back(Connect());
  EXPECT_EQ("answer", Ask("/"));
}

TEST_F(HttpServerTest, AnAddressWithManyConnectionsLosesThemFirst) {
  const int other = Connect("127.0.0.2");
  AwaitConnections(1);
  now_ += kMillisecond;
  for (std::size_t i = 1; i < 4 * kPlaces; ++i) {
    Connect();
    while (Pending()) Turn();
  }
  Turn();
  Send(other, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ("answer", Rest(other));
}

TEST_F(HttpServerTest, ProbesAreAnsweredWhileAllElseWaits) {
  site_.lsn = 1;
  for (std::size_t i = 0; i < kTcp; ++i) {
    Send(Connect(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    while (site_.asked < static_cast<int>(i + 1)) Turn();
  }
  EXPECT_EQ("refused 503", Ask("/"));
  for (int i = 0; i < 100; ++i) Connect();
  EXPECT_EQ("answer", Ask("/probe"));
  EXPECT_EQ(kTcp + 1, static_cast<std::size_t>(site_.asked));
}

TEST_F(HttpServerTest, WhoDoesNotReadGetsNoFurtherAnswers) {
  site_.body.assign(100'000, 'x');
  const int peer = Connect();
  std::string requests;
  for (int i = 0; i < 500; ++i) requests += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  requests += "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  fcntl(peer, F_SETFL, O_NONBLOCK);
  std::size_t sent = 0, most = 0, taken = 0;
  const auto send_more = [&] {
    const ssize_t more = send(peer, requests.data() + sent, requests.size() - sent, MSG_NOSIGNAL);
    if (more > 0) sent += static_cast<std::size_t>(more);
    Turn();
    most = std::max(most, server_.Bytes());
  };
  for (int i = 0; i < 5000; ++i) send_more();
  EXPECT_LT(site_.asked, 501);
  // All come once they are read.
  std::string part(1 << 16, ' ');
  for (ssize_t got = -1; got != 0; send_more()) {
    got = recv(peer, part.data(), part.size(), 0);
    ASSERT_TRUE(got >= 0 || errno == EAGAIN);
    taken += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  EXPECT_EQ(501, site_.asked);
  EXPECT_GT(taken, 501 * site_.body.size());
  // Less than 64 KB of answers before the last one, and 64 KB of requests.
  EXPECT_LT(most, 2 * 65'536 + site_.body.size() + 1000);
}

TEST_F(HttpServerTest, WhoDoesNotReadKeepsNoSlot) {
  site_.slices = 1 << 20;
  std::vector<int> slow;
  for (std::size_t i = 0; i < kSliced; ++i) {
    slow.push_back(Connect());
    Send(slow.back(), "GET /slices HTTP/1.1\r\nHost: a\r\n\r\n");
    while (site_.asked < static_cast<int>(i + 1)) Turn();
    now_ += kMillisecond;
  }
  site_.slices = 1;
  // Until the kernel takes no more for one of them.
  std::string answer;
  while (answer != "slice") answer = Ask("/slices");
  AwaitConnections(kSliced - 1);
}

TEST_F(HttpServerTest, AnswersThatCannotBecomeDurableAreAbandoned) {
  site_.lsn = 1;
  const std::string_view request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const bool before : {true, false}) {
    if (!before) server_.AbandonHeld(/*for_good=*/true);
    const int asked = site_.asked;
    send(Connect(), request.data(), request.size(), 0);
    while (site_.asked == asked) Turn();
    server_.CloseSilent();
    EXPECT_EQ(before ? 1U : 0U, server_.connections());
  }
}

}  // namespace
}  // namespace gearstalk
