#include "broker/policy/policy_rules.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

const PolicyRules kRules({{"mail", {{"attempts", "5"}}},
                          {"thumb.*,img-?", {{"max_running", "8"}, {"attempts", "2"}}},
                          {"*", {{"attempts", "9"}, {"keep_buried", "30d"}}}});

TEST(PolicyRules, TheFirstEntryThatSetsAKeyCounts) {
  EXPECT_EQ(kRules.Of("mail", {}).attempts, 5U);
  EXPECT_EQ(kRules.Of("mail", {}).keep_buried, 30 * 86'400 * kSecond);
  EXPECT_EQ(kRules.Of("thumb.big", {}).attempts, 2U);
  EXPECT_EQ(kRules.Of("img-1", {}).max_running, 8U);
  EXPECT_EQ(kRules.Of("img-12", {}).max_running, 0U);
}

TEST(PolicyRules, WhatAnAdministratorSetCountsBeforeTheFile) {
  EXPECT_EQ(kRules.Of("mail", {{"attempts", "7"}}).attempts, 7U);
  EXPECT_EQ(kRules.Of("mail", {{"jitter", "7"}}).attempts, 5U);
}

std::vector<std::uint16_t> Matching(const std::string& match, std::string_view tube) {
  const PolicyRules rules({{match, {{"attempts", "5"}}}});
  return rules.MatchesOf(tube).entries;
}

TEST(PolicyRules, NoEntryConcernsAnswers) {
  EXPECT_EQ(kRules.Of("$reply/7", {}), Policy());
  EXPECT_TRUE(kRules.MatchesOf("$reply/7").entries.empty());
}

TEST(PolicyRules, MatchAsFnmatch) {
  const std::vector<std::uint16_t> yes = {0}, no = {};
  for (const char* match : {"a.b", "a.*", "*", "*.b", "a?b", "a[.-]b", "x,a.b", "x*,a*", "a\\.b",
                            "a.b,a.*", "a.b*", "a.b,"}) {
    EXPECT_EQ(Matching(match, "a.b"), yes) << match;
  }
  for (const char* match : {"a.", "a.bb", "a.b?", "b*", "a.c*", "[a", "A.b"}) {
    EXPECT_EQ(Matching(match, "a.b"), no) << match;
  }
  EXPECT_EQ(Matching("*", "a/.b"), yes);
  EXPECT_EQ(kRules.MatchesOf("img-1").entries, (std::vector<std::uint16_t>{1, 2}));
}

TEST(PolicyRules, TryOnlyPatternsThatBeginAsTheName) {
  std::vector<PolicyEntry> entries;
  for (int i = 100; i < 1'000; ++i) {
    entries.push_back({"customer" + std::to_string(i) + ".*", {{"attempts", "5"}}});
    entries.push_back({"named" + std::to_string(i), {{"attempts", "6"}}});
  }
  const PolicyRules rules(std::move(entries));
  EXPECT_EQ(rules.MatchesOf("customer500.mail").tried, 1U);
  EXPECT_EQ(rules.MatchesOf("named500").tried, 0U);
  EXPECT_EQ(rules.Of("named500", {}).attempts, 6U);
}

TEST(PolicyRules, ExplainWhereEachValueComesFrom) {
  const auto lines = kRules.Explain("thumb.big", {{"jitter", "10"}});
  ASSERT_EQ(lines.size(), PolicyKeys().size());
  EXPECT_EQ(lines[0].key, "attempts");
  EXPECT_EQ(lines[0].value, "2");
  EXPECT_EQ(lines[0].source, "thumb.*,img-?");
  EXPECT_EQ(lines[1].source, "default");
  EXPECT_EQ(lines[3].value, "10");
  EXPECT_EQ(lines[3].source, "admin");
}

}  // namespace
}  // namespace gearstalk
