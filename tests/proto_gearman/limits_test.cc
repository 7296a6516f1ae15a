// What a client hears when the broker takes no more.

#include <gtest/gtest.h>

#include <string>

#include "broker/engine/slab.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

const std::string kFull = ErrorRes("QUEUE_ERROR", "Server is out of memory");
const std::string kTooMany = ErrorRes("QUEUE_ERROR", "Server has as many functions as allowed");

std::uint64_t Refused(const World& world, Code code) {
  return world.engine.Stats().refused[static_cast<std::size_t>(code)];
}

TEST(Limits, OfTheSizeOfAJob) {
  Options options = World::DefaultOptions();
  options.max_workload = 10;
  World world(options);
  Connection& client = world.Connect();
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "", std::string(10, 'x')}));
  EXPECT_EQ(client.refused(gearstalk::Refusal::kJobSize), 0U);
  const std::string large = Req(PacketType::kSubmitJobBg, {"f", "", std::string(11, 'x')});
  const std::string refused = ErrorRes("ARGUMENT_TOO_LARGE", "Workload too large");
  EXPECT_EQ(client.Say(large), refused);
  EXPECT_EQ(client.refused(gearstalk::Refusal::kJobSize), 1U);
  EXPECT_EQ(client.refused_tube(), "f");
  Connection& slow = world.Connect();
  EXPECT_EQ(slow.SayCut(large, large.size() - 5), refused);
  EXPECT_EQ(slow.refused_tube(), "f");
}

TEST(Limits, OfMemoryRefuseSubmits) {
  World world;
  Connection& client = world.Connect();
  world.engine.SetLimits({.memory = 1});
  EXPECT_EQ(
      client.Say(Req(PacketType::kSubmitJob, {"f", "", "x"}) +
                 Req(PacketType::kSubmitJobBg, {"f", "", "x"}) + Req(PacketType::kEchoReq, {"e"})),
      kFull + kFull + Res(PacketType::kEchoRes, {"e"}));
  EXPECT_EQ(Refused(world, Code::kOutOfMemory), 2U);
}

TEST(Limits, OfMemoryDropABodyUnderWay) {
  World world;
  Connection& client = world.Connect();
  const std::string submit = Req(PacketType::kSubmitJobBg, {"f", "", std::string(1'000'000, 'x')});
  EXPECT_EQ(client.Say(submit.substr(0, 200'000)), "");
  const std::size_t grown = JobMemory();
  world.engine.SetLimits({.memory = grown - 1});
  EXPECT_EQ(client.Say(submit.substr(200'000, 200'000)), "");
  EXPECT_LT(JobMemory(), grown);
  EXPECT_EQ(client.Say(submit.substr(400'000) + Req(PacketType::kEchoReq, {"e"})),
            kFull + Res(PacketType::kEchoRes, {"e"}));
  EXPECT_EQ(Refused(world, Code::kOutOfMemory), 1U);
  EXPECT_EQ(client.refused_tube(), "f");
}

TEST(Limits, OfMemoryDropWhatIsNoWorkersResult) {
  World world;
  Connection& client = world.Connect();
  world.engine.SetLimits({.memory = 1});
  const std::string echo = Req(PacketType::kEchoReq, {std::string(1'000'000, 'x')});
  EXPECT_EQ(client.Say(echo.substr(0, 300'000)), "");
  EXPECT_EQ(client.Say(echo.substr(300'000, 300'000)), "");
  EXPECT_EQ(client.Say(echo.substr(600'000)), kFull);
}

TEST(Limits, OfMemoryLeaveWorkersAlone) {
  World world;
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  client.Say(Req(PacketType::kSubmitJob, {"f", "", "x"}));
  world.engine.SetLimits({.memory = 1});
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob)),
            Res(PacketType::kJobAssign, {Handle(1), "f", "x"}));
  const std::string result(1'000'000, 'r');
  const std::string complete = Req(PacketType::kWorkComplete, {Handle(1), result});
  EXPECT_EQ(worker.Say(complete.substr(0, 500'000)), "");
  EXPECT_EQ(worker.Say(complete.substr(500'000)), "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkComplete, {Handle(1), result}));
}

TEST(Limits, OfTubes) {
  World world;
  Connection& client = world.Connect();
  world.engine.SetLimits({.tubes = 2});
  EXPECT_EQ(client.Say(Req(PacketType::kCanDo, {"f"})), "");
  EXPECT_EQ(client.Say(Req(PacketType::kCanDo, {"g"})), kTooMany);
  EXPECT_EQ(client.Say(Req(PacketType::kCanDoTimeout, {"g", "5"})), kTooMany);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"g", "", "x"})), kTooMany);
  const std::string line = "ERR QUEUE_ERROR Server+has+as+many+functions+as+allowed\r\n";
  EXPECT_EQ(client.Say("create function g\r\n"), line);
  EXPECT_EQ(client.Say("maxqueue g 5\r\n"), line);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"})),
            Res(PacketType::kJobCreated, {Handle(1)}));
  EXPECT_EQ(Refused(world, Code::kTooManyTubes), 5U);
}

TEST(Limits, OfATubeFromTheConfiguration) {
  World world;
  Connection& client = world.Connect();
  world.engine.SetLimits({.max_queue = {{"f", {1, 1, 1}}}});
  EXPECT_EQ(
      client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "x"}) +
                 Req(PacketType::kSubmitJobBg, {"f", "", "x"})),
      Res(PacketType::kJobCreated, {Handle(1)}) + ErrorRes("QUEUE_ERROR", "Job queue is full"));
}

}  // namespace
}  // namespace gearstalk::gearman
