// The limits of the HTTP server, by a clock of the test.

#include <event2/event.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/http/server.h"

namespace gearstalk {
namespace {

class Site final : public HttpSite {
 public:
  std::size_t MaxBody(const HttpRequest&) override { return 100; }
  HttpAnswer Answer(HttpRequest&) override {
    ++asked;
    return {.body = "answer", .lsn = lsn};
  }
  HttpAnswer Refuse(int status, const HttpRequest&) override { return {.status = status}; }

  Lsn lsn = 0;
  int asked = 0;
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

  int Connect() {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(0, connect(peer, reinterpret_cast<sockaddr*>(&address_), sizeof address_));
    peers_.push_back(peer);
    return peer;
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
      {.tcp = 2}};
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

TEST_F(HttpServerTest, WhileOthersWaitNobodyMayBeSilentForLong) {
  for (int peer = 0; peer < 5; ++peer) Connect();
  AwaitConnections(2);
  now_ += kSecond / 4;
  server_.CloseSilent();
  EXPECT_EQ(2U, server_.connections());
  now_ += kSecond / 2;
  server_.CloseSilent();
  EXPECT_EQ(0U, server_.connections());
  AwaitConnections(2);
}

TEST_F(HttpServerTest, WhileOthersWaitARequestHasToComeSoon) {
  const int peer = Connect();
  AwaitConnections(1);
  Connect();
  AwaitConnections(2);
  for (int step = 0; step < 10; ++step) {
    Trickle(peer);
    now_ += 400 * kMillisecond;
  }
  server_.CloseSilent();
  EXPECT_EQ(1U, server_.connections());  // the other one said nothing at all
  const int late = Connect();
  AwaitConnections(2);
  for (int step = 0; step < 4; ++step) {
    Trickle(peer);
    Trickle(late);
    now_ += 400 * kMillisecond;
  }
  server_.CloseSilent();
  EXPECT_EQ(1U, server_.connections());
}

TEST_F(HttpServerTest, AnswersThatCannotBecomeDurableAreAbandoned) {
  site_.lsn = 1;
  const std::string_view request = "GET / HTTP/1.1\r\n\r\n";
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
