// Which words arrive where: the protocol switch with both protocols and an engine, without sockets.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/routed_broker.h"

namespace gearstalk {
namespace {

using namespace std::string_literals;

constexpr char kUnknown[] = "ERR UNKNOWN_COMMAND Unknown+server+command";

std::string Packet(std::string_view magic, char type, std::string_view payload) {
  std::string bytes(magic);
  bytes += "\0\0\0"s + type + "\0\0\0"s + static_cast<char>(payload.size());
  return bytes += payload;
}
std::string Echo(std::string_view text) { return Packet("\0REQ"s, 16, text); }
std::string Echoed(std::string_view text) { return Packet("\0RES"s, 17, text); }

class Routing : public ::testing::Test {
 protected:
  std::string Say(std::string_view bytes) { return SayBy(0, bytes); }
  std::string SayBy(std::size_t client, std::string_view bytes) {
    broker_.client(client).Send(bytes);
    broker_.Settle();
    EXPECT_EQ(broker_.CheckInvariants(), "");
    return broker_.client(client).Hear();
  }
  bool Owned() { return broker_.client(0).owned(); }

  RoutedBroker broker_;
};

TEST_F(Routing, NulIsGearman) {
  EXPECT_EQ(Say(Echo("x")), Echoed("x"));
  EXPECT_TRUE(Owned());
}

TEST_F(Routing, ABeanstalkWordIsBeanstalk) {
  EXPECT_EQ(Say("list-tube-used\r\n"), "USING default\r\n");
  EXPECT_TRUE(Owned());
}

TEST_F(Routing, AnAdminLineLeavesItUndecided) {
  EXPECT_EQ(Say("version\n"), "OK 1.2.3\n");
  EXPECT_FALSE(Owned());
}

TEST_F(Routing, AnAdminLineThenPackets) {
  EXPECT_EQ(Say("version\r\n"), "OK 1.2.3\n");
  EXPECT_EQ(Say(Echo("x")), Echoed("x"));
  EXPECT_EQ(Say("version\n" + Echo("y") + "status\n"), "OK 1.2.3\n" + Echoed("y") + ".\n");
}

TEST_F(Routing, AnAdminLineThenBeanstalk) { EXPECT_EQ(Say("status\nuse f\r\n"), ".\nUSING f\r\n"); }

TEST_F(Routing, AdminLinesInABeanstalkSession) {
  EXPECT_EQ(Say("use f\r\nput 0 0 60 4\r\nbody\r\n"), "USING f\r\nINSERTED 1\r\n");
  EXPECT_EQ(Say("status\n"), "f\t1\t0\t0\n.\n");
  EXPECT_EQ(Say("VERSION\r\n"), "OK 1.2.3\n");
  EXPECT_EQ(Say("list-tube-used\r\n"), "USING f\r\n");
}

TEST_F(Routing, AnAdminLineBetweenPipelinedCommands) {
  EXPECT_EQ(Say("use f\r\nstatus\nput 0 0 60 6\r\nstatus\r\nversion\nlist-tube-used\r\n"),
            "USING f\r\n.\nINSERTED 1\r\nOK 1.2.3\nUSING f\r\n");
}

TEST_F(Routing, AnAdminLineWaitsBehindAReserve) {
  EXPECT_EQ(Say("reserve\r\nversion\n"), "");
  EXPECT_EQ(SayBy(1, "put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(broker_.client(0).Hear(), "RESERVED 1 1\r\nx\r\nOK 1.2.3\n");
}

TEST_F(Routing, StatsIsNotStatus) {
  EXPECT_EQ(Say("stat"), "");
  EXPECT_EQ(Say("us\n"), ".\n");
  EXPECT_FALSE(Owned());
  EXPECT_TRUE(Say("stats\r\n").starts_with("OK "));
  EXPECT_TRUE(Owned());
}

TEST_F(Routing, AdminWordsDoNotMindCase) {
  EXPECT_EQ(Say("VeRsIoN\n"), "OK 1.2.3\n");
  EXPECT_EQ(Say("STATUS\r\n"), ".\n");
}

TEST_F(Routing, BeanstalkWordsMindCase) {
  EXPECT_EQ(Say("STATS\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(Say("Use f\r\n"), "UNKNOWN_COMMAND\r\n");
}

TEST_F(Routing, UnknownWordsOfAnUndecidedConnection) {
  EXPECT_EQ(Say("foo\n"), kUnknown + "foo\r\n"s);
  EXPECT_EQ(Say("foo bar\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(Say("\n"), kUnknown + "\r\n"s);
  EXPECT_EQ(Say("\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_FALSE(Owned());
  EXPECT_EQ(Say(Echo("x")), Echoed("x"));
}

TEST_F(Routing, UnknownWordsBehindAdminWordsAreGearmans) {
  EXPECT_EQ(Say("version\r\n"), "OK 1.2.3\n");
  EXPECT_EQ(Say("no-such-command\r\n"), kUnknown + "no-such-command\r\n"s);
  EXPECT_EQ(Say("use f\r\n"), "USING f\r\n");
  EXPECT_EQ(Say("no-such-command\r\n"), "UNKNOWN_COMMAND\r\n");
}

TEST_F(Routing, UnknownWordsOfABeanstalkSession) {
  EXPECT_EQ(Say("use f\r\n"), "USING f\r\n");
  EXPECT_EQ(Say("foo\n"), kUnknown + "foo\r\n"s);
  EXPECT_EQ(Say("foo\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(Say("list-tube-used\r\n"), "USING f\r\n");
}

TEST_F(Routing, UnknownWordsOfAGearmanSession) {
  EXPECT_EQ(Say(Echo("")), Echoed(""));
  EXPECT_EQ(Say("foo\n"), kUnknown + "foo\r\n"s);
  EXPECT_EQ(Say("foo\r\n"), kUnknown + "foo\r\n"s);
  EXPECT_EQ(Say("reserve\r\n"), kUnknown + "reserve\r\n"s);
  EXPECT_EQ(Say(Echo("x")), Echoed("x"));
}

TEST_F(Routing, TheEndOfAnUnknownLineIsWaitedFor) {
  EXPECT_EQ(Say("foo"), "");
  EXPECT_EQ(Say(" bar\r"), "");
  EXPECT_EQ(broker_.client(0).unused(), 8U);
  EXPECT_EQ(Say("\nlist-tube-used\r\n"), "UNKNOWN_COMMAND\r\nUSING default\r\n");
}

TEST_F(Routing, AnOverlongUnknownLineCostsOneError) {
  for (const std::size_t size : {223, 224, 500, 8189, 8190, 8191, 8192, 20'000}) {
    broker_.Reconnect(0);
    EXPECT_EQ(Say(std::string(size, 'x')), "");
    EXPECT_EQ(Say("\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n") << size;
    EXPECT_LT(broker_.client(0).unused(), 10'000U);
  }
}

TEST_F(Routing, AnOverlongLineWithABareLf) {
  EXPECT_EQ(Say(std::string(8000, 'x') + "\nversion\n"),
            kUnknown + std::string(8000, 'x') + "\r\nOK 1.2.3\n");
}

// gearmand knows no line of that length, so it is beanstalk's, whose lines end in CRLF.
TEST_F(Routing, ALineTooLongForBothEndsInCrlf) {
  const std::string line(9000, 'x');
  for (const std::size_t piece : {0, 1, 4096, 8191, 8192, 8193, 9000, 9001, 9002}) {
    broker_.Reconnect(0);
    RoutedClient& client = broker_.client(0);
    client.Send(line + "\nversion\n\r\nlist-tube-used\r\n", piece);
    EXPECT_EQ(client.Hear(), "BAD_FORMAT\r\nUSING default\r\n") << piece;
    EXPECT_TRUE(client.owned()) << piece;
  }
}

TEST_F(Routing, APacketInABeanstalkSessionIsAnUnknownLine) {
  EXPECT_EQ(Say("use f\r\n"), "USING f\r\n");
  EXPECT_EQ(Say("\0REQ\0\0\0\x10\0\0\0\n"s), kUnknown + "\r\n"s);
  EXPECT_EQ(Say("\0REQ\r\n"s), "BAD_FORMAT\r\n");
  EXPECT_EQ(Say("list-tube-used\r\n"), "USING f\r\n");
}

TEST_F(Routing, ANulThatBeginsNoPacketCloses) {
  EXPECT_EQ(Say("\0foo"s), "");
  EXPECT_TRUE(broker_.client(0).closed());
}

TEST_F(Routing, WorkersSeesBothProtocols) {
  EXPECT_EQ(SayBy(1, "watch f\r\n"), "WATCHING 2\r\n");
  EXPECT_EQ(SayBy(2, Packet("\0REQ"s, 1, "g")), "");
  EXPECT_EQ(Say("workers\n"),
            "10 127.0.0.1 - :\n11 127.0.0.1 - : default f\n12 127.0.0.1 - : g\n.\n");
}

TEST_F(Routing, AHalfClosedConnectionGetsItsAnswers) {
  broker_.client(0).Send("reserve\r\nlist-tube-used\r\nversion\nuse");
  EXPECT_EQ(broker_.client(0).Hear(), "");
  broker_.client(0).HalfClose();
  EXPECT_EQ(broker_.client(0).Hear(), "TIMED_OUT\r\nUSING default\r\nOK 1.2.3\n");
  EXPECT_TRUE(broker_.client(0).closed());
  EXPECT_EQ(broker_.CheckInvariants(), "");
}

// One stream that has everything in it, and its answers.
// Gearman takes any line for one of its own.
TEST(RoutingToOne, AWebPageReachesNoProtocol) {
  RoutedBroker broker;
  for (Protocol* protocol :
       {static_cast<Protocol*>(&broker.beanstalk), static_cast<Protocol*>(&broker.gearman)}) {
    const std::vector<Protocol*> one{protocol};
    const std::string request = "POST / HTTP/1.1\r\nHost: x\r\n\r\nversion\n";
    for (std::size_t cut = 1; cut < 10; ++cut) {
      Socketless wire(broker.clock, Peer{});
      ProtocolSwitch chooser(one, wire);
      const InputResult begun = chooser.OnInput(request.substr(0, cut));
      EXPECT_EQ(begun.bytes, 0U);
      EXPECT_EQ(chooser.OnInput(request).next, Next::kClose) << protocol->name() << ' ' << cut;
      EXPECT_EQ(wire.out().TakeAll(), "");
      EXPECT_EQ(wire.refused(Refusal::kHttp), begun.next == Next::kClose ? 2U : 1U);
    }
  }
}

TEST(RoutingToOne, WhatOnlyBeginsLikeHttpIsRun) {
  RoutedBroker broker;
  const std::vector<Protocol*> one{&broker.gearman};
  Socketless wire(broker.clock, Peer{});
  ProtocolSwitch chooser(one, wire);
  EXPECT_EQ(chooser.OnInput("GET").bytes, 0U);
  chooser.OnInput("GETPID\n");
  EXPECT_TRUE(wire.out().TakeAll().starts_with("OK "));
}

const std::string kStream =
    "version\r\nfoo\nbar baz\r\nStatus\nuse f\r\nput 0 0 60 8\r\nversion\n\r\nstatus\nfoo\r\n\n"
    "reserve-with-timeout 0\r\nwatch f\r\nreserve\r\nVERSION\r\nbury 1 5\r\nshow jobs\n\0x\n"s +
    std::string(300, 'y') + "\r\nuse " + std::string(300, 'z') + "\r\nkick 9\r\nstats-job 1\r\n" +
    "quit\r\nversion\n";

TEST(RoutingCut, EveryCutGivesTheSameAnswers) {
  const auto answers = [](std::size_t first, std::size_t piece) {
    RoutedBroker broker;
    RoutedClient& client = broker.client(0);
    client.Send(kStream.substr(0, first));
    client.Send(kStream.substr(first), piece);
    EXPECT_TRUE(client.closed());
    EXPECT_EQ(broker.CheckInvariants(), "");
    return client.Hear();
  };
  const std::string whole = answers(kStream.size(), 0);
  const std::string expected =
      "OK 1.2.3\n"s + kUnknown + "foo\r\n" + kUnknown + "bar\r\n.\nUSING f\r\nINSERTED 1\r\n" +
      "f\t1\t0\t0\n.\nUNKNOWN_COMMAND\r\n" + kUnknown + "\r\nTIMED_OUT\r\nWATCHING 2\r\n" +
      "RESERVED 1 8\r\nversion\n\r\nOK 1.2.3\nBURIED\r\n";
  EXPECT_TRUE(whole.starts_with(expected)) << whole;
  for (std::size_t cut = 1; cut < kStream.size(); ++cut) {
    ASSERT_EQ(answers(cut, 0), whole) << "cut at " << cut;
  }
  for (const std::size_t piece : {1, 2, 3, 7}) ASSERT_EQ(answers(0, piece), whole) << piece;
}

}  // namespace
}  // namespace gearstalk
