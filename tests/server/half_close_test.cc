// Peers that have sent everything, and still listen.

#include <gtest/gtest.h>

#include <string>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class HalfClose : public ServerTest {
 protected:
  static constexpr int kEchoes = 400;
  static constexpr std::size_t kEchoSize = 1000;

  // More than the server reads from a peer it does not run: a part stays in the socket.
  void SendMuch(Client& client) {
    const std::string line = "a echo " + std::string(kEchoSize - 1, 'x') + "\n";
    std::string lines;
    for (int i = 0; i < kEchoes; ++i) lines += line;
    std::size_t sent = 0;
    for (int idle = 0; sent < lines.size() && idle < 20; ++idle) {
      const std::size_t now = client.Send(std::string_view(lines).substr(sent));
      sent += now;
      if (now > 0) idle = 0;
      server_.Turn(0);
    }
    ASSERT_GT(sent, server_.received_bytes());
    echoes_ = sent / line.size();
  }
  std::string All(Client& client) {
    std::string heard;
    EXPECT_TRUE(Until([&] {
      heard += client.Read();
      return client.ended();
    }));
    return heard;
  }

  std::size_t echoes_ = 0;  // whole ones that were sent
};

TEST_F(HalfClose, GetsItsAnswers) {
  Client client(path_);
  client.Send("a echo 1\na slow 3\na wait\na echo 2\nx");
  client.HalfClose();
  EXPECT_EQ(All(client), "1\nslow\nend\n2\n");
  EXPECT_EQ(server_.Count(), 0U);
}

TEST_F(HalfClose, WaitsForTheJournal) {
  Client client(path_);
  client.Send("a hold 5\n");
  client.HalfClose();
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  EXPECT_EQ(server_.Count(), 1U);
  hooks_.durable = 5;
  server_.OnDurable();
  EXPECT_EQ(All(client), "held 5\n");
}

TEST_F(HalfClose, IsReadToTheEndBehindAWait) {
  Client client(path_);
  client.Send("a wait\n");
  SendMuch(client);
  client.HalfClose();
  const std::string heard = All(client);
  EXPECT_TRUE(heard.starts_with("end\nxxx"));
  EXPECT_EQ(heard.size(), 4 + echoes_ * kEchoSize);
  EXPECT_EQ(server_.Count(), 0U);
}

TEST_F(HalfClose, IsReadToTheEndWhenItDidNotReadItself) {
  Client client(path_);
  client.Send("a big 4000000\na wait\n");
  ASSERT_TRUE(Until([&] { return a_.commands >= 1; }));
  SendMuch(client);
  client.HalfClose();
  TurnAll();
  const std::string heard = All(client);
  EXPECT_EQ(heard.size(), 4'000'001 + 4 + echoes_ * kEchoSize);
  EXPECT_EQ(heard.substr(4'000'001, 7), "end\nxxx");
}

TEST_F(HalfClose, DoesNotTurnTheLoopInVain) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  SendMuch(client);
  client.HalfClose();
  TurnAll();
  EXPECT_TRUE(WaitsForEvents());
}

TEST_F(HalfClose, MayNotReadAtAll) {
  Client client(path_);
  client.Send("a wait\n");
  SendMuch(client);
  client.Close();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
}

}  // namespace
}  // namespace gearstalk
