#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broker/server/server.h"
#include "tests/server/client.h"
#include "tests/server/fake_protocol.h"
#include "tests/support/listening.h"

// A server with real sockets, turned round by round from the test. Nothing sleeps: what is waited
// for is an event, with a generous limit.
namespace gearstalk {

inline constexpr std::chrono::seconds kLimit{120};

class FakeHooks final : public RoundHooks {
 public:
  void BeginRound() override { on_begin(); }
  Time Tick(Time /*now*/) override {
    ++ticks;
    on_tick();
    return next_tick;
  }
  void EndRound(Time /*now*/) override {}
  Lsn Durable() const override {
    ++asked;
    return durable;
  }
  bool Behind() const override { return behind; }

  bool MaySend() const override { return may_send; }
  // Every look at the clock takes `step`.
  Time Fresh() const override { return fresh += step; }

  Lsn durable = 0;
  bool may_send = true;
  bool behind = false;
  Time next_tick = kNever;
  std::function<void()> on_begin = [] {};
  std::function<void()> on_tick = [] {};
  Time step = 0;
  mutable Time fresh = 0;
  int ticks = 0;
  mutable int asked = 0;  // how often somebody had something to send
};

class ServerTest : public ::testing::Test {
 protected:
  // With routers, the test calls StartRouters when it listens wherever it wants to.
  explicit ServerTest(std::size_t routers = 0) {
    if (routers > 0) server_.UseRouters(routers);
    EXPECT_TRUE(Listen("unix:" + path_, {&a_, &b_}).ok());
  }

  Result<std::string> Listen(const std::string& address, std::vector<Protocol*> protocols) {
    auto socket = GS_TRY(OpenOne(ListenAddress::Parse(address).value()));
    return server_.Listen(std::move(socket), std::move(protocols));
  }

  // Returns the port.
  std::uint16_t ListenToTcp() {
    const auto name = Listen("127.0.0.1:0", {&a_, &b_});
    EXPECT_TRUE(name.ok());
    return static_cast<std::uint16_t>(std::stoi(name.value().substr(name.value().find(':') + 1)));
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
  // Time passes, and what is due then is done.
  void Pass(Time by) {
    TurnAll();
    clock_.Advance(by);
    TurnAll();
  }
  // Does all there is to do now.
  void TurnAll() {
    for (int i = 0; i < 20; ++i) server_.Turn(0);
  }
  // Whether a round waits when there is nothing to do. A busy machine only makes it wait longer,
  // and may bring a late event, which ends a wait.
  bool WaitsForEvents() {
    for (int i = 0; i < 10; ++i) {
      const auto before = std::chrono::steady_clock::now();
      server_.Turn(server_.Now() + 20 * kMillisecond);
      if (std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(10)) return true;
    }
    return false;
  }
  // Shows every connection.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (auto next = server_.Next(0); next.peer != nullptr;
         next = server_.Next(next.peer->fd + 1)) {
      visit(*next.peer, next.session);
    }
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
  FakeClock clock_;
  FakeHooks hooks_;
  FakeProtocol a_{'a', FakeProtocol::Answers::kCrLf};
  FakeProtocol b_{'b', FakeProtocol::Answers::kLf};
  Server server_{loop_, clock_, hooks_};
};

}  // namespace gearstalk
