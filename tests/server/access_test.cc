#include "broker/server/access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/server/access_rules.h"

namespace gearstalk {
namespace {

AccessRules Rules(const std::vector<std::string>& lines) {
  Result<AccessRules> rules = AccessRules::Parse(lines);
  EXPECT_TRUE(rules.ok()) << (rules.ok() ? "" : rules.status().message());
  return rules.ok() ? std::move(rules.value()) : AccessRules();
}

std::string Refusal(const std::string& line) {
  const Result<AccessRules> rules = AccessRules::Parse(std::vector<std::string>{line});
  return rules.ok() ? "taken" : rules.status().message();
}

TEST(AccessRules, NoneAllowEverything) { EXPECT_EQ(Rules({}).For("127.0.0.1:1", "x"), nullptr); }

TEST(AccessRules, AllForEverybodyCostsNothing) {
  EXPECT_EQ(Rules({"* all"}).For("127.0.0.1:1", ""), nullptr);
  EXPECT_EQ(Rules({"* all *"}).For("127.0.0.1:1", ""), nullptr);
  EXPECT_NE(Rules({"* all a*"}).For("127.0.0.1:1", ""), nullptr);
  EXPECT_NE(Rules({"* produce,consume,observe"}).For("127.0.0.1:1", ""), nullptr);
}

TEST(AccessRules, WhoeverIsInNoRuleMayDoNothing) {
  AccessRules rules = Rules({"listen=unix:/s all"});
  const auto operators = rules.For("unix:/s", "");
  ASSERT_NE(operators, nullptr);  // so that they can be told from everybody
  EXPECT_TRUE(operators->Allows(right::kAdmin, "t"));
  EXPECT_TRUE(operators->AllowsAll(right::kAny));
  const auto access = rules.For("127.0.0.1:1", "");
  ASSERT_NE(access, nullptr);
  EXPECT_FALSE(access->Allows(right::kAny, "t"));
  EXPECT_FALSE(access->AllowsAll(right::kAny));
  EXPECT_FALSE(access->AllowsSome(right::kAny));
}

TEST(AccessRules, TheFirstForATubeDecides) {
  AccessRules rules = Rules({"* none secret*", "* produce a.*,b.?", "* observe"});
  const auto access = rules.For("x", "");
  EXPECT_FALSE(access->Allows(right::kAny, "secret"));
  EXPECT_TRUE(access->Allows(right::kProduce, "a.1"));
  EXPECT_TRUE(access->Allows(right::kProduce, "b.1"));
  EXPECT_FALSE(access->Allows(right::kProduce, "b.11"));
  EXPECT_FALSE(access->Allows(right::kObserve, "a.1"));
  EXPECT_TRUE(access->Allows(right::kObserve | right::kAdmin, "other"));
  EXPECT_TRUE(access->AllowsAll(right::kObserve));
  EXPECT_FALSE(access->AllowsAll(right::kProduce));
  EXPECT_TRUE(access->AllowsSome(right::kProduce));
  EXPECT_FALSE(access->AllowsSome(right::kConsume));
}

TEST(AccessRules, ByListeningAddress) {
  AccessRules rules = Rules({"listen=127.0.0.1:4730 consume", "listen=unix:/run/s admin"});
  EXPECT_TRUE(rules.For("127.0.0.1:4730", "")->Allows(right::kConsume, "t"));
  EXPECT_FALSE(rules.For("127.0.0.1:4731", "")->Allows(right::kConsume, "t"));
  EXPECT_TRUE(rules.For("unix:/run/s", "")->Allows(right::kAdmin, "t"));
}

TEST(AccessRules, ByCertificate) {
  AccessRules rules = Rules({"cert=worker-* consume", "cert=* observe", "* none"});
  EXPECT_TRUE(rules.For("x", "worker-7")->Allows(right::kConsume, "t"));
  EXPECT_TRUE(rules.For("x", "monitor")->Allows(right::kObserve, "t"));
  EXPECT_FALSE(rules.For("x", "monitor")->Allows(right::kConsume, "t"));
  EXPECT_FALSE(rules.For("x", "")->Allows(right::kAny, "t"));
}

TEST(AccessRules, AreSharedByThoseTheyTreatAlike) {
  AccessRules rules = Rules({"cert=a* consume", "* none"});
  EXPECT_EQ(rules.For("x", "a1"), rules.For("y", "a2"));
  EXPECT_NE(rules.For("x", "a1"), rules.For("x", "b"));
}

TEST(AccessRules, AfterAllTubesNothingMoreComes) {
  const auto access = Rules({"* observe", "* produce t"}).For("x", "");
  EXPECT_FALSE(access->AllowsSome(right::kProduce));
  EXPECT_FALSE(access->Allows(right::kProduce, "t"));
}

TEST(AccessRules, SayWhatIsWrong) {
  EXPECT_EQ(Refusal(""), "rights '': expected WHO ALLOWED [TUBES]");
  EXPECT_EQ(Refusal("*"), "rights '*': expected WHO ALLOWED [TUBES]");
  EXPECT_EQ(Refusal("* all a b"), "rights '* all a b': expected WHO ALLOWED [TUBES]");
  EXPECT_EQ(Refusal("me all"),
            "rights 'me all': unknown subject 'me': use *, listen=ADDRESS or cert=NAME");
  EXPECT_EQ(Refusal("cert= all"),
            "rights 'cert= all': unknown subject 'cert=': use *, listen=ADDRESS or cert=NAME");
  EXPECT_EQ(Refusal("* put"),
            "rights '* put': unknown right 'put': use all, none, or some of "
            "produce,consume,admin,observe");
  EXPECT_EQ(Refusal("* all a,,b"), "rights '* all a,,b': a tube name is empty");
}

}  // namespace
}  // namespace gearstalk
