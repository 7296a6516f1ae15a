// What workers send and hear: abilities, sleep, jobs.

#include <gtest/gtest.h>

#include <string>

#include "tests/proto_gearman/worker_fixture.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

const std::string kNoop = Res(PacketType::kNoop);
const std::string kSleep = Req(PacketType::kPreSleep);

std::string Assign(std::uint64_t id, std::string_view function = "f", std::string_view data = "d") {
  return Res(PacketType::kJobAssign, {Handle(id), function, data});
}

TEST_F(WorkerTest, GivesUpManyAbilitiesInSlices) {
  std::string abilities;
  for (std::size_t i = 0; i < 2 * JobStore::kSlice; ++i) {
    abilities += Req(PacketType::kCanDo, {std::to_string(i)});
  }
  worker.Say(abilities);
  const int before = worker.yields();
  EXPECT_EQ(worker.Say(Req(PacketType::kResetAbilities) + kGrab), kNoJob);
  EXPECT_EQ(worker.yields() - before, 2);
  EXPECT_EQ(world.engine.Stats().tubes, 1U);
}

TEST_F(WorkerTest, GivesUpManyJobsInSlices) {
  for (std::size_t i = 0; i < 2 * JobStore::kSlice; ++i) {
    Submit();
    worker.Say(kGrab);
  }
  const int before = worker.yields();
  worker.Say(Req(PacketType::kCantDo, {"f"}));
  EXPECT_EQ(worker.yields() - before, 1);
  EXPECT_EQ(world.engine.FindTube("f")->ready(), 2 * JobStore::kSlice);
}

TEST_F(WorkerTest, EveryKindOfGrab) {
  EXPECT_EQ(worker.Say(kGrab + Req(PacketType::kGrabJobUniq) + Req(PacketType::kGrabJobAll)),
            kNoJob + kNoJob + kNoJob);
  for (int i = 0; i < 3; ++i) client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "d"}));
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJobUniq)),
            Res(PacketType::kJobAssignUniq, {Handle(2), "f", "", "d"}));
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJobAll)),
            Res(PacketType::kJobAssignUniq, {Handle(3), "f", "", "d"}));
}

TEST_F(WorkerTest, SharedBodyOutlivesItsJob) {
  for (std::size_t size : {4095U, 4096U, 100'000U}) {
    const std::string body(size, 'b');
    client.Say(Req(PacketType::kSubmitJobBg, {"f", "", body}));
    const JobId id = world.engine.NextJob(0)->id();
    EXPECT_EQ(worker.Say(kGrab + Req(PacketType::kWorkComplete, {Handle(id), ""})),
              Assign(id, "f", body));
    EXPECT_EQ(world.engine.Find(id), nullptr);
  }
}

TEST_F(WorkerTest, SleeperIsWokenOnce) {
  EXPECT_EQ(worker.Say(kSleep), "");
  Submit();
  EXPECT_EQ(worker.Hear(), kNoop);
  Submit();
  EXPECT_EQ(worker.Hear(), "");
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
}

TEST_F(WorkerTest, SleepWithWorkWaitingIsAnsweredEachTime) {
  Submit();
  EXPECT_EQ(worker.Say(kSleep), kNoop);
  EXPECT_EQ(worker.Say(kSleep), kNoop);
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
  EXPECT_EQ(worker.Say(kSleep), "");
}

TEST_F(WorkerTest, GrabEndsSleep) {
  EXPECT_EQ(worker.Say(kSleep + kGrab), kNoJob);
  Submit();
  EXPECT_EQ(worker.Hear(), "");
}

TEST_F(WorkerTest, JobsOfOthersWakeNobody) {
  worker.Say(kSleep);
  Submit("g");
  EXPECT_EQ(worker.Hear(), "");
}

TEST_F(WorkerTest, OneJobWakesTheLongestSleeper) {
  Connection& second = Worker();
  worker.Say(kSleep);
  second.Say(kSleep);
  Submit();
  EXPECT_EQ(worker.Hear(), kNoop);
  EXPECT_EQ(second.Hear(), "");
  Submit();
  EXPECT_EQ(second.Hear(), kNoop);
}

TEST_F(WorkerTest, WakeupIsPassedOnByOneWhoLeaves) {
  Connection& second = Worker();
  worker.Say(kSleep);
  second.Say(kSleep);
  Submit();
  EXPECT_EQ(second.Hear(), "");
  world.Disconnect(worker);
  EXPECT_EQ(second.Hear(), kNoop);
}

TEST_F(WorkerTest, NobodyComesSoEverybodyIsWoken) {
  Connection& second = Worker();
  worker.Say(kSleep);
  second.Say(kSleep);
  Submit();
  worker.Hear();
  world.Pass(100 * kMillisecond);
  EXPECT_EQ(second.Hear(), kNoop);
}

TEST_F(WorkerTest, CoalescedSubmitWakesNobody) {
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  worker.Say(kGrab);
  worker.Say(kSleep);
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  EXPECT_EQ(worker.Hear(), "");
}

TEST(WorkerOptions, EveryJobMayWakeEverySleeper) {
  World world(World::DefaultOptions(),
              {.default_ttr_s = 120, .normal_to = 65536, .job_retries = 0, .wake_all = true});
  Connection& first = world.Connect();
  Connection& second = world.Connect();
  first.Say(Req(PacketType::kCanDo, {"f"}) + kSleep);
  second.Say(Req(PacketType::kCanDo, {"f"}) + kSleep);
  second.Say(Req(PacketType::kEchoReq));
  world.Connect().Say(Req(PacketType::kSubmitJobBg, {"f", "", "d"}));
  EXPECT_EQ(first.Hear(), kNoop);
  EXPECT_EQ(second.Hear(), kNoop);
}

TEST_F(WorkerTest, MostUrgentJobOfAllFunctionsComesFirst) {
  worker.Say(Req(PacketType::kCanDo, {"g"}));
  Submit("g");
  client.Say(Req(PacketType::kSubmitJobHigh, {"f", "", "d"}));
  EXPECT_EQ(worker.Say(kGrab), Assign(2, "f"));
  EXPECT_EQ(worker.Say(kGrab), Assign(1, "g"));
}

TEST_F(WorkerTest, CantDoGivesItsJobsBack) {
  Submit();
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
  Connection& second = Worker();
  EXPECT_EQ(second.Say(kSleep), "");
  EXPECT_EQ(worker.Say(Req(PacketType::kCantDo, {"f"})), "");
  EXPECT_EQ(second.Hear(), kNoop);
  EXPECT_EQ(worker.Say(kGrab), kNoJob);
  EXPECT_EQ(second.Say(kGrab), Assign(1));
}

TEST_F(WorkerTest, CantDoOfWhatItCannotIsIgnored) {
  EXPECT_EQ(worker.Say(Req(PacketType::kCantDo, {"g"}) + Req(PacketType::kCantDo)), "");
  Submit();
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
}

TEST_F(WorkerTest, ResetAbilitiesForgetsAll) {
  worker.Say(Req(PacketType::kCanDo, {"g"}) + Req(PacketType::kResetAbilities));
  Submit("f");
  Submit("g");
  EXPECT_EQ(worker.Say(kGrab), kNoJob);
}

TEST_F(WorkerTest, AllYoursIsAcceptedInSilence) {
  EXPECT_EQ(worker.Say(Req(PacketType::kAllYours)), "");
  EXPECT_EQ(worker.Say(Req(PacketType::kAllYours, {"payload"})), "");
}

TEST_F(WorkerTest, NameWithNulIsAnotherFunctionThatNobodyCanName) {
  Connection& second = world.Connect();
  EXPECT_EQ(second.Say(Req(PacketType::kCanDo, {"f\0"s}) +
                       Req(PacketType::kCanDoTimeout, {"f", "\0\0\x03\xe8"s})),
            "");
  EXPECT_EQ(world.engine.FindTube("f\0"s), nullptr);
  EXPECT_EQ(world.engine.FindTube("f")->workers, 2U);
}

TEST_F(WorkerTest, RepeatedCanDoCountsOnce) {
  worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kCanDoTimeout, {"f", "5000"}));
  EXPECT_EQ(world.engine.FindTube("f")->workers, 1U);
}

TEST_F(WorkerTest, TimeLimitGivesTheJobToTheNext) {
  Connection& limited = world.Connect();
  limited.Say(Req(PacketType::kCanDoTimeout, {"f", "5000"}));
  Submit();
  EXPECT_EQ(limited.Say(kGrab), Assign(1));
  world.Pass(4999 * kMillisecond);
  EXPECT_EQ(worker.Say(kGrab), kNoJob);
  world.Pass(kMillisecond);
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
  EXPECT_EQ(limited.Say(Req(PacketType::kWorkComplete, {Handle(1), "late"})), kJobNotFound);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "right"})), "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkComplete, {Handle(1), "right"}));
}

TEST_F(WorkerTest, TimeLimitIsAtLeastASecond) {
  Connection& limited = world.Connect();
  limited.Say(Req(PacketType::kCanDoTimeout, {"f", "1"}));
  Submit();
  limited.Say(kGrab);
  world.Pass(999 * kMillisecond);
  EXPECT_EQ(worker.Say(kGrab), kNoJob);
  world.Pass(kMillisecond);
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
}

TEST_F(WorkerTest, OddTimeLimitsAreNone) {
  for (const std::string& packet :
       {Req(PacketType::kCanDoTimeout, {"f"}), Req(PacketType::kCanDoTimeout, {"f", ""}),
        Req(PacketType::kCanDoTimeout, {"f", "0"}), Req(PacketType::kCanDoTimeout, {"f", "-1"}),
        Req(PacketType::kCanDoTimeout, {"f", "soon"}),
        Req(PacketType::kCanDoTimeout, {"f", "\0\0\x13\x88"s}),
        Req(PacketType::kCanDoTimeout, {"f", "99999999999999999999"}),
        Req(PacketType::kCanDoTimeout, {"f", "999999999999999999999"})}) {
    Connection& odd = world.Connect();
    EXPECT_EQ(odd.Say(packet), "");
    Submit();
    EXPECT_NE(odd.Say(kGrab), kNoJob);
    world.Pass(1'000'000 * kSecond);
    EXPECT_EQ(worker.Say(kGrab), kNoJob);
    EXPECT_EQ(odd.next(), Next::kBytes);
  }
}

TEST_F(WorkerTest, JobOfALostWorkerGoesToTheNext) {
  Submit();
  Connection& lost = Worker();
  EXPECT_EQ(lost.Say(kGrab), Assign(1));
  worker.Say(kSleep);
  world.Disconnect(lost);
  EXPECT_EQ(worker.Hear(), kNoop);
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
  EXPECT_EQ(client.Say("show jobs\n"), Handle(1) + "\t1\t0\t0\n.\n");
}

TEST_F(WorkerTest, HalfClosedWorkerIsLost) {
  Submit();
  Connection& lost = Worker();
  lost.Say(kGrab);
  lost.ReceiveEof();
  EXPECT_EQ(worker.Say(kGrab), Assign(1));
}

TEST(WorkerTries, UsedUpTriesFailTheJob) {
  World world(World::DefaultOptions(),
              {.default_ttr_s = 120, .normal_to = 65536, .job_retries = 2, .wake_all = false});
  Connection& client = world.Connect();
  client.Say(Req(PacketType::kSubmitJob, {"f", "", "d"}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.Hear(), "");
    Connection& lost = world.Connect();
    lost.Say(Req(PacketType::kCanDo, {"f"}) + kGrab);
    world.Disconnect(lost);
  }
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
}

// The server closes a connection that was idle for long. One that holds a job or waits for one is
// not idle.
TEST_F(WorkerTest, WhoHoldsOrAwaitsAJobIsNotIdle) {
  const auto idle = [](Connection& connection) { return connection.session()->Idle(); };
  EXPECT_TRUE(idle(client));
  EXPECT_TRUE(idle(worker));
  worker.Say(Req(PacketType::kPreSleep));
  EXPECT_FALSE(idle(worker));
  Submit();
  EXPECT_FALSE(idle(client));
  worker.Say(kGrab);
  EXPECT_FALSE(idle(worker));
  worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "r"}));
  EXPECT_TRUE(idle(worker));
  EXPECT_TRUE(idle(client));
}

}  // namespace
}  // namespace gearstalk::gearman
