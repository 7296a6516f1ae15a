// Nobody hears of a change before it is durable.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/proto_gearman/world.h"
#include "tests/support/kept_journal.h"

namespace gearstalk::gearman {
namespace {

class DurableTest : public testing::Test {
 protected:
  // Sends without hearing.
  static void Send(Connection& connection, const std::string& bytes) {
    EXPECT_EQ(connection.HearDurable(), "");
    connection.Receive(bytes);
    EXPECT_EQ(connection.unused(), 0U);
  }

  DurableTest() { journal.HoldBack(); }

  // How many records of jobs were appended.
  std::ptrdiff_t Puts() const {
    return std::count_if(journal.records().begin(), journal.records().end(),
                         [](const OwnedRecord& r) { return r.View().kind == Record::Kind::kPut; });
  }

  World world{World::DefaultOptions(), {}, std::make_unique<KeptJournal>()};
  KeptJournal& journal = static_cast<KeptJournal&>(*world.journal);
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
  const std::string echo = Req(PacketType::kEchoReq, {"e"});
  const std::string echoed = Res(PacketType::kEchoRes, {"e"});
};

TEST_F(DurableTest, BackgroundJobIsAcknowledgedWhenStored) {
  Send(client, echo + Req(PacketType::kSubmitJobBg, {"f", "", "d"}) + echo);
  EXPECT_EQ(client.HearDurable(), echoed);
  journal.MakeDurable(journal.last());
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}) + echoed);
}

// Only that ids are taken is stored, a block of them at a time.
TEST_F(DurableTest, ForegroundJobIsNotStored) {
  Send(client, Req(PacketType::kSubmitJob, {"f", "", "d"}));
  journal.MakeDurable(journal.last());
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}));
  Send(client, Req(PacketType::kSubmitJob, {"f", "", "d"}));
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(Puts(), 0);
}

TEST_F(DurableTest, BackgroundSubmitMakesAForegroundJobDurable) {
  Send(client, Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  journal.MakeDurable(journal.last());
  client.HearDurable();
  Connection& other = world.Connect();
  Send(other, Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  EXPECT_EQ(Puts(), 1);
  EXPECT_EQ(other.HearDurable(), "");
  journal.MakeDurable(journal.last());
  EXPECT_EQ(other.HearDurable(), Res(PacketType::kJobCreated, {Handle(1)}));
}

TEST_F(DurableTest, WorkerSeesAJobWhenItIsStored) {
  Send(client, Req(PacketType::kSubmitJobBg, {"f", "", "d"}));
  Send(worker, Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  EXPECT_EQ(worker.HearDurable(), "");
  journal.MakeDurable(journal.last());
  EXPECT_EQ(worker.HearDurable(), Res(PacketType::kJobAssign, {Handle(1), "f", "d"}));
}

TEST_F(DurableTest, EndOfAJobIsToldWhenStored) {
  Send(client, Req(PacketType::kSubmitJobBg, {"f", "u", "d"}) +
                   Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  journal.MakeDurable(journal.last());
  client.HearDurable();
  Send(worker, Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  worker.HearDurable();
  Send(worker, Req(PacketType::kWorkData, {Handle(1), "part"}) +
                   Req(PacketType::kWorkComplete, {Handle(1), "r"}));
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kWorkData, {Handle(1), "part"}));
  journal.MakeDurable(journal.last());
  EXPECT_EQ(client.HearDurable(), Res(PacketType::kWorkComplete, {Handle(1), "r"}));
}

TEST_F(DurableTest, AdminChangesAreToldWhenStored) {
  Send(client, "create function f\n");
  EXPECT_EQ(client.HearDurable(), "");
  journal.MakeDurable(journal.last());
  EXPECT_EQ(client.HearDurable(), "OK\r\n");
}

TEST_F(DurableTest, RefusalOfTheJournal) {
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  journal.RefuseAll();
  const std::string refused = ErrorRes("QUEUE_ERROR", "QUEUE_ERROR");
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "d"})), refused);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJob, {"g", "", "d"})),
            Res(PacketType::kJobCreated, {Handle(kFirstSpareId)}));
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob) +
                       Req(PacketType::kWorkComplete, {Handle(1), "r"})),
            Res(PacketType::kJobAssign, {Handle(1), "f", "d"}) + refused);
  const std::string text = "ERR QUEUE_ERROR QUEUE_ERROR\r\n";
  EXPECT_EQ(client.Say("create function h\n"), text);
  EXPECT_EQ(client.Say("cancel job H:test:1\n"), text);
}

}  // namespace
}  // namespace gearstalk::gearman
