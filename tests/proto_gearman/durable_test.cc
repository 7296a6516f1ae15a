// Nobody hears of a change before it is durable.

#include <gtest/gtest.h>

#include <string>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

class DurableTest : public testing::Test {
 protected:
  // Sends without hearing.
  static void Send(Connection& connection, const std::string& bytes) {
    EXPECT_EQ(connection.HearDurable(), "");
    std::string_view rest = bytes;
    Session& session = const_cast<Session&>(*connection.session());
    EXPECT_EQ(session.OnInput(rest, Session::Scope::kAll).bytes, rest.size());
  }

  World world{World::DefaultOptions(), {}, /*persistent=*/true};
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  const std::string echo = Req(PacketType::kEchoReq, {"e"});
  const std::string echoed = Res(PacketType::kEchoRes, {"e"});
};

TEST_F(DurableTest, BackgroundJobIsAcknowledgedWhenStored) {
  Send(client, echo + Req(PacketType::kSubmitJobBg, {"f", "", "d"}) + echo);
  EXPECT_EQ(client.HearDurable(), echoed);
  world.journal.durable = world.journal.appended;
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}) + echoed);
}

TEST_F(DurableTest, ForegroundJobIsNotStored) {
  Send(client, Req(PacketType::kSubmitJob, {"f", "", "d"}));
  EXPECT_EQ(world.journal.puts, 0);
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}));
}

TEST_F(DurableTest, BackgroundSubmitMakesAForegroundJobDurable) {
  Send(client, Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  client.HearDurable();
  Connection& other = world.Connect();
  Send(other, Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  EXPECT_EQ(world.journal.puts, 1);
  EXPECT_EQ(other.HearDurable(), "");
  world.journal.durable = world.journal.appended;
  EXPECT_EQ(other.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}));
}

TEST_F(DurableTest, WorkerSeesAJobWhenItIsStored) {
  Send(client, Req(PacketType::kSubmitJobBg, {"f", "", "d"}));
  Send(worker, Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  EXPECT_EQ(worker.HearDurable(), "");
  world.journal.durable = world.journal.appended;
  EXPECT_EQ(worker.HearDurable(), Res(PacketType::kJobAssign, {Handle(1), "f", "d"}));
}

TEST_F(DurableTest, EndOfAJobIsToldWhenStored) {
  Send(client, Req(PacketType::kSubmitJobBg, {"f", "u", "d"}) +
                   Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  world.journal.durable = world.journal.appended;
  client.HearDurable();
  Send(worker, Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  worker.HearDurable();
  Send(worker, Req(PacketType::kWorkData, {Handle(1), "part"}) +
                   Req(PacketType::kWorkComplete, {Handle(1), "r"}));
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kWorkData, {Handle(1), "part"}));
  world.journal.durable = world.journal.appended;
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kWorkComplete, {Handle(1), "r"}));
}

TEST_F(DurableTest, AdminChangesAreToldWhenStored) {
  Send(client, "create function f\n");
  EXPECT_EQ(client.HearDurable(), "");
  world.journal.durable = world.journal.appended;
  EXPECT_EQ(client.HearDurable(), "OK\r\n");
}

TEST_F(DurableTest, RefusalOfTheJournal) {
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  world.journal.accepts = false;
  const std::string refused = ErrorRes("QUEUE_ERROR", "QUEUE_ERROR");
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "d"})), refused);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJob, {"g", "", "d"})),
            Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob) +
                       Req(PacketType::kWorkComplete, {Handle(1), "r"})),
            Res(PacketType::kJobAssign, {Handle(1), "f", "d"}) + refused);
  const std::string text = "ERR QUEUE_ERROR QUEUE_ERROR\r\n";
  EXPECT_EQ(client.Say("create function h\n"), text);
  EXPECT_EQ(client.Say("cancel job H:test:1\n"), text);
}

}  // namespace
}  // namespace gearstalk::gearman
