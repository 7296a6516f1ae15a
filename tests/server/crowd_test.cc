#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

// As many as are sent to in one round, and some that have something to hear as well.
class CrowdTest : public ServerTest {
 protected:
  CrowdTest() {
    for (std::size_t i = 0; i < Server::kRoundFlushes + 10; ++i) {
      clients_.push_back(std::make_unique<Client>(path_));
      clients_.back()->Send("a hold 5\n");
      server_.Turn(0);
    }
    EXPECT_TRUE(Until([this] { return a_.commands == static_cast<int>(clients_.size()); }));
    hooks_.durable = 5;
    server_.OnDurable();
  }
  std::size_t Hearing() {
    for (const auto& client : clients_) heard_ += client->Read() == "held 5\n";
    return heard_;
  }

  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t heard_ = 0;
};

TEST_F(CrowdTest, IsSentToInSeveralRounds) {
  server_.Turn(0);
  EXPECT_EQ(Hearing(), Server::kRoundFlushes);
  server_.Turn(kNever);
  EXPECT_EQ(Hearing(), clients_.size());
}

TEST_F(CrowdTest, NobodyRunsMoreWhileMuchWaitsForItsTurn) {
  Client& last = *clients_.back();
  const int before = a_.commands;
  last.Send("a big 2000000\n");
  server_.Turn(0);
  EXPECT_EQ(a_.commands - before, 1);
  last.Send("a echo 1\n");
  server_.Turn(0);
  EXPECT_EQ(a_.commands - before, 1);
  ASSERT_TRUE(Until([&] { return last.Read().ends_with("1\n"); }));
}

}  // namespace
}  // namespace gearstalk
