#include "proto_gearman/text_line.h"

#include <gtest/gtest.h>

#include <string>

namespace gearstalk::gearman {
namespace {

using namespace std::literals;

TEST(TextLine, EndsInLfOrCrLf) {
  TextLine line;
  ASSERT_EQ(ParseLine("status\nmore", line), Parsed::kComplete);
  EXPECT_EQ(line.count, 1U);
  EXPECT_EQ(line.words[0], "status");
  EXPECT_EQ(line.size, 7U);
  ASSERT_EQ(ParseLine("status\r\n", line), Parsed::kComplete);
  EXPECT_EQ(line.words[0], "status");
  EXPECT_EQ(line.size, 8U);
  ASSERT_EQ(ParseLine("status\r\r\n", line), Parsed::kComplete);
  EXPECT_EQ(line.words[0], "status\r");
}

TEST(TextLine, EveryPrefixNeedsMore) {
  const std::string whole = "maxqueue f 1 2 3\r\n";
  TextLine line;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ParseLine(whole.substr(0, size), line), Parsed::kNeedMore) << size;
  }
  ASSERT_EQ(ParseLine(whole, line), Parsed::kComplete);
  ASSERT_EQ(line.count, 5U);
  EXPECT_EQ(line.words[0], "maxqueue");
  EXPECT_EQ(line.words[4], "3");
}

TEST(TextLine, RunsOfBlanksSeparateOnce) {
  TextLine line;
  ASSERT_EQ(ParseLine("create   function  f   \n", line), Parsed::kComplete);
  ASSERT_EQ(line.count, 3U);
  EXPECT_EQ(line.words[1], "function");
  EXPECT_EQ(line.words[2], "f");
}

TEST(TextLine, TabsDoNotSeparate) {
  TextLine line;
  ASSERT_EQ(ParseLine("drop function a\tb\n", line), Parsed::kComplete);
  ASSERT_EQ(line.count, 3U);
  EXPECT_EQ(line.words[2], "a\tb");
}

TEST(TextLine, LeadingBlankMakesAnEmptyCommand) {
  TextLine line;
  ASSERT_EQ(ParseLine(" version\n", line), Parsed::kComplete);
  EXPECT_EQ(line.count, 2U);
  EXPECT_EQ(line.words[0], "");
  ASSERT_EQ(ParseLine("\n", line), Parsed::kComplete);
  EXPECT_EQ(line.count, 1U);
  EXPECT_EQ(line.words[0], "");
  ASSERT_EQ(ParseLine("   \r\n", line), Parsed::kComplete);
  EXPECT_EQ(line.count, 1U);
  EXPECT_EQ(line.words[0], "");
}

TEST(TextLine, NulEndsTheText) {
  TextLine line;
  ASSERT_EQ(ParseLine("version\0 x y z a b\n"sv, line), Parsed::kComplete);
  EXPECT_EQ(line.count, 1U);
  EXPECT_EQ(line.words[0], "version");
  EXPECT_EQ(line.size, 19U);
}

TEST(TextLine, SixWordsAreMalformedButKnown) {
  TextLine line;
  ASSERT_EQ(ParseLine("a b c d e f\n", line), Parsed::kMalformed);
  EXPECT_EQ(line.words[0], "a");
  EXPECT_EQ(line.size, 12U);
}

TEST(TextLine, LongestLine) {
  TextLine line;
  const std::string longest(kMaxLine - 1, 'x');
  EXPECT_EQ(ParseLine(longest, line), Parsed::kNeedMore);
  EXPECT_EQ(ParseLine(longest + "\n", line), Parsed::kComplete);
  EXPECT_EQ(ParseLine(longest + "x", line), Parsed::kMalformed);
  EXPECT_EQ(ParseLine(longest + "x\n", line), Parsed::kMalformed);
  EXPECT_EQ(line.size, 0U);
}

TEST(SameWord, MindsNoCaseOfAsciiLetters) {
  EXPECT_TRUE(SameWord("PriorityStatus", "prioritystatus"));
  EXPECT_FALSE(SameWord("status", "statu"));
  EXPECT_FALSE(SameWord("[tatus", "{tatus"));
}

}  // namespace
}  // namespace gearstalk::gearman
