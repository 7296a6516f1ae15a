// Which messages the protocol claims, and how a session keeps to the scope it is given.

#include <gtest/gtest.h>

#include <string>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

TEST(Sniff, NulIsGearman) {
  World world;
  EXPECT_EQ(world.protocol.Sniff("\0"s), Claim::kYes);
  EXPECT_EQ(world.protocol.Sniff("\0REQ"s), Claim::kYes);
}

TEST(Sniff, EveryAdminWordIsOneMessage) {
  World world;
  for (std::string word :
       {"workers", "status", "prioritystatus", "show", "cancel", "create", "drop", "maxqueue",
        "version", "getpid", "verbose", "shutdown", "Status", "WORKERS"}) {
    for (const std::string& end : {"\n"s, "\r\n"s, " x\n"s, "\r"s, " "s}) {
      EXPECT_EQ(world.protocol.Sniff(word + end), Claim::kOneMessage) << word;
    }
    for (std::size_t size = 1; size <= word.size(); ++size) {
      EXPECT_EQ(world.protocol.Sniff(word.substr(0, size)), Claim::kMaybe) << word << size;
    }
    EXPECT_EQ(world.protocol.Sniff(word + "x\n"), Claim::kNo) << word;
    EXPECT_EQ(world.protocol.Sniff(word + "\t\n"), Claim::kNo) << word;
  }
}

TEST(Sniff, BeanstalkWordsAreNot) {
  World world;
  for (std::string_view line : {"put 1 2 3 4\r\n", "stats\r\n", "stats-tube x\r\n", "reserve\r\n",
                                "watch x\r\n", "\r\n", "\n", " status\n", "quit\r\n", "x"}) {
    EXPECT_EQ(world.protocol.Sniff(line), Claim::kNo) << line;
  }
  EXPECT_EQ(world.protocol.Sniff("stat"), Claim::kMaybe);
  EXPECT_EQ(world.protocol.Sniff(std::string(100'000, 's')), Claim::kNo);
}

TEST(SniffUnknown, BareLfIsOurs) {
  World world;
  EXPECT_EQ(world.protocol.SniffUnknown("jobs\n"), Claim::kOneMessage);
  EXPECT_EQ(world.protocol.SniffUnknown("\n"), Claim::kOneMessage);
  EXPECT_EQ(world.protocol.SniffUnknown("jobs\nmore\r\n"), Claim::kOneMessage);
  EXPECT_EQ(world.protocol.SniffUnknown("jobs\r\n"), Claim::kNo);
  EXPECT_EQ(world.protocol.SniffUnknown("jobs"), Claim::kMaybe);
  EXPECT_EQ(world.protocol.SniffUnknown("jobs\r"), Claim::kMaybe);
  EXPECT_EQ(world.protocol.SniffUnknown(std::string(8191, 'x')), Claim::kMaybe);
  EXPECT_EQ(world.protocol.SniffUnknown(std::string(8192, 'x')), Claim::kNo);
}

TEST(Scope, OneMessageIsOneMessage) {
  World world;
  Connection& connection = world.Connect();
  EXPECT_EQ(connection.Say("version\nversion\nput", gearstalk::Session::Scope::kOneMessage),
            "OK 1.2.3\n");
  EXPECT_EQ(connection.next(), Next::kBytes);
  EXPECT_EQ(connection.unused(), 11U);
  EXPECT_EQ(connection.Say("", gearstalk::Session::Scope::kOneMessage), "OK 1.2.3\n");
  EXPECT_EQ(connection.unused(), 3U);
}

TEST(Scope, OneMessageMayBeATable) {
  World world;
  Connection& connection = world.Connect();
  EXPECT_EQ(connection.Say("create function f\n", gearstalk::Session::Scope::kOneMessage),
            "OK\r\n");
  EXPECT_EQ(connection.Say("status\nstatus\n", gearstalk::Session::Scope::kOneMessage),
            "f\t0\t0\t0\n.\n");
  EXPECT_EQ(connection.unused(), 7U);
}

TEST(Scope, OneMessageMayComeInPieces) {
  World world;
  Connection& connection = world.Connect();
  EXPECT_EQ(connection.Say("version", gearstalk::Session::Scope::kOneMessage), "");
  EXPECT_EQ(connection.next(), Next::kBytes);
  EXPECT_EQ(connection.Say("\n", gearstalk::Session::Scope::kOneMessage), "OK 1.2.3\n");
}

TEST(Scope, UnknownLineGetsItsErrorWhateverItSays) {
  World world;
  Connection& connection = world.Connect();
  const std::string error = "ERR UNKNOWN_COMMAND Unknown+server+command";
  EXPECT_EQ(connection.Say("jobs\nversion\n", gearstalk::Session::Scope::kUnknownLine),
            error + "jobs\r\n");
  EXPECT_EQ(connection.unused(), 8U);
  EXPECT_EQ(connection.Say("", gearstalk::Session::Scope::kOneMessage), "OK 1.2.3\n");
  EXPECT_EQ(connection.Say("put 1 2 3 4 5 6\n", gearstalk::Session::Scope::kUnknownLine),
            error + "put\r\n");
  EXPECT_EQ(connection.next(), Next::kBytes);
  EXPECT_EQ(connection.unused(), 0U);
}

}  // namespace
}  // namespace gearstalk::gearman
