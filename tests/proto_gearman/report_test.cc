// What workers send about the jobs they hold, and who hears of it.

#include <gtest/gtest.h>

#include <string>

#include "tests/proto_gearman/worker_fixture.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

class ReportTest : public WorkerTest {};

TEST_F(ReportTest, ReportsOnWhatItDoesNotHold) {
  Submit();
  Connection& holder = Worker();
  holder.Say(kGrab);
  for (const std::string& handle : {Handle(1), Handle(2), "x"s, ""s, Handle(1) + "0"}) {
    EXPECT_EQ(worker.Say(Req(PacketType::kWorkData, {handle, "d"}) +
                         Req(PacketType::kWorkWarning, {handle, "d"})),
              ErrorRes("JOB_NOT_FOUND", "Job does not exist on server") +
                  ErrorRes("JOB_NOT_FOUND", "Job does not exist on server"));
    EXPECT_EQ(worker.Say(Req(PacketType::kWorkStatus, {handle, "1", "2"}) +
                         Req(PacketType::kWorkComplete, {handle, "d"}) +
                         Req(PacketType::kWorkFail, {handle})),
              kJobNotFound + kJobNotFound + kJobNotFound);
    EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {handle, "d"})),
              ErrorRes("JOB_NOT_FOUND", "An exception was received for a job that does not exist"));
  }
  EXPECT_EQ(client.Hear(), "");
}

TEST_F(ReportTest, FailOfAnOverlongHandle) {
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkFail, {std::string(64, 'H')})),
            ErrorRes("ARGUMENT_TOO_LARGE",
                     "Error occurred due to GEARMAND_JOB_HANDLE_SIZE being too small from "
                     "snprintf"));
}

TEST_F(ReportTest, FailTellsTheClient) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkFail, {Handle(1)})), "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
}

TEST_F(ReportTest, FailWithMoreBehindItsHandleIsForgiven) {
  Submit();
  Submit();
  worker.Say(kGrab + kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkFail, {Handle(1) + "\0"s}) +
                       Req(PacketType::kWorkFail, {Handle(2), "more"})),
            "");
  EXPECT_EQ(client.Hear(),
            Res(PacketType::kWorkFail, {Handle(1)}) + Res(PacketType::kWorkFail, {Handle(2)}));
}

TEST_F(ReportTest, FailBehindAnExceptionIsSwallowedOnce) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {Handle(1), "what"}) +
                       Req(PacketType::kWorkFail, {Handle(1)})),
            "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkFail, {Handle(1)})), kJobNotFound);
}

TEST_F(ReportTest, FailOfAnotherJobBehindAnExceptionCounts) {
  Submit();
  Submit();
  worker.Say(kGrab + kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {Handle(1), "what"}) +
                       Req(PacketType::kWorkFail, {Handle(2)})),
            "");
  EXPECT_EQ(client.Hear(),
            Res(PacketType::kWorkFail, {Handle(1)}) + Res(PacketType::kWorkFail, {Handle(2)}));
}

TEST_F(ReportTest, FailLongAfterAnExceptionIsAnError) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {Handle(1), "what"}) + kGrab +
                       Req(PacketType::kWorkFail, {Handle(1)})),
            kNoJob + kJobNotFound);
}

TEST_F(ReportTest, CompleteAfterAnExceptionIsAnError) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {Handle(1), "what"}) +
                       Req(PacketType::kWorkComplete, {Handle(1), "r"})),
            kJobNotFound);
}

TEST_F(ReportTest, MissingDataCountsAsEmpty) {
  Submit();
  Submit();
  worker.Say(kGrab + kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkData, {Handle(1)}) +
                       Req(PacketType::kWorkWarning, {Handle(1)}) +
                       Req(PacketType::kWorkComplete, {Handle(1)}) +
                       Req(PacketType::kWorkException, {Handle(2)})),
            "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkData, {Handle(1), ""}) +
                               Res(PacketType::kWorkWarning, {Handle(1), ""}) +
                               Res(PacketType::kWorkComplete, {Handle(1), ""}) +
                               Res(PacketType::kWorkFail, {Handle(2)}));
}

TEST_F(ReportTest, NumbersThatAStatusLacksAreZero) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkStatus, {Handle(1), "5"}) +
                       Req(PacketType::kWorkStatus, {Handle(1), "6", ""}) +
                       Req(PacketType::kWorkStatus, {Handle(1)})),
            "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkStatus, {Handle(1), "5", "0"}) +
                               Res(PacketType::kWorkStatus, {Handle(1), "6", "0"}) +
                               Res(PacketType::kWorkStatus, {Handle(1), "0", "0"}));
}

TEST_F(ReportTest, StatusIsForwardedAsWritten) {
  Submit();
  worker.Say(kGrab);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkStatus, {Handle(1), "1.5", "99999999999"})), "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkStatus, {Handle(1), "1.5", "99999999999"}));
  EXPECT_EQ(client.Say(Req(PacketType::kGetStatus, {Handle(1)})),
            Res(PacketType::kStatusRes, {Handle(1), "1", "1", "1", "4294967295"}));
}

}  // namespace
}  // namespace gearstalk::gearman
