// Lines: their ends and lengths, unknown words, and what a malformed line costs.

#include <string>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using LineTest = BeanstalkTest;

TEST_F(LineTest, UnknownWordsAreAnswered) {
  for (const std::string line :
       {"", "foo", "foo bar", " stats", "STATS", "Reserve", "put", "delete", "use", "kick",
        "kick-job", "peek", "watch", "qui", "\x01\x02"}) {
    EXPECT_EQ(a_.Say(line + "\r\n"), "UNKNOWN_COMMAND\r\n") << line;
  }
}

TEST_F(LineTest, VerbsAreMatchedByPrefix) {
  for (const std::string line :
       {"statsx", "stats ", "reservex", "reserve ", "list-tubesfoo", "list-tube-usedx",
        "list-tubes-watched ", "peek-readyx", "peek-delayed ", "peek-buried1", "stats-job",
        "stats-tube", "reserve-job", "reserve-with-timeout", "pause-tube", "stats-tubex"}) {
    EXPECT_EQ(a_.Say(line + "\r\n"), "BAD_FORMAT\r\n") << line;
  }
  EXPECT_EQ(a_.Say("pause-tubedefault 0\r\n"), "PAUSED\r\n");
}

TEST_F(LineTest, EveryVerbChecksItsArguments) {
  for (const std::string line : {"put ",
                                 "put 1 2 3",
                                 "put a 0 0 0",
                                 "put 0 0 0 1 ",
                                 "delete ",
                                 "delete x",
                                 "delete 1 ",
                                 "delete -1",
                                 "release 1",
                                 "release 1 2",
                                 "release 1 2 3 4",
                                 "bury 1",
                                 "bury 1 2 3",
                                 "touch ",
                                 "touch 1x",
                                 "peek ",
                                 "peek x",
                                 "kick ",
                                 "kick x",
                                 "kick-job ",
                                 "kick-job 1x",
                                 "reserve-job ",
                                 "reserve-job x",
                                 "reserve-with-timeout ",
                                 "reserve-with-timeout x",
                                 "reserve-with-timeout -1",
                                 "reserve-with-timeout 2147483648",
                                 "stats-job ",
                                 "stats-job x",
                                 "stats-tube ",
                                 "stats-tube -x",
                                 "stats-tube a b",
                                 "use ",
                                 "use -x",
                                 "use a b",
                                 "use  a",
                                 "watch ",
                                 "watch a*",
                                 "ignore ",
                                 "ignore -",
                                 "pause-tube ",
                                 "pause-tube a",
                                 "pause-tube a x",
                                 "pause-tube -a 1"}) {
    EXPECT_EQ(a_.Say(line + "\r\n"), "BAD_FORMAT\r\n") << line;
  }
}

TEST_F(LineTest, TubeNamesMayHave200Bytes) {
  const std::string longest(200, 'n');
  EXPECT_EQ(a_.Say("use " + longest + "\r\n"), "USING " + longest + "\r\n");
  EXPECT_EQ(a_.Say("pause-tube " + longest + " 4294967295\r\n"), "PAUSED\r\n");
  EXPECT_EQ(a_.Say("use " + longest + "n\r\n"), "BAD_FORMAT\r\n");
  EXPECT_EQ(a_.Say("pause-tube " + longest + "n 1\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(LineTest, ANulIsABadFormatWhereverItStands) {
  using namespace std::string_literals;
  EXPECT_EQ(a_.Say("use a\0b\r\n"s), "BAD_FORMAT\r\n");
  EXPECT_EQ(a_.Say("foo\0\r\n"s), "BAD_FORMAT\r\n");
  EXPECT_EQ(a_.Say("put\0 0 0 0\r\n"s), "BAD_FORMAT\r\n");
  EXPECT_EQ(a_.Say("quit\0\r\n"s), "BAD_FORMAT\r\n");
  EXPECT_FALSE(a_.closed());
}

TEST_F(LineTest, ABareLfEndsNoCommand) {
  EXPECT_EQ(a_.Say("list-tube-used\n"), "");
  EXPECT_EQ(a_.Say("list-tube-used\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(LineTest, ALoneCrDoesNotStall) {
  EXPECT_EQ(a_.Say("use a\rb\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
  EXPECT_EQ(a_.Say("foo\rbar\r\n"), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(a_.Say("stats\r\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(LineTest, AnUnknownLineWithABareLfIsLeftToOthers) {
  EXPECT_EQ(a_.Step("foo\n"), Next::kForeign);
  EXPECT_EQ(a_.Step(""), Next::kForeign);
}

TEST_F(LineTest, AWordThatMayBecomeAVerbWaits) {
  EXPECT_EQ(a_.Step("stat"), Next::kBytes);
  EXPECT_EQ(a_.Step("us"), Next::kForeign);
}

TEST_F(LineTest, AnOverLongLineCostsOneBadFormat) {
  for (const std::string start : {"use ", "foo "}) {
    for (const std::size_t length :
         {223U, 224U, 225U, 226U, 447U, 448U, 449U, 450U, 673U, 5000U, 8191U, 8192U, 20000U}) {
      const std::string line = start + std::string(length - start.size() - 1, 'x') + "\n";
      const std::string crlf = line.substr(0, line.size() - 1) + "\r\n";
      ASSERT_GE(crlf.size(), 224U);
      const std::string expected = crlf.size() > 224 ? "BAD_FORMAT\r\n"
                                   : start == "use " ? "BAD_FORMAT\r\n"
                                                     : "UNKNOWN_COMMAND\r\n";
      EXPECT_EQ(a_.Say(crlf + "list-tube-used\r\n"), expected + "USING default\r\n") << length;
    }
  }
}

TEST_F(LineTest, AnOverLongLineMayComeInAnyPieces) {
  const std::string line = "use " + std::string(222, 'x') + "\r" + std::string(300, 'y') + "\r\n";
  const std::string all = line + "list-tube-used\r\n";
  for (std::size_t split = 0; split <= all.size(); ++split) {
    const std::string first = a_.Say(all.substr(0, split));
    EXPECT_EQ(first + a_.Say(all.substr(split)), "BAD_FORMAT\r\nUSING default\r\n") << split;
  }
}

TEST_F(LineTest, AnEndlessUnknownLineCostsOneBadFormat) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a_.Say(std::string(1000, 'x') + "\rstats "), "");
  EXPECT_EQ(a_.Say("\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
}

TEST_F(LineTest, BytesMayComeSingly) {
  std::string replies;
  for (const char c : std::string("use foo\r\nput 0 0 1 3\r\nabc\r\nfoo\r\npeek 1\r\n")) {
    replies += a_.Say({&c, 1});
  }
  EXPECT_EQ(replies, "USING foo\r\nINSERTED 1\r\nUNKNOWN_COMMAND\r\nFOUND 1 3\r\nabc\r\n");
}

TEST_F(LineTest, QuitClosesAndIgnoresTheRest) {
  a_.Say("put 0 0 60 1\r\nx\r\nreserve\r\n");
  EXPECT_EQ(a_.Say("list-tube-used\r\nquitnow\r\nlist-tube-used\r\n"), "USING default\r\n");
  EXPECT_TRUE(a_.closed());
  EXPECT_EQ(a_.Step("list-tube-used\r\n"), Next::kClose);
  EXPECT_EQ(b_.Say("reserve-with-timeout 0\r\n"), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(LineTest, OneMessageAtATimeWhenAsked) {
  const std::string bytes = "put 0 0 1 3\r\nabc\r\nlist-tube-used\r\n";
  const InputResult result = a_.session()->OnInput(bytes, gearstalk::Session::Scope::kOneMessage);
  EXPECT_EQ(result.bytes, 18U);
  EXPECT_EQ(result.next, Next::kBytes);
  EXPECT_EQ(a_.Hear(), "INSERTED 1\r\n");
}

TEST_F(LineTest, AnUnknownLineIsAnsweredAlone) {
  const std::string bytes = "foo\r\nlist-tube-used\r\n";
  const InputResult result = a_.session()->OnInput(bytes, gearstalk::Session::Scope::kUnknownLine);
  EXPECT_EQ(result.bytes, 5U);
  EXPECT_EQ(result.next, Next::kBytes);
  EXPECT_EQ(a_.Hear(), "UNKNOWN_COMMAND\r\n");
  EXPECT_EQ(a_.session()->OnInput("fo", gearstalk::Session::Scope::kUnknownLine).bytes, 0U);
}

}  // namespace
}  // namespace gearstalk::beanstalk
