// All that serves is dropped, with whoever is connected, and made anew beside the same loop.

#include "broker/app/serving.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/app/sockets.h"
#include "broker/journal/memory_journal.h"
#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class Became final : public JournalEvents {
 public:
  explicit Became(std::function<void()> active) : active_(std::move(active)) {}
  void OnReplaying(const ReplayProgress&) override {}
  void OnFollowing(bool) override {}
  void OnActive() override { active_(); }
  void OnServing() override { serving = true; }
  void OnSuspended(bool /*isolated*/) override {}
  void OnResumed() override {}
  void OnOver(Status /*why*/, int /*exit_code*/) override {}

  bool serving = false;

 private:
  std::function<void()> active_;
};

class NoBroker final : public BrokerControl {
 public:
  std::string WhyNotReady(bool /*as_standby*/) const override { return ""; }
  std::string WhyNotStarted() const override { return ""; }
  NoActs WhyNoActs() const override { return {}; }
  void SetDraining(bool /*draining*/, std::string_view /*asked_by*/) override {}
  void StepDown() override {}
  void Shutdown(bool /*graceful*/, const Peer& /*peer*/) override {}
};

class ServingTest : public ::testing::Test {
 protected:
  // With a journal of its own, listening.
  void Make() {
    serving_ = std::make_unique<Serving>(config_, clock_, loop_, *journal_, broker_);
    const auto active = [this] { serving_->engine().records().BecomeActive(clock_.Now()); };
    events_ = std::make_unique<Became>(active);
    ASSERT_TRUE(journal_->Start(serving_->engine().records(), *events_).ok());
    ASSERT_TRUE(events_->serving);
    const auto address = ListenAddress::Parse("unix:" + path_);
    ASSERT_TRUE(address.ok());
    auto socket = OpenOne(address.value());
    ASSERT_TRUE(socket.ok()) << socket.status().message();
    std::vector<std::unique_ptr<ListenSocket>> sockets;
    sockets.push_back(std::move(socket.value()));
    ASSERT_TRUE(serving_->Listen(std::move(sockets)).ok());
  }

  void Drop() {
    serving_.reset();
    journal_ = std::make_unique<MemoryJournal>();
  }

  std::string Ask(Client& client, std::string_view question, std::string_view end) {
    client.Send(question);
    std::string heard;
    const auto limit = std::chrono::steady_clock::now() + kLimit;
    while (!heard.ends_with(end) && std::chrono::steady_clock::now() < limit) {
      serving_->server().Turn(clock_.Now() + kMillisecond);
      heard += client.Read();
    }
    return heard;
  }

  const std::string path_ = ::testing::TempDir() + "gs-serving-" + std::to_string(getpid());
  Config config_;
  SystemClock clock_;
  EventLoop loop_;
  NoBroker broker_;
  std::unique_ptr<MemoryJournal> journal_ = std::make_unique<MemoryJournal>();
  std::unique_ptr<Became> events_;
  std::unique_ptr<Serving> serving_;
};

TEST_F(ServingTest, IsDroppedWithItsConnectionsAndMadeAnew) {
  Make();
  Client holder(path_), waits(path_), worker(path_);
  EXPECT_EQ(Ask(holder, "put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\n", "INSERTED 2\r\n"),
            "INSERTED 1\r\nINSERTED 2\r\n");
  EXPECT_EQ(Ask(holder, "reserve\r\n", "a\r\n"), "RESERVED 1 1\r\na\r\n");
  EXPECT_EQ(Ask(waits, "watch idle\r\nignore default\r\nreserve\r\n", "WATCHING 1\r\n"),
            "WATCHING 2\r\nWATCHING 1\r\n");
  EXPECT_EQ(Ask(worker, "status\n", ".\n"), "default\t2\t1\t1\nidle\t0\t0\t1\n.\n");

  Drop();
  for (Client* client : {&holder, &waits, &worker}) {
    EXPECT_EQ(client->Read(), "");
    EXPECT_TRUE(client->ended());
  }

  Make();
  Client anew(path_);
  EXPECT_EQ(Ask(anew, "peek 2\r\n", "\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(Ask(anew, "put 0 0 60 1\r\nc\r\n", "\r\n"), "INSERTED 1\r\n");
}

TEST_F(ServingTest, IsDroppedBeforeItHasListened) {
  { const Serving unused(config_, clock_, loop_, *journal_, broker_); }
  Make();
  Client client(path_);
  EXPECT_EQ(Ask(client, "use a\r\n", "\r\n"), "USING a\r\n");
}

TEST(RoutersOf, LeaveOneCpuToTheBroker) {
  Config config;
  EXPECT_EQ(RoutersOf(config, 64), 0U) << "nobody asked for them";
  config.routers = 3;
  EXPECT_EQ(RoutersOf(config, 1), 3U);
  config.routers = Config::kAutoRouters;
  const std::vector<std::size_t> of_cpus = {0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 8};
  for (std::size_t cpus = 1; cpus < of_cpus.size(); ++cpus) {
    EXPECT_EQ(RoutersOf(config, cpus), of_cpus[cpus]) << cpus;
  }
}

}  // namespace
}  // namespace gearstalk
