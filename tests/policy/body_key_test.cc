#include "broker/policy/body_key.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

TEST(BodyKey, IsTheScalarAtThePointer) {
  const std::string body = R"({"a":{"x":[1,{"b":"deep"}]},"n":-1.50e3,"t":true,"u":7,"":"e"})";
  EXPECT_EQ(BodyKey(body, JsonPointer("/a/x/1/b")), "deep");
  EXPECT_EQ(BodyKey(body, JsonPointer("/a/x/0")), "1");
  EXPECT_EQ(BodyKey(body, JsonPointer("/n")), "-1.50e3");
  EXPECT_EQ(BodyKey(body, JsonPointer("/t")), "true");
  EXPECT_EQ(BodyKey(body, JsonPointer("/u")), "7");
  EXPECT_EQ(BodyKey(body, JsonPointer("/")), "e");
  EXPECT_EQ(BodyKey("\"all\"", JsonPointer("")), "all");
}

TEST(BodyKey, KeepsNumbersAsWritten) {
  EXPECT_EQ(BodyKey(R"({"n":1.0})", JsonPointer("/n")), "1.0");
  EXPECT_EQ(BodyKey(R"({"n":123456789012345678901234567890})", JsonPointer("/n")),
            "123456789012345678901234567890");
  EXPECT_EQ(BodyKey(R"({"n":-0})", JsonPointer("/n")), "-0");
  EXPECT_EQ(BodyKey(R"({"n":0})", JsonPointer("/n")), "0");
  EXPECT_EQ(BodyKey(R"({"n":1e999})", JsonPointer("/n")), "1e999");
  EXPECT_EQ(BodyKey(R"({"n":1e99999})", JsonPointer("/n")), "1e99999");
  EXPECT_EQ(BodyKey(R"({"m":1e999,"n":5})", JsonPointer("/n")), "5");
  EXPECT_EQ(BodyKey(std::string(400, '9'), JsonPointer("")).size(), 32U);
}

TEST(BodyKey, ReadsEscapesInPointerAndText) {
  EXPECT_EQ(BodyKey(R"({"a/b":{"c~d":"\u00e4\n"}})", JsonPointer("/a~1b/c~0d")), "\xc3\xa4\n");
}

TEST(BodyKey, IsEmptyWhereThereIsNoScalar) {
  for (const char* body :
       {"", "no json", "{", R"({"b":1})", R"({"a":null})", R"({"a":""})", R"({"a":[]})",
        R"({"a":{}})", R"({"x":{"a":1}})", R"([{"a":1}])", "5", R"({"a" 1})"}) {
    EXPECT_EQ(BodyKey(body, JsonPointer("/a")), "") << body;
  }
  EXPECT_EQ(BodyKey(R"([1,2])", JsonPointer("/01")), "");
  EXPECT_EQ(BodyKey(R"({"a":"text"})", JsonPointer("/a/0")), "");
}

TEST(BodyKey, IsEmptyForABodyThatIsNoJsonBeforeTheValue) {
  for (const char* body : {R"({"b":})",
                           R"({"b":01,)",
                           R"({"b":1.,)",
                           R"({"b":+1,)",
                           R"({"b":.5,)",
                           R"({"b":1e,)",
                           R"({"b":-,)",
                           R"({"b":nul,)",
                           R"({"b":True,)",
                           R"({"b":"\x",)",
                           R"({"b":"\u12g4",)",
                           R"({"b":"\ud800",)",
                           R"({"b":"\udc00",)",
                           R"({"b":[1 2],)",
                           R"({"b":[,],)",
                           R"({"b":[1,],)",
                           R"({"b":{"c":1,},)",
                           R"({"b":{"c"},)",
                           R"({5:1,)",
                           R"({"b":1 )",
                           R"({"b":[},)",
                           R"({"b":{],)",
                           R"(x{)",
                           "{\"b\":\"\n\",",
                           "{\"b\":\"\xff\",",
                           "{\"b\":\"\xed\xa0\x80\",",
                           "\f{"}) {
    EXPECT_EQ(BodyKey(std::string(body) + R"("a":"k"})", JsonPointer("/a")), "") << body;
  }
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
    EXPECT_EQ(BodyKey(body, JsonPointer("/a")), "") << body;
  }
  EXPECT_EQ(BodyKey(std::string("{\"a\":\"k\"}\0", 10), JsonPointer("/a")), "");
}

TEST(JsonValue, DoesNotLookAtWhatFollowsTheValue) {
  std::string unescaped;
  for (const char* behind : {"", "garbage", "}{", ",\"b\":}", ",\"b\":\"\xff\"", "]"}) {
    const std::string body = std::string(R"({"a":"k")") + behind;
    EXPECT_EQ(JsonValue(body, JsonPointer("/a"), unescaped), "k") << behind;
  }
  EXPECT_EQ(JsonValue(R"({"a":"k)", JsonPointer("/a"), unescaped), "") << "it is not whole";
}

TEST(BodyKey, ReadsAllOfABodyThatIsJson) {
  EXPECT_EQ(BodyKey(" {\r\n\t\"a\" : \"k\" , \"b\" : [ ] , \"c\" : { } } \n", JsonPointer("/a")),
            "k");
  EXPECT_EQ(BodyKey(R"({"b":[[],{},[{"a":1}],"\ud83d\ude00\/\"",-0.5E+2,1e99999],"a":"k"})",
                    JsonPointer("/a")),
            "k");
  EXPECT_EQ(BodyKey(R"({"a":"k","b":1e99999})", JsonPointer("/a")), "k");
  EXPECT_EQ(BodyKey(R"({"a":"\ud83d\ude00"})", JsonPointer("/a")), "\xf0\x9f\x98\x80");
  EXPECT_EQ(BodyKey(R"([[0,[1,"k"]],2])", JsonPointer("/0/1/1")), "k");
  EXPECT_EQ(BodyKey(R"([[7,8],9])", JsonPointer("/1")), "9");
}

TEST(BodyKey, IsThatOfTheFirstMemberOfAName) {
  EXPECT_EQ(BodyKey(R"({"a":1,"a":2})", JsonPointer("/a")), "1");
  EXPECT_EQ(BodyKey(R"({"a":[],"a":1})", JsonPointer("/a")), "");
  EXPECT_EQ(BodyKey(R"({"a":{"c":2},"a":{"b":1}})", JsonPointer("/a/b")), "");
  EXPECT_EQ(BodyKey(R"({"a":{"b":1},"c":{"b":2}})", JsonPointer("/a/b")), "1");
}

TEST(BodyKey, OfALongTextIsItsHash) {
  const std::string key = BodyKey("\"" + std::string(65, 'x') + "\"", JsonPointer(""));
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(key.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(BodyKey(R"("a\u0000b")", JsonPointer("")).size(), 32U) << "a NUL ends it in a packet";
  EXPECT_EQ(BodyKey("\"" + std::string(64, 'x') + "\"", JsonPointer("")), std::string(64, 'x'));
}

TEST(BodyKey, TakesAnyDepth) {
  EXPECT_EQ(BodyKey(std::string(200'000, '['), JsonPointer("/a")), "");
}

}  // namespace
}  // namespace gearstalk
