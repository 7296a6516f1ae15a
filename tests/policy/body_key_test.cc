#include "broker/policy/body_key.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

TEST(BodyKey, IsTheScalarAtThePointer) {
  const std::string body = R"({"a":{"x":[1,{"b":"deep"}]},"n":-1.50e3,"t":true,"u":7,"":"e"})";
  EXPECT_EQ(BodyKey(body, "/a/x/1/b"), "deep");
  EXPECT_EQ(BodyKey(body, "/a/x/0"), "1");
  EXPECT_EQ(BodyKey(body, "/n"), "-1.50e3");
  EXPECT_EQ(BodyKey(body, "/t"), "true");
  EXPECT_EQ(BodyKey(body, "/u"), "7");
  EXPECT_EQ(BodyKey(body, "/"), "e");
  EXPECT_EQ(BodyKey("\"all\"", ""), "all");
}

TEST(BodyKey, KeepsNumbersAsWritten) {
  EXPECT_EQ(BodyKey(R"({"n":1.0})", "/n"), "1.0");
  EXPECT_EQ(BodyKey(R"({"n":123456789012345678901234567890})", "/n"),
            "123456789012345678901234567890");
  EXPECT_EQ(BodyKey(R"({"n":-0})", "/n"), "-0");
  EXPECT_EQ(BodyKey(R"({"n":0})", "/n"), "0");
  EXPECT_EQ(BodyKey(R"({"n":1e999})", "/n"), "1e999");
  EXPECT_EQ(BodyKey(R"({"n":1e99999})", "/n"), "1e99999");
  EXPECT_EQ(BodyKey(R"({"m":1e999,"n":5})", "/n"), "5");
  EXPECT_EQ(BodyKey(std::string(400, '9'), "").size(), 32U);
}

TEST(BodyKey, ReadsEscapesInPointerAndText) {
  EXPECT_EQ(BodyKey(R"({"a/b":{"c~d":"\u00e4\n"}})", "/a~1b/c~0d"), "\xc3\xa4\n");
}

TEST(BodyKey, IsEmptyWhereThereIsNoScalar) {
  for (const char* body :
       {"", "no json", "{", R"({"b":1})", R"({"a":null})", R"({"a":""})", R"({"a":[]})",
        R"({"a":{}})", R"({"x":{"a":1}})", R"([{"a":1}])", "5", R"({"a" 1})"}) {
    EXPECT_EQ(BodyKey(body, "/a"), "") << body;
  }
  EXPECT_EQ(BodyKey(R"([1,2])", "/01"), "");
  EXPECT_EQ(BodyKey(R"({"a":"text"})", "/a/0"), "");
}

TEST(BodyKey, ReadsNoFurtherThanTheValue) { EXPECT_EQ(BodyKey(R"({"a":"k",garbage)", "/a"), "k"); }

TEST(BodyKey, OfALongTextIsItsHash) {
  const std::string key = BodyKey("\"" + std::string(65, 'x') + "\"", "");
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(BodyKey(R"("a\u0000b")", "").size(), 32U) << "a NUL ends it in a packet";
  EXPECT_EQ(BodyKey("\"" + std::string(64, 'x') + "\"", ""), std::string(64, 'x'));
}

TEST(BodyKey, TakesAnyDepth) { EXPECT_EQ(BodyKey(std::string(200'000, '['), "/a"), ""); }

}  // namespace
}  // namespace gearstalk
