// However a conversation is cut into reads, its answers are the same.

#include <gtest/gtest.h>

#include <string>

#include "tests/proto_gearman/conversation.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

TEST(Split, OneReadGivesTheExpectedAnswers) {
  World world;
  Connection& connection = world.Connect();
  const std::string workload(300, 'w');
  const std::string wrong = ErrorRes("INVALID_COMMAND", "Command not expected");
  EXPECT_EQ(
      connection.Say(Conversation()),
      "OK 1.2.3\n" + Res(PacketType::kOptionRes, {"exceptions"}) + Res(PacketType::kNoop) +
          Res(PacketType::kJobCreated, {Handle(1)}) + Res(PacketType::kJobCreated, {Handle(2)}) +
          Res(PacketType::kJobCreated, {Handle(3)}) + Res(PacketType::kJobCreated, {Handle(4)}) +
          ErrorRes("ARGUMENT_TOO_LARGE", "Unique value too large") + "f\t2\t0\t1\ng\t2\t0\t1\n.\n" +
          Res(PacketType::kJobAssign, {Handle(2), "g", "second"}) +
          Res(PacketType::kJobAssignUniq, {Handle(1), "f", "u", workload}) +
          Res(PacketType::kJobAssignAll, {Handle(4), "f", "v", "sum", "third"}) +
          Res(PacketType::kNoJob) + Res(PacketType::kWorkStatus, {Handle(1), "1", "2"}) +
          Res(PacketType::kWorkStatus, {Handle(1), "1", "0"}) +
          Res(PacketType::kStatusRes, {Handle(1), "1", "1", "1", "0"}) +
          Res(PacketType::kStatusResUnique, {"v", "1", "1", "0", "0", "1"}) +
          Res(PacketType::kWorkData, {Handle(1), "part"}) +
          Res(PacketType::kWorkComplete, {Handle(1), "result"}) +
          Res(PacketType::kWorkException, {Handle(4), "what"}) +
          ErrorRes("JOB_NOT_FOUND", "Job given in work result not found") +
          ErrorRes("INVALID_MAGIC", "Request magic expected") + wrong + wrong +
          "H:test:2\t0\t0\t1\nH:test:3\t0\t0\t1\n.\n"
          "ERR UNKNOWN_COMMAND Unknown+server+commandnonsense\r\n"
          "10 127.0.0.1 me : g f\n.\n" +
          Res(PacketType::kEchoRes, {"end"}));
  EXPECT_EQ(connection.next(), Next::kClose);
}

TEST(Split, EveryCutGivesTheSameAnswers) {
  const std::string conversation = Conversation();
  World whole_world;
  const std::string answers = whole_world.Connect().Say(conversation);
  const std::size_t last = conversation.size() - Req(PacketType::kEchoReq, {"abandoned"}).size();
  for (std::size_t cut = 1; cut < last; ++cut) {
    World world;
    Connection& connection = world.Connect();
    ASSERT_EQ(connection.SayCut(conversation, cut), answers) << "cut at " << cut;
    ASSERT_EQ(connection.next(), Next::kClose) << "cut at " << cut;
  }
}

TEST(Split, ByteByByteGivesTheSameAnswers) {
  const std::string conversation = Conversation();
  World whole_world;
  const std::string answers = whole_world.Connect().Say(conversation);
  World world;
  Connection& connection = world.Connect();
  std::string heard;
  for (char byte : conversation) {
    heard += connection.Say(std::string(1, byte));
    if (connection.next() == Next::kClose) break;
  }
  EXPECT_EQ(heard, answers);
}

}  // namespace
}  // namespace gearstalk::gearman
