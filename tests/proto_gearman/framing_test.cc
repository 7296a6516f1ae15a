// Packets that are wrong, packets that are large, and packets that come in pieces.

#include <gtest/gtest.h>

#include <string>

#include "proto_gearman/commands.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

constexpr std::uint32_t kCanDo = 1, kSubmitJobBg = 18, kWorkComplete = 13, kEchoReq = 16;

const std::string kEcho = Req(PacketType::kEchoReq, {"still here"});
const std::string kEchoed = Res(PacketType::kEchoRes, {"still here"});

TEST(Framing, ResponseMagicIsRefusedAndTheConnectionGoesOn) {
  World world;
  Connection& client = world.Connect();
  EXPECT_EQ(client.Say(Raw(kResponse, kEchoReq, 2, "hi") + kEcho),
            ErrorRes("INVALID_MAGIC", "Request magic expected") + kEchoed);
}

TEST(Framing, OtherMagicCloses) {
  for (std::string_view magic : {"\0req"s, "\0REX"s, "\0\0\0\0"s}) {
    World world;
    Connection& client = world.Connect();
    EXPECT_EQ(client.Say(kEcho + Raw(magic, kEchoReq, 2, "hi") + kEcho), kEchoed);
    EXPECT_EQ(client.next(), Next::kClose);
  }
}

TEST(Framing, UnknownTypesClose) {
  for (std::uint32_t type : {0U, 43U, 1000U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    World world;
    Connection& client = world.Connect();
    EXPECT_EQ(client.Say(Raw(kRequest, type, 0) + kEcho), "") << type;
    EXPECT_EQ(client.next(), Next::kClose) << type;
  }
}

TEST(Framing, TypesOfServersAndUnusedOnesAreRefused) {
  const std::string refused = ErrorRes("INVALID_COMMAND", "Command not expected");
  for (std::uint32_t type : {5U, 6U, 8U, 10U, 11U, 17U, 19U, 20U, 27U, 31U, 40U, 42U}) {
    World world;
    Connection& client = world.Connect();
    EXPECT_EQ(client.Say(Raw(kRequest, type, 0)), refused) << type;
    EXPECT_EQ(client.Say(Raw(kRequest, type, 5, "a\0b\0c"s) + kEcho), refused + kEchoed) << type;
    EXPECT_EQ(client.next(), Next::kBytes) << type;
  }
}

TEST(Framing, MissingNulsCloseAndSwallowNothing) {
  const std::string following = Req(PacketType::kSubmitJobBg, {"f", "u", "data"});
  for (const std::string& payload : {""s, "f"s, "f\0u"s, "function without an end"s}) {
    World world;
    Connection& client = world.Connect();
    const auto size = static_cast<std::uint32_t>(payload.size());
    EXPECT_EQ(client.Say(Raw(kRequest, kSubmitJobBg, size, payload)), "");
    EXPECT_EQ(client.next(), Next::kClose);
    EXPECT_EQ(client.Say(following), "");
    EXPECT_EQ(world.engine.Stats().ready, 0U);
  }
}

TEST(Framing, ArgumentsBeyondTheLimitClose) {
  World world;
  Connection& worker = world.Connect();
  const std::string too_large = ErrorRes("ARGUMENT_TOO_LARGE", "Function name too large");
  EXPECT_EQ(worker.Say(Raw(kRequest, kCanDo, 512, std::string(512, 'f'))), "");
  EXPECT_EQ(worker.Say(Raw(kRequest, kCanDo, 513, std::string(513, 'f'))), too_large);
  EXPECT_EQ(worker.Say(Raw(kRequest, kCanDo, 8192, std::string(8192, 'f'))), too_large);
  EXPECT_EQ(worker.next(), Next::kBytes);
  EXPECT_EQ(worker.Say(Raw(kRequest, kCanDo, 8193)), "");
  EXPECT_EQ(worker.next(), Next::kClose);

  Connection& client = world.Connect();
  EXPECT_EQ(client.Say(Raw(kRequest, kSubmitJobBg, 1'000'000, std::string(8192, 'f'))), "");
  EXPECT_EQ(client.next(), Next::kClose);
}

TEST(Framing, PayloadOfArgumentlessRequestsIsIgnored) {
  World world;
  Connection& worker = world.Connect();
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJob, {"payload"}) + kEcho),
            Res(PacketType::kNoJob) + kEchoed);
  const std::string large(300'000, 'x');
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJob, {large}).substr(0, 100'000)), "");
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJob, {large}).substr(100'000) + kEcho),
            Res(PacketType::kNoJob) + kEchoed);
}

TEST(Framing, OverlongUniqueIsRefusedWhateverItsWorkload) {
  World world;
  Connection& client = world.Connect();
  const std::string too_large = ErrorRes("ARGUMENT_TOO_LARGE", "Unique value too large");
  const std::string unique(65, 'u');
  for (std::size_t size : {0U, 10U, 100'000U}) {
    const std::string packet =
        Req(PacketType::kSubmitJob, {"f", unique, std::string(size, 'd')}) + kEcho;
    EXPECT_EQ(client.Say(packet), too_large + kEchoed);
    EXPECT_EQ(client.SayCut(packet, packet.size() / 2), too_large + kEchoed);
  }
}

TEST(Framing, OverlongReduceArgumentsAreRefused) {
  World world;
  Connection& client = world.Connect();
  const std::string too_large = ErrorRes("ARGUMENT_TOO_LARGE", "Unique value too large");
  const std::string longest(64, 'x');
  const std::string longer(65, 'x');
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitReduceJobBackground, {"f", longer, "r", "", "d"})),
            too_large);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitReduceJob, {"f", "u", longer, "", "d"})), too_large);
  EXPECT_EQ(
      client.Say(Req(PacketType::kSubmitReduceJobBackground, {"f", longest, longest, "", "d"})),
      Res(PacketType::kJobCreated, {Handle(1)}));
}

TEST(Framing, WorkloadOverTheLimitIsSkipped) {
  Options options = World::DefaultOptions();
  options.max_workload = 1000;
  World world(options);
  Connection& client = world.Connect();
  const std::string largest(1000, 'd');
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "", largest})),
            Res(PacketType::kJobCreated, {Handle(1)}));
  const std::string packet = Req(PacketType::kSubmitJobBg, {"f", "", largest + "d"}) + kEcho;
  const std::string refused = ErrorRes("ARGUMENT_TOO_LARGE", "Workload too large") + kEchoed;
  EXPECT_EQ(client.Say(packet), refused);
  EXPECT_EQ(client.SayCut(packet, 500), refused);
  EXPECT_EQ(world.engine.Stats().ready, 1U);
}

TEST(Framing, OtherDataOverTheLimitIsSkipped) {
  World world;
  Connection& client = world.Connect();
  const std::uint32_t too_much = kMaxData + 1;
  EXPECT_EQ(client.Say(Raw(kRequest, kEchoReq, too_much)), "");
  const std::string mebibyte(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) EXPECT_EQ(client.Say(mebibyte), "");
  EXPECT_EQ(client.Say("x" + kEcho), ErrorRes("ARGUMENT_TOO_LARGE", "Data too large") + kEchoed);
  const std::string report = "H:test:1\0"s + mebibyte;
  EXPECT_EQ(client.Say(Raw(kRequest, kWorkComplete, too_much + 9, report)), "");
  for (int i = 0; i < 63; ++i) EXPECT_EQ(client.Say(mebibyte), "");
  EXPECT_EQ(client.Say("x" + kEcho), ErrorRes("ARGUMENT_TOO_LARGE", "Data too large") + kEchoed);
}

TEST(Framing, LargeWorkloadGoesStraightIntoTheJob) {
  World world;
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  std::string workload(3'000'000, 'a');
  for (std::size_t i = 0; i < workload.size(); i += 997) workload[i] = static_cast<char>(i);
  const std::string packet = Req(PacketType::kSubmitJobBg, {"f", "u", workload});
  std::string heard = client.Say(packet.substr(0, 1000));
  for (std::size_t at = 1000; at < packet.size(); at += 65536) {
    heard += client.Say(packet.substr(at, 65536));
  }
  EXPECT_EQ(heard, Res(PacketType::kJobCreated, {Handle(1)}));
  EXPECT_GT(client.direct_bytes(), 2'900'000U);
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJobUniq)),
            Res(PacketType::kJobAssignUniq, {Handle(1), "f", "u", workload}));
}

TEST(Framing, LargeResultIsGatheredAndForwarded) {
  World world;
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  client.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  const std::string result(1'000'000, 'r');
  const std::string packet = Req(PacketType::kWorkComplete, {Handle(1), result});
  for (std::size_t at = 0; at < packet.size(); at += 50'000) {
    EXPECT_EQ(worker.Say(packet.substr(at, 50'000)), "");
  }
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkComplete, {Handle(1), result}));
}

TEST(Framing, UnfinishedPacketsAreForgottenWithTheirConnection) {
  World world;
  Connection& client = world.Connect();
  const std::string packet = Req(PacketType::kSubmitJobBg, {"f", "u", std::string(100'000, 'd')});
  client.Say(packet.substr(0, 70'000));
  world.Disconnect(client);
  EXPECT_EQ(world.engine.Stats().ready, 0U);
}

TEST(Framing, AnUnfinishedSubmitIsSeenByNobody) {
  World world;
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  const std::string packet = Req(PacketType::kSubmitJobBg, {"f", "u", "workload"});
  client.Say(packet.substr(0, packet.size() - 1));
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob)),
            Res(PacketType::kNoJob));
  EXPECT_EQ(client.Say(packet.substr(packet.size() - 1)),
            Res(PacketType::kJobCreated, {Handle(1)}));
}

TEST(Framing, LongBatchYieldsAndLosesNothing) {
  World world;
  Connection& client = world.Connect();
  const std::string data(10'000, 'e');
  std::string asked;
  std::string answered;
  for (int i = 0; i < 100; ++i) {
    asked += Req(PacketType::kEchoReq, {data});
    answered += Res(PacketType::kEchoRes, {data});
  }
  EXPECT_EQ(client.Say(asked), answered);
  EXPECT_GE(client.yields(), 3);
  EXPECT_EQ(client.unused(), 0U);
}

TEST(Framing, NothingIsAnsweredBeforeItIsWhole) {
  World world;
  Connection& client = world.Connect();
  const std::string packet = Req(PacketType::kEchoReq, {"data"});
  for (char byte : packet.substr(0, packet.size() - 1)) {
    EXPECT_EQ(client.Say(std::string(1, byte)), "");
  }
  EXPECT_EQ(client.Say(packet.substr(packet.size() - 1)), Res(PacketType::kEchoRes, {"data"}));
}

TEST(Framing, ALongEchoThatArrivesInPiecesIsReturnedWhole) {
  World world;
  Connection& client = world.Connect();
  std::string data(300'000, 'e');
  for (std::size_t at = 0; at < data.size(); ++at) data[at] = static_cast<char>(at % 251);
  const std::string packet = Req(PacketType::kEchoReq, {data});
  EXPECT_EQ(client.SayCut(packet + kEcho, 70'000), Res(PacketType::kEchoRes, {data}) + kEchoed);
  EXPECT_EQ(client.SayCut(packet + kEcho, 20), Res(PacketType::kEchoRes, {data}) + kEchoed);
  EXPECT_GT(client.direct_reads(), 0);
}

}  // namespace
}  // namespace gearstalk::gearman
