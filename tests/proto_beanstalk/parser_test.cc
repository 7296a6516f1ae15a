#include "proto_beanstalk/parser.h"

#include <gtest/gtest.h>

#include <string>

namespace gearstalk::beanstalk {
namespace {

using Kind = Line::Kind;

Arguments Parsed(Shape shape, std::string_view text) {
  Arguments arguments;
  EXPECT_TRUE(ParseArguments(shape, text, arguments)) << text;
  return arguments;
}

bool Parses(Shape shape, std::string_view text) {
  Arguments arguments;
  return ParseArguments(shape, text, arguments);
}

TEST(NextLine, EndsAtTheFirstCrLf) {
  const Line line = NextLine("stats\r\nquit\r\n");
  EXPECT_EQ(line.kind, Kind::kWhole);
  EXPECT_EQ(line.text, "stats");
  EXPECT_EQ(NextLine("\r\n").kind, Kind::kWhole);
  EXPECT_EQ(NextLine("\r\n").text, "");
}

TEST(NextLine, IsPartialAtEverySplit) {
  const std::string text = "put 1 2 3 4\r\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(NextLine(text.substr(0, size)).kind, Kind::kPartial) << size;
  }
  EXPECT_EQ(NextLine(text).kind, Kind::kWhole);
}

TEST(NextLine, ALoneCrOrLfEndsNothing) {
  EXPECT_EQ(NextLine("a\rb\r\n").text, "a\rb");
  EXPECT_EQ(NextLine("a\nb\r\n").text, "a\nb");
  EXPECT_EQ(NextLine("a\r\r\n").text, "a\r");
  EXPECT_EQ(NextLine("a\n").kind, Kind::kPartial);
}

TEST(NextLine, HasAtMost224BytesWithItsEnd) {
  EXPECT_EQ(NextLine(std::string(222, 'x') + "\r\n").kind, Kind::kWhole);
  EXPECT_EQ(NextLine(std::string(223, 'x') + "\r\n").kind, Kind::kTooLong);
  EXPECT_EQ(NextLine(std::string(224, 'x') + "\r\n").kind, Kind::kTooLong);
  EXPECT_EQ(NextLine(std::string(223, 'x')).kind, Kind::kPartial);
  EXPECT_EQ(NextLine(std::string(222, 'x') + "\r").kind, Kind::kPartial);
  EXPECT_EQ(NextLine(std::string(224, 'x')).kind, Kind::kTooLong);
}

TEST(SkipLine, KeepsACrThatMayBeHalfOfTheEnd) {
  EXPECT_EQ(SkipLine("xx\r\nyy").size, 4U);
  EXPECT_TRUE(SkipLine("xx\r\nyy").ended);
  EXPECT_EQ(SkipLine("xx").size, 2U);
  EXPECT_FALSE(SkipLine("xx").ended);
  EXPECT_EQ(SkipLine("xx\r").size, 2U);
  EXPECT_FALSE(SkipLine("xx\r").ended);
  EXPECT_EQ(SkipLine("\r").size, 0U);
  EXPECT_EQ(SkipLine("x\ry\nz").size, 5U);
  EXPECT_EQ(SkipLine("").size, 0U);
}

TEST(Numbers, MayHaveBlanksAndZerosInFront) {
  EXPECT_EQ(Parsed(Shape::kId, "7").id, 7U);
  EXPECT_EQ(Parsed(Shape::kId, "   0007").id, 7U);
  EXPECT_EQ(Parsed(Shape::kId, std::string(150, '0') + "7").id, 7U);
  EXPECT_EQ(Parsed(Shape::kIdPriority, " 1    2").priority, 2U);
}

TEST(Numbers, HaveNoSignsTailsOrOtherBlanks) {
  for (const std::string_view text : {"", " ", "-1", "+1", "1 ", "1a", "a1", "0x1", "1.0", "\t1",
                                      "1\t", "1\r", "1\n", "\xff", "1-", "1,2"}) {
    EXPECT_FALSE(Parses(Shape::kId, text)) << text;
  }
}

TEST(Numbers, HaveToFit) {
  EXPECT_EQ(Parsed(Shape::kId, "18446744073709551615").id, UINT64_MAX);
  EXPECT_FALSE(Parses(Shape::kId, "18446744073709551616"));
  EXPECT_FALSE(Parses(Shape::kId, std::string(100, '9')));
  EXPECT_EQ(Parsed(Shape::kIdPriority, "1 4294967295").priority, UINT32_MAX);
  EXPECT_FALSE(Parses(Shape::kIdPriority, "1 4294967296"));
  EXPECT_FALSE(Parses(Shape::kIdPriorityDelay, "1 1 4294967296"));
  EXPECT_FALSE(Parses(Shape::kTubeDelay, "t 4294967296"));
}

TEST(Arguments, TakeExactlyTheirNumbers) {
  EXPECT_FALSE(Parses(Shape::kIdPriority, "1"));
  EXPECT_FALSE(Parses(Shape::kIdPriority, "1 2 3"));
  EXPECT_FALSE(Parses(Shape::kIdPriorityDelay, "1 2"));
  EXPECT_FALSE(Parses(Shape::kIdPriorityDelay, "1 2 3 4"));
  const Arguments release = Parsed(Shape::kIdPriorityDelay, "1 2 3");
  EXPECT_EQ(release.id, 1U);
  EXPECT_EQ(release.priority, 2U);
  EXPECT_EQ(release.delay_s, 3U);
}

TEST(Arguments, NoneMeansNone) {
  EXPECT_TRUE(Parses(Shape::kNone, ""));
  EXPECT_FALSE(Parses(Shape::kNone, " "));
  EXPECT_FALSE(Parses(Shape::kNone, "x"));
  EXPECT_TRUE(Parses(Shape::kAnything, "xyz"));
}

TEST(PutArguments, AreFourNumbers) {
  const Arguments put = Parsed(Shape::kPut, "1 2 3 4");
  EXPECT_EQ(put.priority, 1U);
  EXPECT_EQ(put.delay_s, 2U);
  EXPECT_EQ(put.ttr_s, 3U);
  EXPECT_EQ(put.body_size, 4U);
  EXPECT_FALSE(put.tail);
  for (const std::string_view text :
       {"", "1", "1 2 3", "1 2 3 ", "x 2 3 4", "1 2 3 x", "-1 2 3 4", "4294967296 0 0 0",
        "0 4294967296 0 0", "0 0 4294967296 0", "0 0 0 4294967296", "1 2 3x 4"}) {
    EXPECT_FALSE(Parses(Shape::kPut, text)) << text;
  }
}

TEST(PutArguments, SayWhetherMoreFollows) {
  EXPECT_TRUE(Parsed(Shape::kPut, "1 2 3 4 ").tail);
  EXPECT_TRUE(Parsed(Shape::kPut, "1 2 3 4x").tail);
  EXPECT_TRUE(Parsed(Shape::kPut, "1 2 3 4 5").tail);
}

TEST(KickBound, IsReadAsStrtoulReadsIt) {
  EXPECT_EQ(Parsed(Shape::kBound, "5").bound, 5U);
  EXPECT_EQ(Parsed(Shape::kBound, "+5").bound, 5U);
  EXPECT_EQ(Parsed(Shape::kBound, " \t\n\v\f\r5").bound, 5U);
  EXPECT_EQ(Parsed(Shape::kBound, "5 apples").bound, 5U);
  EXPECT_EQ(Parsed(Shape::kBound, "-1").bound, UINT32_MAX);
  EXPECT_EQ(Parsed(Shape::kBound, "4294967295").bound, UINT32_MAX);
  EXPECT_EQ(Parsed(Shape::kBound, "4294967296").bound, 0U);
  EXPECT_EQ(Parsed(Shape::kBound, "4294967297").bound, 1U);
  EXPECT_EQ(Parsed(Shape::kBound, "18446744073709551615").bound, UINT32_MAX);
  EXPECT_EQ(Parsed(Shape::kBound, "-18446744073709551615").bound, 1U);
  for (const std::string_view text :
       {"", " ", "x", "-", "+", "+-1", "- 1", "18446744073709551616", "-18446744073709551616"}) {
    EXPECT_FALSE(Parses(Shape::kBound, text)) << text;
  }
}

TEST(ReserveTimeout, IsA31BitNumberWithAnyTail) {
  EXPECT_EQ(Parsed(Shape::kTimeout, "0").timeout_s, 0U);
  EXPECT_EQ(Parsed(Shape::kTimeout, "  10").timeout_s, 10U);
  EXPECT_EQ(Parsed(Shape::kTimeout, "0abc").timeout_s, 0U);
  EXPECT_EQ(Parsed(Shape::kTimeout, "7 ").timeout_s, 7U);
  EXPECT_EQ(Parsed(Shape::kTimeout, "2147483647").timeout_s, 2147483647U);
  for (const std::string_view text : {"", " ", "abc", "-1", "2147483648", "4294967296"}) {
    EXPECT_FALSE(Parses(Shape::kTimeout, text)) << text;
  }
}

TEST(TubeNames, AreOneTo200BytesOfTheAlphabet) {
  const std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = {'x', static_cast<char>(byte)};
    EXPECT_EQ(IsTubeName(name), alphabet.find(name[1]) != std::string_view::npos) << byte;
  }
  EXPECT_TRUE(IsTubeName(std::string(200, 'x')));
  EXPECT_FALSE(IsTubeName(std::string(201, 'x')));
  EXPECT_FALSE(IsTubeName(""));
  EXPECT_FALSE(IsTubeName("-x"));
  EXPECT_TRUE(IsTubeName("x-"));
  EXPECT_TRUE(IsTubeName("+"));
}

TEST(TubeArgument, IsTheWholeRest) {
  EXPECT_EQ(Parsed(Shape::kTube, "a/b").tube, "a/b");
  for (const std::string_view text : {"", " a", "a ", "a b", "-a", "a*"}) {
    EXPECT_FALSE(Parses(Shape::kTube, text)) << text;
  }
}

TEST(PauseArguments, SplitOffTheName) {
  for (const std::string_view text : {"a 10", " a 10", "   a   0010"}) {
    const Arguments pause = Parsed(Shape::kTubeDelay, text);
    EXPECT_EQ(pause.tube, "a");
    EXPECT_EQ(pause.delay_s, 10U);
  }
  EXPECT_EQ(Parsed(Shape::kTubeDelay, " -a 1").tube, "-a");  // a bad name, judged later
  EXPECT_EQ(Parsed(Shape::kTubeDelay, std::string(201, 'x') + " 1").tube.size(), 201U);
  for (const std::string_view text : {"", " ", "a", "a ", "a x", "a 1 ", "a 1x", "a* 1", "a1"}) {
    EXPECT_FALSE(Parses(Shape::kTubeDelay, text)) << text;
  }
}

}  // namespace
}  // namespace gearstalk::beanstalk
