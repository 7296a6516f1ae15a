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

TEST(PolicyRules, NoEntryConcernsAnswers) {
  EXPECT_EQ(kRules.Of("$reply/7", {}), Policy());
  EXPECT_FALSE(kRules.Concerns("$reply/7"));
  EXPECT_TRUE(kRules.Concerns("anything"));
  EXPECT_FALSE(PolicyRules({{"mail", {{"attempts", "5"}}}}).Concerns("mails"));
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
