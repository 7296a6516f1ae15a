#include <gtest/gtest.h>

#include <string>

#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

std::string Name(std::string_view name) {
  std::string line;
  AppendName(line, name);
  return line;
}

std::string Word(std::string_view name) {
  std::string line;
  AppendWord(line, name);
  return line;
}

TEST(PrintedName, PlainNamesStayAsTheyAre) {
  for (std::string_view name : {"", "resize", "a b", "a.b", "größe", "-+/;$_()", "\"'%"}) {
    EXPECT_EQ(Name(name), name);
  }
}

TEST(PrintedName, KeepsItsColumnAndItsLine) {
  EXPECT_EQ(Name("a\tb\nc\rd"), "a\\tb\\nc\\rd");
  EXPECT_EQ(Name("\x01\x1f\x7f"), "\\x01\\x1f\\x7f");
  EXPECT_EQ(Name("a\\tb"), "a\\\\tb");
}

TEST(PrintedName, DoesNotBeginWithADot) {
  EXPECT_EQ(Name("."), "\\x2e");
  EXPECT_EQ(Name(".a."), "\\x2ea.");
}

TEST(PrintedWord, HoldsNoBlank) {
  EXPECT_EQ(Word("my id\t1"), "my\\x20id\\t1");
  EXPECT_EQ(Word(".a"), ".a");
}

}  // namespace
}  // namespace gearstalk::gearman
