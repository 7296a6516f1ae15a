// Peers that go away while nothing is read from them.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class HangUp : public ServerTest {
 protected:
  // More than is read from a session that waits: reading pauses.
  void SendTooMuch(Client& client) {
    const std::string much(200'000, 'x');
    std::size_t sent = 0;
    for (int i = 0; i < 100; ++i) {
      sent += client.Send(std::string_view(much).substr(sent));
      server_.Turn(0);
    }
  }

  const std::uint16_t port_ = ListenToTcp();
};

TEST_F(HangUp, AResetEndsAWait) {
  Client client(port_);
  client.Send("a wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  SendTooMuch(client);
  client.Reset();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(HangUp, ManyResetsEndAsManyWaits) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<Client>(port_));
    clients.back()->Send("a wait\n");
    ASSERT_TRUE(Until([&] { return a_.commands == i + 1; }));
    SendTooMuch(*clients.back());
  }
  for (const auto& client : clients) client->Reset();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(HangUp, AResetOfAConnectionThatWaitsForTheJournalDoesNotTurnTheLoop) {
  hooks_.behind = true;
  Client client(port_);
  client.Send("a hold 5\n");
  ASSERT_TRUE(Until([&] { return server_.stalled() == 1; }));
  client.Reset();
  TurnAll();
  EXPECT_TRUE(WaitsForEvents());
  hooks_.durable = 5;
  server_.OnDurable();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

TEST_F(HangUp, WhatWasSentBeforeCounts) {
  Client client(port_);
  client.Send("a wait\na echo 1\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  SendTooMuch(client);
  client.Reset();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
  EXPECT_EQ(a_.commands, 2);
}

}  // namespace
}  // namespace gearstalk
