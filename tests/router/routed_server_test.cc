// A server in this process, and the processes that hold its clients' sockets.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

class RoutedServer : public ServerTest {
 protected:
  explicit RoutedServer(std::size_t routers = 2) : ServerTest(routers), port_(ListenToTcp()) {
    EXPECT_TRUE(server_.StartRouters().ok());
  }

  bool Served(Client& client, const std::string& text) {
    client.Send("a echo " + text + "\r\n");
    return Hear(client, text + "\r\n") == text + "\r\n";
  }

  const std::uint16_t port_;
};

TEST_F(RoutedServer, WhileFrozenClientsWait) {
  Client before(path_);
  ASSERT_TRUE(Served(before, "1"));
  server_.Freeze(true);
  Client local(path_), over_tcp(port_);
  before.Send("a echo 2\r\n");
  local.Send("a echo 3\r\n");
  over_tcp.Send("a echo 4\r\n");
  Pass(kSecond);
  EXPECT_EQ(server_.Count(), 1U);
  server_.Freeze(false);
  ExpectHears(before, "2\r\n");
  ExpectHears(local, "3\r\n");
  ExpectHears(over_tcp, "4\r\n");
}

// What a broker does that is isolated from its journal.
TEST_F(RoutedServer, AnIsolatedServerTurnsAwayWhoWasAcceptedMeanwhile) {
  Client before(path_);
  ASSERT_TRUE(Served(before, "1"));
  server_.Freeze(true);
  // Routers accept them, and nobody reads the links.
  Client local(path_), over_tcp(port_);
  ASSERT_TRUE(local.connected() && over_tcp.connected());
  local.Send("a echo 2\r\n");
  server_.CloseAll();
  server_.StopListening();
  EXPECT_TRUE(Ends(before));
  EXPECT_TRUE(Ends(local));
  EXPECT_TRUE(Ends(over_tcp));
  Client turned_away(path_);
  EXPECT_TRUE(Ends(turned_away));
  EXPECT_FALSE(Client(port_).connected());
  EXPECT_EQ(a_.commands, 1);

  ASSERT_TRUE(server_.ListenAgain().ok());
  server_.Freeze(false);
  Client local_again(path_), again(port_);
  EXPECT_TRUE(Served(local_again, "3"));
  EXPECT_TRUE(Served(again, "4"));
}

TEST_F(RoutedServer, WhoIsThereStaysWhileNobodyIsLetIn) {
  Client before(path_);
  ASSERT_TRUE(Served(before, "1"));
  server_.Freeze(true);
  server_.StopListening();
  before.Send("a echo 2\r\n");
  Client turned_away(path_);
  EXPECT_TRUE(Ends(turned_away));
  EXPECT_EQ(a_.commands, 1);
  ASSERT_TRUE(server_.ListenAgain().ok());
  server_.Freeze(false);
  ExpectHears(before, "2\r\n");
}

class OneRouter : public RoutedServer {
 protected:
  OneRouter() : RoutedServer(1) {}

  // The router has reported what it did before it sent the second answer.
  bool Settles(Client& other) { return Served(other, "1") && Served(other, "2"); }
};

TEST_F(OneRouter, AClientThatIsClosedCountsUntilItHasWhatWasSent) {
  Client other(path_);
  Client client(path_);
  std::size_t asked = 0;
  while (server_.routers()->UnderWay() == 0) {
    ASSERT_EQ(client.Send("a big 20000\r\n"), 13U);
    ++asked;
    ASSERT_TRUE(Until([&] { return a_.commands % 3 == 1; }));
    ASSERT_TRUE(Settles(other));
  }
  client.Send("a close\n");
  ASSERT_TRUE(Until([&] { return a_.left == 1; }));
  Pass(kSecond);
  EXPECT_EQ(server_.Count(), 2U);
  EXPECT_TRUE(WaitsForEvents());
  std::string heard;
  EXPECT_TRUE(Until([&] {
    heard += client.Read();
    return client.ended();
  }));
  EXPECT_EQ(heard.size(), asked * 20'001 + 4);
  EXPECT_TRUE(Until([&] { return server_.Count() == 1; }));
}

}  // namespace
}  // namespace gearstalk
