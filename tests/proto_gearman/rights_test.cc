// What a client hears that may not do everything.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using Rules = std::vector<Access::Rule>;

const std::string kDenied = ErrorRes("NOT_ALLOWED", "This connection may not do that");

class Rights : public ::testing::Test {
 protected:
  void Limit(Rules rules) { limited_.set_access(std::make_shared<const Access>(std::move(rules))); }

  World world_;
  Connection& limited_ = world_.Connect();
  Connection& free_ = world_.Connect();
};

TEST_F(Rights, ToProduce) {
  Limit({{right::kProduce, {"in*"}}});
  EXPECT_EQ(limited_.Say(Req(PacketType::kSubmitJobBg, {"in1", "", "x"})),
            Res(PacketType::kJobCreated, {Handle(1)}));
  for (const PacketType type :
       {PacketType::kSubmitJob, PacketType::kSubmitJobBg, PacketType::kSubmitJobHigh,
        PacketType::kSubmitJobHighBg, PacketType::kSubmitJobLow, PacketType::kSubmitJobLowBg}) {
    EXPECT_EQ(limited_.Say(Req(type, {"out", "", "x"})), kDenied);
  }
  EXPECT_EQ(limited_.Say(Req(PacketType::kSubmitJobEpoch, {"out", "", "1", "x"})), kDenied);
  EXPECT_EQ(limited_.Say(Req(PacketType::kSubmitReduceJob, {"out", "", "r", "", "x"})), kDenied);
  EXPECT_EQ(limited_.Say(Req(PacketType::kCanDo, {"in1"})), kDenied);
  EXPECT_EQ(world_.engine.FindTube("out"), nullptr);
  EXPECT_EQ(limited_.refused(), 9U);
}

TEST_F(Rights, ARefusedSubmitTakesItsBody) {
  Limit({{right::kProduce, {"in*"}}});
  const std::string submit = Req(PacketType::kSubmitJob, {"out", "", std::string(500'000, 'x')});
  EXPECT_EQ(limited_.Say(submit.substr(0, 1000)), "");
  EXPECT_EQ(limited_.Say(submit.substr(1000) + Req(PacketType::kEchoReq, {"e"})),
            kDenied + Res(PacketType::kEchoRes, {"e"}));
  EXPECT_EQ(limited_.refused(), 1U);
}

TEST_F(Rights, ToConsume) {
  free_.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"}) +
            Req(PacketType::kSubmitJobBg, {"g", "", "y"}));
  Limit({{right::kConsume, {"f"}}});
  EXPECT_EQ(limited_.Say(Req(PacketType::kCanDo, {"g"})), kDenied);
  EXPECT_EQ(limited_.Say(Req(PacketType::kCanDoTimeout, {"g", "5"})), kDenied);
  EXPECT_EQ(limited_.Say(Req(PacketType::kCanDo, {"f"})), "");
  EXPECT_EQ(limited_.Say(Req(PacketType::kGrabJob)),
            Res(PacketType::kJobAssign, {Handle(1), "f", "x"}));
  EXPECT_EQ(limited_.Say(Req(PacketType::kWorkComplete, {Handle(1), "r"}) +
                         Req(PacketType::kGrabJobUniq)),
            Res(PacketType::kNoJob));
  EXPECT_EQ(limited_.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"})), kDenied);
}

TEST_F(Rights, MayBeTakenAway) {
  EXPECT_EQ(limited_.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kCanDo, {"g"})), "");
  Limit({{right::kConsume, {"g"}}});
  free_.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"}));
  EXPECT_EQ(limited_.Say(Req(PacketType::kGrabJob)), Res(PacketType::kNoJob));
  EXPECT_EQ(limited_.Say(Req(PacketType::kPreSleep)), "");
  EXPECT_EQ(world_.engine.FindTube("f")->watching, 0U);
}

TEST_F(Rights, LinesThatLook) {
  free_.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"}) +
            Req(PacketType::kSubmitJobBg, {"g", "", "y"}));
  Limit({{right::kObserve, {"f"}}});
  EXPECT_EQ(limited_.Say("status\n"), "f\t1\t0\t0\n.\n");
  EXPECT_EQ(limited_.Say("prioritystatus\n"), "f\t0\t1\t0\t0\n.\n");
  EXPECT_EQ(limited_.Say("show jobs\n"), Handle(1) + "\t0\t0\t1\n.\n");
  EXPECT_EQ(limited_.Say("workers\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("getpid\n"), kDeniedLine);
  EXPECT_TRUE(limited_.Say("version\n").starts_with("OK "));
  Limit({{right::kProduce, {"*"}}});
  EXPECT_EQ(limited_.Say("status\n"), kDeniedLine);
  Limit({{right::kObserve, {"*"}}});
  EXPECT_TRUE(limited_.Say("workers\n").ends_with("\n.\n"));
  EXPECT_TRUE(limited_.Say("getpid\n").starts_with("OK "));
}

TEST_F(Rights, LinesThatChange) {
  free_.Say(Req(PacketType::kSubmitJobBg, {"g", "", "x"}));
  Limit({{right::kAdmin, {"f*"}}, {right::kObserve, {"*"}}});
  EXPECT_EQ(limited_.Say("create function f1\r\n"), "OK\r\n");
  EXPECT_EQ(limited_.Say("maxqueue f1 5\r\n"), "OK\r\n");
  EXPECT_EQ(limited_.Say("drop function f1\r\n"), "OK\r\n");
  EXPECT_EQ(limited_.Say("create function g1\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("maxqueue g 5\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("drop function g\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("cancel job " + Handle(1) + "\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("cancel job " + Handle(9) + "\r\n"), "ERR UNKNOWN_JOB\r\n");
  EXPECT_EQ(limited_.Say("verbose\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.Say("shutdown\r\n"), kDeniedLine);
  EXPECT_EQ(limited_.refused(), 6U);
}

TEST_F(Rights, ToCancelTheJobsOfATube) {
  free_.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"}) +
            Req(PacketType::kSubmitJobBg, {"g", "", "y"}));
  Limit({{right::kAdmin, {"f"}}});
  EXPECT_EQ(limited_.Say("cancel job " + Handle(1) + "\r\n"), "OK\r\n");
  EXPECT_EQ(limited_.Say("cancel job " + Handle(2) + "\r\n"), kDeniedLine);
  EXPECT_EQ(free_.Say("status\n"), "g\t1\t0\t0\n.\n");
  EXPECT_EQ(limited_.TakeActs(),
            (std::vector<std::string>{"job.delete f - - ok", "job.delete g - - forbidden"}));
}

}  // namespace
}  // namespace gearstalk::gearman
