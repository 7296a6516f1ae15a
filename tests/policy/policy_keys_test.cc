#include <gtest/gtest.h>

#include "broker/policy/policy.h"

namespace gearstalk {
namespace {

// The value as it is printed after it was set to `text`; "refused" if it was not taken.
std::string Set(std::string_view key, std::string_view text) {
  Policy policy;
  const PolicyKey* row = FindPolicyKey(key);
  return row->form.set(policy, text).ok() ? row->form.print(policy) : "refused";
}

TEST(PolicyKeys, PrintTheirDefaults) {
  std::string all;
  for (const PolicyKey& key : PolicyKeys()) {
    all += std::string(key.name) + "=" + key.form.print(Policy()) + " ";
  }
  EXPECT_EQ(all,
            "attempts=0 retry_on=timeout,lost,fail,release backoff=0 jitter=0 on_failure=auto "
            "dead_tube={tube}.dead dead_state=buried expire_after=0 on_expiry=delete keep_buried=0 "
            "keep_buried_jobs=0 unique=none unique_until=end unique_for=0 max_running=0 rate=0 "
            "burst=1 weight=1 ttr=0 ttr_min=0 ttr_max=0 max_jobs=0 max_bytes=0 max_job_size=0 "
            "copy_to=none group=none group_order=fair group_running=0 group_rate=0 group_burst=1 "
            "group_max_jobs=0 group_missing=allow group_on_failure=next ");
}

TEST(PolicyKeys, TakeWhatTheyPrint) {
  for (const PolicyKey& key : PolicyKeys()) {
    Policy policy;
    EXPECT_TRUE(key.form.set(policy, key.form.print(Policy())).ok()) << key.name;
    EXPECT_EQ(key.form.print(policy), key.form.print(Policy())) << key.name;
  }
}

TEST(PolicyKeys, PrintTheShortestForm) {
  EXPECT_EQ(Set("backoff", "1s, 10s"), "1s,10s");
  EXPECT_EQ(Set("backoff", "10s..3600s"), "10s..1h");
  EXPECT_EQ(Set("backoff", "0"), "0");
  EXPECT_EQ(Set("retry_on", "bury,timeout"), "timeout,bury");
  EXPECT_EQ(Set("retry_on", "none"), "none");
  EXPECT_EQ(Set("max_jobs", "5,5,5"), "5");
  EXPECT_EQ(Set("max_jobs", "5,6,7"), "5,6,7");
  EXPECT_EQ(Set("rate", "60/m"), "60/m");
  EXPECT_EQ(Set("keep_buried", "720h"), "30d");
  EXPECT_EQ(Set("ttr", "2m"), "120");
  EXPECT_EQ(Set("unique", "json:/a/0/b"), "json:/a/0/b");
  EXPECT_EQ(Set("unique", "json:/first name"), "json:/first name");
  EXPECT_EQ(Set("copy_to", "a, b,a"), "a,b");
  EXPECT_EQ(Set("group", "json:/customer/id"), "json:/customer/id");
  EXPECT_EQ(Set("group", "json:"), "json:");
  EXPECT_EQ(Set("group", "line"), "line");
  EXPECT_EQ(Set("group_rate", "10/m"), "10/m");
  EXPECT_EQ(Set("copy_to", ""), "none");
  EXPECT_EQ(Set("retry_on", ""), "none");
  EXPECT_EQ(Set("backoff", ""), "0");
}

TEST(PolicyKeys, RefuseWhatIsOutOfRange) {
  EXPECT_EQ(Set("attempts", "1000001"), "refused");
  EXPECT_EQ(Set("attempts", "x"), "refused");
  EXPECT_EQ(Set("jitter", "101"), "refused");
  EXPECT_EQ(Set("group", "body"), "refused");
  EXPECT_EQ(Set("group", "json:customer"), "refused");
  EXPECT_EQ(Set("group_order", "lifo"), "refused");
  EXPECT_EQ(Set("group_burst", "0"), "refused");
  EXPECT_EQ(Set("backoff", "1h..1m"), "refused");
  EXPECT_EQ(Set("backoff", "0..1m"), "refused");
  EXPECT_EQ(Set("retry_on", "timeout,never"), "refused");
  EXPECT_EQ(Set("unique", "json:a"), "refused");
  EXPECT_EQ(Set("unique", "json:/a~2"), "refused");
  EXPECT_EQ(Set("unique_for", "25h"), "refused");
  EXPECT_EQ(Set("rate", "0/s"), "refused");
  EXPECT_EQ(Set("rate", "5/w"), "refused");
  EXPECT_EQ(Set("burst", "0"), "refused");
  EXPECT_EQ(Set("weight", "0"), "refused");
  EXPECT_EQ(Set("weight", "1001"), "refused");
  EXPECT_EQ(Set("ttr", "1500ms"), "refused");
  EXPECT_EQ(Set("max_jobs", "1,2"), "refused");
  EXPECT_EQ(Set("copy_to", "a,b,c,d,e,f,g,h,i"), "refused");
  EXPECT_EQ(Set("copy_to", "$reply/1"), "refused");
  EXPECT_EQ(Set("dead_tube", "a b"), "refused");
  EXPECT_EQ(FindPolicyKey("attempt"), nullptr);
}

TEST(PolicyKeys, TtrsMustNotContradictEachOther) {
  EXPECT_TRUE(CheckPolicy({.ttr_min = 5, .ttr_max = 5}).ok());
  EXPECT_FALSE(CheckPolicy({.ttr_min = 6, .ttr_max = 5}).ok());
}

TEST(Backoff, NamesTheWaitOfEachAttempt) {
  const auto waits = [](std::string_view text) {
    Policy policy;
    EXPECT_TRUE(FindPolicyKey("backoff")->form.set(policy, text).ok());
    std::vector<Time> all;
    for (std::uint32_t n = 1; n <= 5; ++n) all.push_back(policy.backoff.After(n) / kSecond);
    return all;
  };
  EXPECT_EQ(waits("3s"), (std::vector<Time>{3, 3, 3, 3, 3}));
  EXPECT_EQ(waits("1s,5s,9s"), (std::vector<Time>{1, 5, 9, 9, 9}));
  EXPECT_EQ(waits("10s..60s"), (std::vector<Time>{10, 20, 40, 60, 60}));
  EXPECT_EQ(waits("0"), (std::vector<Time>{0, 0, 0, 0, 0}));
}

TEST(Policy, SavesUpOneSecondsHandOutsWithARateASecond) {
  EXPECT_EQ((Policy{.rate = {20, kSecond}}).Burst(), 20U);
  EXPECT_EQ((Policy{.rate = {20, 60 * kSecond}}).Burst(), 1U);
  EXPECT_EQ((Policy{.rate = {20, kSecond}, .burst = 3}).Burst(), 3U);
}

TEST(Policy, NamesTheDeadTube) {
  EXPECT_EQ(Policy().DeadTubeOf("mail"), "mail.dead");
  EXPECT_EQ((Policy{.dead_tube = "{tube}/{tube}"}).DeadTubeOf("a"), "a/a");
  EXPECT_EQ((Policy{.dead_tube = "dead"}).DeadTubeOf("a"), "dead");
}

TEST(Policy, BoundsTtrs) {
  const Policy policy{.ttr = 30, .ttr_min = 10, .ttr_max = 60};
  EXPECT_EQ(policy.TtrOf(0), 30U);
  EXPECT_EQ(policy.TtrOf(5), 10U);
  EXPECT_EQ(policy.TtrOf(500), 60U);
  EXPECT_EQ((Policy{.ttr_min = 10}).TtrOf(0), 0U);
}

}  // namespace
}  // namespace gearstalk
