#include "broker/etcd/values.h"

#include <gtest/gtest.h>

#include "broker/etcd/endpoints.h"

namespace gearstalk::etcd {
namespace {

TEST(Values, AreWrittenAsTheProtocolSays) {
  Reign reign;
  reign.broker = "b0";
  reign.id = "0123";
  reign.attempt = 2;
  reign.epoch = 7;
  reign.lease = 2 * kSecond;
  reign.address = "10.0.0.1:11300";
  EXPECT_EQ(ToJson(reign), R"({"broker":"b0","id":"0123","attempt":2,"epoch":7,"lease_ms":2000,)"
                           R"("address":"10.0.0.1:11300","vacant":false})");
  EXPECT_EQ(ToJson(ShardMeta{1, 0, "gearstalkd", "now"}),
            R"({"format":1,"server_name":"gearstalkd","shard":0,"created":"now"})");
  Reign standby;
  standby.broker = "b1";
  standby.address = "a:1";
  EXPECT_EQ(StandbyJson(standby), R"({"broker":"b1","address":"a:1"})");
  EXPECT_EQ(BeatJson(7, 3), R"({"epoch":7,"counter":3})");
  EXPECT_EQ(TailJson(9, 4), R"({"seq":9,"oldest":4})");
}

TEST(Values, AreReadWhoeverWroteThem) {
  Reign reign;
  ASSERT_TRUE(FromJson(R"( { "lease_ms" : 500 , "new":null, "epoch":3,"attempt":1,
                             "broker":"a\"\\\u000a", "vacant" : true } )",
                       reign)
                  .ok());
  EXPECT_EQ(reign.lease, 500 * kMillisecond);
  EXPECT_EQ(reign.broker, "a\"\\\n");
  EXPECT_TRUE(reign.vacant);
}

TEST(Values, ThatCannotBeReadAreNamed) {
  Reign reign;
  ShardMeta meta;
  std::uint64_t last = 0, oldest = 0;
  for (const char* text : {"", "{", "[]", "{}", R"({"epoch":})", R"({"seq":"x","oldest":1})",
                           R"({"seq":2,"oldest":9})", R"({"seq":2,"oldest":0})"}) {
    EXPECT_EQ(FromJson(text, reign).code(), Code::kCorrupt) << text;
    EXPECT_EQ(FromJson(text, meta).code(), Code::kCorrupt) << text;
    EXPECT_EQ(TailFromJson(text, last, oldest).code(), Code::kCorrupt) << text;
  }
  EXPECT_EQ(FromJson("nonsense", meta).message(), "meta: cannot read 'nonsense'");
}

TEST(Endpoints, AreHostAndPort) {
  EXPECT_EQ(EndpointName::Parse("10.0.0.1:2379").value().address, "10.0.0.1:2379");
  EXPECT_TRUE(EndpointName::Parse("https://etcd-1:2379").value().tls);
  EXPECT_EQ(EndpointName::Parse("[::1]:2379").value().address, "[::1]:2379");
  for (const char* bad : {"", "host", ":2379", "host:", "host:0", "host:70000", "::1:2379",
                          "http://host:2379", "host:23x", "host:002379", "a b:1"}) {
    EXPECT_FALSE(EndpointName::Parse(bad).ok()) << bad;
  }
}

std::string Check(std::vector<std::string> endpoints, const std::string& prefix = "/p/") {
  EtcdOptions options;
  options.endpoints = std::move(endpoints);
  options.prefix = prefix;
  return CheckEndpoints(options).message();
}

TEST(Endpoints, AreAllOfOneKindAndDifferent) {
  EXPECT_EQ(Check({"a:1", "b:1"}), "");
  EXPECT_EQ(Check({"a:1", "https://b:1"}),
            "etcd.endpoints: either all begin with https:// or none");
  EXPECT_EQ(Check({"a:1", "a:1"}), "etcd.endpoints: 'a:1' is there twice");
  EXPECT_EQ(Check({"a:1"}, "/p"), "etcd.prefix: '/p' must end with '/'");
}

TEST(Values, OldVersionsLackSomething) {
  EXPECT_NE(LacksOf("3.4.41").find("17780"), std::string::npos);
  for (const char* old : {"3.5.0", "3.5.2", "3.5.7", "3.5.12", "3.5.16"}) {
    EXPECT_NE(LacksOf(old), "") << old;
  }
  for (const char* good : {"3.5.17", "3.6.0-rc.1", "3.10.1", "4.0.0", "unknown"}) {
    EXPECT_EQ(LacksOf(good), "") << good;
  }
}

}  // namespace
}  // namespace gearstalk::etcd
