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

TEST(BodyKey, IsEmptyForABodyThatIsNoJsonBehindTheValue) {
  for (const char* body : {R"({"a":"k",garbage)",
                           R"({"a":"k")",
                           R"({"a":"k"} garbage)",
                           R"({"a":"k"}{"a":"k"})",
                           R"({"a":"k",})",
                           R"({"a":"k","b":})",
                           R"({"a":"k","b":01})",
                           R"({"a":"k","b":1.})",
                           R"({"a":"k","b":+1})",
                           R"({"a":"k","b":.5})",
                           R"({"a":"k","b":1e})",
                           R"({"a":"k","b":-})",
                           R"({"a":"k","b":nul})",
                           R"({"a":"k","b":True})",
                           R"({"a":"k","b":"\x"})",
                           R"({"a":"k","b":"\u12g4"})",
                           R"({"a":"k","b":"\ud800"})",
                           R"({"a":"k","b":"\udc00"})",
                           R"({"a":"k","b":[1 2]})",
                           R"({"a":"k","b":[,]})",
                           R"({"a":"k","b":[1,]})",
                           R"({"a":"k",5:1})",
                           R"({"a":"k" "b":1})",
                           R"({"a":"k","b":[}])",
                           R"({"a":"k"]})",
                           "{\"a\":\"k\",\"b\":\"\n\"}",
                           "{\"a\":\"k\",\"b\":\"\xff\"}",
                           "{\"a\":\"k\",\"b\":\"\xed\xa0\x80\"}",
                           "{\"a\":\"k\"}\f"}) {
    EXPECT_EQ(BodyKey(body, "/a"), "") << body;
  }
  EXPECT_EQ(BodyKey(std::string("{\"a\":\"k\"}\0", 10), "/a"), "");
}

TEST(BodyKey, ReadsAllOfABodyThatIsJson) {
  EXPECT_EQ(BodyKey(" {\r\n\t\"a\" : \"k\" , \"b\" : [ ] , \"c\" : { } } \n", "/a"), "k");
  EXPECT_EQ(BodyKey(R"({"b":[[],{},[{"a":1}],"\ud83d\ude00\/\"",-0.5E+2,1e99999],"a":"k"})", "/a"),
            "k");
  EXPECT_EQ(BodyKey(R"({"a":"k","b":1e99999})", "/a"), "k");
  EXPECT_EQ(BodyKey(R"({"a":"\ud83d\ude00"})", "/a"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(BodyKey(R"([[0,[1,"k"]],2])", "/0/1/1"), "k");
  EXPECT_EQ(BodyKey(R"([[7,8],9])", "/1"), "9");
}

TEST(BodyKey, IsThatOfTheLastMemberOfAName) {
  EXPECT_EQ(BodyKey(R"({"a":1,"a":2})", "/a"), "2");
  EXPECT_EQ(BodyKey(R"({"a":1,"a":[]})", "/a"), "");
  EXPECT_EQ(BodyKey(R"({"a":{"b":1},"a":{"c":2}})", "/a/b"), "");
  EXPECT_EQ(BodyKey(R"({"a":{"b":1},"c":{"b":2}})", "/a/b"), "1");
}

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
