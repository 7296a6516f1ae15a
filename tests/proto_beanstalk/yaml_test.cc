#include "proto_beanstalk/yaml.h"

#include <gtest/gtest.h>

namespace gearstalk::beanstalk {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendQuoted(out, text);
  return out;
}

TEST(Yaml, WritesRows) {
  Yaml yaml;
  yaml.Number("n", 18446744073709551615U);
  yaml.Word("w", "true");
  yaml.Quoted("q", "#1 SMP");
  EXPECT_EQ(yaml.text(), "---\nn: 18446744073709551615\nw: true\nq: \"#1 SMP\"\n");
}

TEST(Yaml, QuotesOnlyWhatAReaderWouldTakeForSomethingElse) {
  Yaml yaml;
  for (const std::string_view tube : {"default", "12", "a b", "-x", ""}) yaml.Item(tube);
  yaml.Text("name", "mail");
  yaml.Text("os", "#1 SMP");
  EXPECT_EQ(yaml.text(),
            "---\n- default\n- \"12\"\n- a b\n- \"-x\"\n- \"\"\nname: mail\nos: \"#1 SMP\"\n");
}

TEST(Yaml, NamesArePlain) {
  for (const std::string_view name : {"mail",       "a",       "mail-2",
                                      "2fast",      "1e",      "a:b",
                                      "a#b",        "a, b",    "$reply/7",
                                      "(x)",        "/x;y",    "_",
                                      "e10",        "trueish", "nope",
                                      "v1.2.3",     "1.2.3",   "10.0.0.1",
                                      "2026.11.23", "1..2",    "10.example",
                                      "\xc3\xbc",   "4-mails", "0xyz",
                                      "a\"b",       "it's",    "0123456789abcdef"}) {
    EXPECT_TRUE(IsPlainScalar(name)) << name;
  }
}

TEST(Yaml, WhatIsNoStringForSomeReaderIsNotPlain) {
  for (const std::string_view text : {"12",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      ".5",
                                      "1e3",
                                      "1_000",
                                      "1,000",
                                      "0x1F",
                                      "0o17",
                                      "0b1",
                                      "1:30",
                                      "190:20:30.15",
                                      "2026-11-22",
                                      "2001-12-14t21:59:43.10-05:00",
                                      "~",
                                      "null",
                                      "Null",
                                      "true",
                                      "FALSE",
                                      "yes",
                                      "No",
                                      "on",
                                      "OFF",
                                      "y",
                                      "N",
                                      ".inf",
                                      "-.INF",
                                      ".NaN",
                                      "=",
                                      "<<",
                                      "a: b",
                                      "a:",
                                      "a #b",
                                      " a",
                                      "a ",
                                      "- a",
                                      "? a",
                                      "[a",
                                      "{a",
                                      "&a",
                                      "*a",
                                      "!a",
                                      "|",
                                      ">",
                                      "'a",
                                      "\"a",
                                      "%a",
                                      "@a",
                                      "`a",
                                      "#a",
                                      "a\tb",
                                      "a\nb",
                                      "\xff",
                                      "\xc2\x85",
                                      ",a",
                                      "]",
                                      ""}) {
    EXPECT_FALSE(IsPlainScalar(text)) << text;
  }
}

TEST(Yaml, EscapesWhatWouldEndTheScalar) {
  EXPECT_EQ(Quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(Quoted("a\nb\rc\td"), "\"a\\nb\\rc\\td\"");
  EXPECT_EQ(Quoted(std::string_view("\0\x01\x1f\x7f", 4)), "\"\\x00\\x01\\x1F\\x7F\"");
}

TEST(Yaml, KeepsPrintableUtf8) {
  EXPECT_EQ(Quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(Quoted("\xee\x80\x80\xef\xbf\xbd"), "\"\xee\x80\x80\xef\xbf\xbd\"");
  EXPECT_EQ(Quoted("\xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(Yaml, EscapesBytesThatAreNoPrintableUtf8) {
  EXPECT_EQ(Quoted("\xff"), "\"\\xFF\"");
  EXPECT_EQ(Quoted("\xc3"), "\"\\xC3\"");                             // cut short
  EXPECT_EQ(Quoted("\xc3z"), "\"\\xC3z\"");                           // no continuation
  EXPECT_EQ(Quoted("\x80"), "\"\\x80\"");                             // continuation alone
  EXPECT_EQ(Quoted("\xc0\xaf"), "\"\\xC0\\xAF\"");                    // overlong
  EXPECT_EQ(Quoted("\xc2\x85"), "\"\\xC2\\x85\"");                    // a control
  EXPECT_EQ(Quoted("\xe2\x80\xa8"), "\"\\xE2\\x80\\xA8\"");           // line separator
  EXPECT_EQ(Quoted("\xed\xa0\x80"), "\"\\xED\\xA0\\x80\"");           // surrogate
  EXPECT_EQ(Quoted("\xef\xbb\xbf"), "\"\\xEF\\xBB\\xBF\"");           // byte order mark
  EXPECT_EQ(Quoted("\xe2\x80\xa9"), "\"\\xE2\\x80\\xA9\"");           // paragraph separator
  EXPECT_EQ(Quoted("\xef\xbf\xbe"), "\"\\xEF\\xBF\\xBE\"");           // no character
  EXPECT_EQ(Quoted("\xef\xbf\xbf"), "\"\\xEF\\xBF\\xBF\"");           // no character
  EXPECT_EQ(Quoted("\xf4\x90\x80\x80"), "\"\\xF4\\x90\\x80\\x80\"");  // beyond U+10FFFF
}

}  // namespace
}  // namespace gearstalk::beanstalk
