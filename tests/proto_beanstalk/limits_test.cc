// What a producer hears when the broker takes no more.

#include <gtest/gtest.h>

#include <string>

#include "broker/engine/slab.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using Limits = BeanstalkTest;

constexpr std::string_view kFull = "OUT_OF_MEMORY\r\n";

TEST_F(Limits, OfMemoryAnswerBehindTheBody) {
  broker_.engine.SetLimits({.memory = 1});
  EXPECT_EQ(a_.Say("put 0 0 60 5\r\n"), "");
  EXPECT_EQ(a_.Say("hel"), "");
  EXPECT_EQ(a_.Say("lo"), "");
  EXPECT_EQ(a_.Say("\r\nlist-tube-used\r\n"), std::string(kFull) + "USING default\r\n");
}

TEST_F(Limits, OfMemoryDropABodyUnderWay) {
  broker_.engine.SetLimits({.memory = JobMemory() + 100'000});
  const std::string body(60'000, 'x');
  EXPECT_EQ(a_.Say("put 0 0 60 60000\r\n" + body.substr(0, 30'000)), "");
  EXPECT_EQ(b_.Say("put 0 0 60 60000\r\n" + body.substr(0, 30'000)), "");
  const std::size_t full = JobMemory();
  // The first to grow beyond the mark loses, and the other gets its place.
  EXPECT_EQ(a_.Stream(body.substr(30'000) + "\r\n", 1000), kFull);
  EXPECT_LT(JobMemory(), full);
  EXPECT_EQ(a_.refused_tube(), "default");
  EXPECT_EQ(b_.Stream(body.substr(30'000) + "\r\n", 1000), "INSERTED 1\r\n");
  EXPECT_EQ(broker_.engine.Stats().refused[static_cast<std::size_t>(Code::kOutOfMemory)], 1U);
}

TEST_F(Limits, OfMemoryLeaveConsumersAlone) {
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  broker_.engine.SetLimits({.memory = 1});
  EXPECT_EQ(b_.Say("reserve\r\nrelease 1 0 0\r\nreserve\r\nbury 1 0\r\nkick 1\r\n"),
            "RESERVED 1 1\r\nx\r\nRELEASED\r\nRESERVED 1 1\r\nx\r\nBURIED\r\nKICKED 1\r\n");
  EXPECT_EQ(b_.Say("delete 1\r\n"), "DELETED\r\n");
}

TEST_F(Limits, OfMemoryLetALongAnswerThrough) {
  EXPECT_EQ(a_.Say("use $reply/1\r\n"), "USING $reply/1\r\n");
  broker_.engine.SetLimits({.memory = 1});
  // Nobody holds such a job, but its body was taken in.
  EXPECT_EQ(a_.Stream("put 0 0 60 60000\r\n" + std::string(60'000, 'x') + "\r\n", 1000),
            "NOT_FOUND\r\n");
}

TEST_F(Limits, OfTubes) {
  broker_.engine.SetLimits({.tubes = 2});
  EXPECT_EQ(a_.Say("use a\r\n"), "USING a\r\n");
  EXPECT_EQ(a_.Say("use b\r\n"), kFull);
  EXPECT_EQ(a_.Say("watch b\r\nwatch a\r\n"), std::string(kFull) + "WATCHING 2\r\n");
  EXPECT_EQ(a_.Say("list-tube-used\r\n"), "USING a\r\n");
}

TEST_F(Limits, OfATube) {
  broker_.engine.SetLimits({.max_queue = {{"a", {1, 1, 1}}}});
  EXPECT_EQ(a_.Say("use a\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\nx\r\n"),
            "USING a\r\nINSERTED 1\r\nOUT_OF_MEMORY\r\n");
}

TEST_F(Limits, OfATubeCountBesideThatOfTheBroker) {
  const std::string put = "put 0 0 60 4\r\nabcd\r\n";
  const auto set = [this](std::string_view key, std::string_view value) {
    EXPECT_TRUE(broker_.engine.SetPolicy(broker_.clock.Now(), "default", key, value).status.ok());
  };
  set("attempts", "3");
  EXPECT_EQ(a_.Say(put), "INSERTED 1\r\n");
  set("max_job_size", "3");
  EXPECT_EQ(a_.Say(put), "JOB_TOO_BIG\r\n");
  set("max_job_size", "1000000");  // above that of the broker
  EXPECT_EQ(a_.Say(put), "INSERTED 2\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 65536\r\n" + std::string(65536, 'x') + "\r\n"), "JOB_TOO_BIG\r\n");
}

}  // namespace
}  // namespace gearstalk::beanstalk
