// Peers that do not take what they are sent.

#include <gtest/gtest.h>

#include <string>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

using SlowReader = ServerTest;

TEST_F(SlowReader, StallsAndGoesOn) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  client.Send("a echo 1\na echo 2\n");
  TurnAll();
  EXPECT_EQ(a_.commands, 1);
  EXPECT_EQ(server_.stalls(), 1U);
  EXPECT_EQ(server_.stalled(), 1U);
  EXPECT_EQ(server_.received_bytes(), 14U);
  std::string heard;
  ASSERT_TRUE(Until([&] {
    heard += client.Read(50'000);
    return heard.size() >= 4'000'001 + 4;
  }));
  EXPECT_TRUE(heard.ends_with("x\n1\n2\n"));
  EXPECT_EQ(server_.stalls(), 1U);
  EXPECT_EQ(server_.stalled(), 0U);
}

TEST_F(SlowReader, GetsNoMoreCommandsRun) {
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

TEST_F(SlowReader, KeepsNobodyElse) {
  Client slow(path_), other(path_);
  slow.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  other.Send("a echo 1\n");
  ExpectHears(other, "1\n");
}

TEST_F(SlowReader, MayLeave) {
  Client client(path_);
  client.Send("a big 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  client.Send("a echo 1\n");
  EXPECT_EQ(server_.stalled(), 1U);
  client.Close();
  EXPECT_TRUE(Until([&] { return server_.Count() == 0; }));
  EXPECT_EQ(server_.stalled(), 0U);
}

TEST_F(SlowReader, MayHalfClose) {
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

TEST_F(SlowReader, IsCutOffWhenItLeavesTooMuchOfOthersUnread) {
  server_.set_most_unread_output(5'000'000);
  Client client(path_);
  client.Send("a others 4000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 1; }));
  TurnAll();
  EXPECT_EQ(server_.Count(), 1U);
  Client greedy(path_);
  greedy.Send("a others 9000000\n");
  ASSERT_TRUE(Until([&] { return a_.commands == 2; }));
  EXPECT_TRUE(Ends(greedy));
  EXPECT_EQ(server_.Count(), 1U);
}

TEST_F(SlowReader, GetsALongAnswerOfItsOwn) {
  server_.set_most_unread_output(1'000'000);
  Client client(path_);
  client.Send("a big 9000000\n");
  std::size_t heard = 0;
  ASSERT_TRUE(Until([&] {
    heard += client.Read(50'000).size();
    return heard == 9'000'001 || client.ended();
  }));
  EXPECT_EQ(heard, 9'000'001U);
}

}  // namespace
}  // namespace gearstalk
