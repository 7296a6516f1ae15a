#include "broker/policy/group_name.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

using Kind = GroupSource::Kind;

std::string NameIn(const GroupSource& source, std::string_view body, std::string_view unique = {}) {
  GroupNameSpace space;
  return std::string(GroupName(source, body, unique, space));
}

TEST(GroupName, OfJsonIsTheScalarAsWritten) {
  const GroupSource source{Kind::kJson, JsonPointer("/customer")};
  EXPECT_EQ(NameIn(source, R"({"customer":17,"x":)"), "17");
  EXPECT_EQ(NameIn(source, R"({"customer":"17"})"), "17");
  EXPECT_EQ(NameIn(source, R"({"customer":1.0})"), "1.0");
  EXPECT_EQ(NameIn(source, R"({"customer":true})"), "true");
  EXPECT_EQ(NameIn(source, R"({"customer":"a","customer":"b"})"), "a");
  EXPECT_EQ(NameIn(source, R"({"customer":"\u00e4"})"), "\xc3\xa4");
  for (const char* none : {R"({"customer":null})", R"({"customer":""})", R"({"customer":[]})",
                           R"({"customer":{}})", "{}", "", "x"}) {
    EXPECT_EQ(NameIn(source, none), "") << none;
  }
}

TEST(GroupName, OfJsonIsFoundBehindWhatIsHugeOrDeep) {
  const GroupSource source{Kind::kJson, JsonPointer("/customer")};
  const std::string wide = '"' + std::string(4'000'000, 'x') + '"';
  const std::string deep = std::string(1'000'000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  const auto behind = [&](const std::string& value) {
    return NameIn(source, R"({"a":)" + value + R"(,"customer":17})");
  };
  EXPECT_EQ(behind(wide), "17");
  EXPECT_EQ(behind(closed), "17");
  EXPECT_EQ(behind(deep), "") << "it is not closed";
  EXPECT_EQ(behind(std::string("\x80\xff\0", 3)), "") << "no JSON";
  EXPECT_EQ(NameIn(source, R"({"customer":)" + wide),
            NameIn(source, R"({"customer":)" + wide + '}'));
  EXPECT_EQ(NameIn(source, R"({"customer":)" + closed), "");
}

TEST(GroupName, OfALineIsTheFirst) {
  const GroupSource source{Kind::kLine};
  EXPECT_EQ(NameIn(source, "one\ntwo"), "one");
  EXPECT_EQ(NameIn(source, "one\r\ntwo"), "one");
  EXPECT_EQ(NameIn(source, "one"), "one");
  EXPECT_EQ(NameIn(source, "one\r"), "one\r") << "a CR belongs to the LF behind it";
  EXPECT_EQ(NameIn(source, "\nx"), "");
  EXPECT_EQ(NameIn(source, "\r\nx"), "");
  EXPECT_EQ(NameIn(source, ""), "");
  const std::string longest(250, 'x');
  const std::string hash = NameIn(source, longest + "\n");
  EXPECT_EQ(hash.size(), 32U);
  EXPECT_EQ(NameIn(source, longest + "\r\n"), hash);
  EXPECT_EQ(NameIn(source, longest + "y\n"), hash) << "250 bytes of it";
  EXPECT_NE(NameIn(source, longest.substr(1) + "\n"), hash);
}

TEST(GroupName, OfAUniqueIdIsItsFirstPart) {
  const GroupSource source{Kind::kUnique};
  EXPECT_EQ(NameIn(source, "body", "17:4711:x"), "17");
  EXPECT_EQ(NameIn(source, "body", "17"), "17");
  EXPECT_EQ(NameIn(source, "body", ":17"), "");
  EXPECT_EQ(NameIn(source, "body", ""), "");
}

TEST(GroupName, ThatIsLongOrHasANulIsItsHash) {
  const GroupSource source{Kind::kLine};
  EXPECT_EQ(NameIn(source, std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(NameIn(source, std::string(65, 'x')).size(), 32U);
  EXPECT_EQ(NameIn(source, std::string("a\0b", 3)).size(), 32U);
}

}  // namespace
}  // namespace gearstalk
