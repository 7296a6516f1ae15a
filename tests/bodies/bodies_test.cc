// Bodies that leave memory and come back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "tests/bodies/bodies_case.h"
#include "tests/proto_beanstalk/broker.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(BodiesTest, LeaveOnceTheyAreOnDisk) {
  journal->KeepOffDisk(0);
  Put();
  EXPECT_EQ(1U, Counts().in_memory);
  journal->KeepOffDisk(UINT64_MAX);
  broker.Pass(0);
  EXPECT_EQ(0U, Counts().in_memory);
  EXPECT_EQ(1U, Counts().in_journal);
  EXPECT_EQ(300U, Counts().journal_bytes);
}

TEST_F(BodiesTest, SmallOnesStay) {
  Put(127);
  EXPECT_TRUE(Of(1).has_body());
  EXPECT_EQ(0U, Counts().in_journal);
}

TEST_F(BodiesTest, NothingLeavesWithoutALimit) {
  Limit(0);
  PutMany(20);
  EXPECT_EQ(20U, Counts().in_memory);
}

TEST_F(BodiesTest, AReserveThatDoesNotWaitGetsTheJob) {
  Put();
  EXPECT_EQ("", a.Say("reserve-with-timeout 0\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  EXPECT_EQ("TIMED_OUT\r\n", b.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), a.Hear());
  EXPECT_EQ("DELETED\r\n", a.Say("delete 1\r\n"));
}

TEST_F(BodiesTest, CommandsBehindTheReplyWaitAndOthersDoNot) {
  Put();
  EXPECT_EQ("", a.Say("reserve\r\nuse other\r\n"));
  EXPECT_EQ("USING b\r\n", b.Say("use b\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1) + "USING other\r\n", a.Hear());
}

TEST_F(BodiesTest, TtrBeginsWithTheReply) {
  Put();
  EXPECT_EQ("", a.Say("reserve\r\n"));
  broker.Pass(60 * kSecond);
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), a.Hear());
  EXPECT_EQ(10 * kSecond, broker.engine.TimeLeft(broker.clock.Now(), Of(1)));
  broker.Pass(11 * kSecond);
  EXPECT_EQ(JobState::kReady, Of(1).state());
  EXPECT_EQ(1U, Of(1).extra().timeouts);
}

TEST_F(BodiesTest, APeekWaitsAndBringsNothingBackForLong) {
  Put();
  EXPECT_EQ("", b.Say("peek 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), b.Hear());
  EXPECT_FALSE(Of(1).has_body());
}

TEST_F(BodiesTest, ALargeBodyStaysUntilItIsSent) {
  Put(60'000);
  EXPECT_EQ("", b.Say("peek 1\r\n"));
  journal->AnswerAll();
  b.Run();
  broker.Pass(0);
  EXPECT_TRUE(Of(1).has_body()) << "the reply is sent from where it lies";
  EXPECT_EQ(Line("FOUND", 1, 60'000), b.Hear());
  broker.Pass(0);
  EXPECT_FALSE(Of(1).has_body());
}

TEST_F(BodiesTest, TheReplyComesThoughItsJobIsDeletedMeanwhile) {
  Put();
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_EQ(0U, Counts().in_memory + Counts().in_journal);
}

TEST_F(BodiesTest, ACancelledHandOutStillComes) {
  Put();
  EXPECT_EQ("", a.Say("reserve\r\n"));
  EXPECT_TRUE(broker.engine.Cancel(broker.clock.Now(), 1).ok());
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), a.Hear());
}

TEST_F(BodiesTest, WhoDisconnectsGivesTheJobBack) {
  Put();
  auto c = std::make_unique<beanstalk::Client>(broker);
  EXPECT_EQ("", c->Say("reserve\r\n"));
  c.reset();
  EXPECT_EQ(JobState::kReady, Of(1).state());
  journal->AnswerAll();
  broker.Pass(0);
  EXPECT_EQ("", b.Say("reserve\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), b.Hear());
}

TEST_F(BodiesTest, SeveralWhoWaitShareOneRead) {
  Put();
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ("", b.Say("reserve\r\n"));
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_EQ(Line("RESERVED", 1), b.Hear());
}

TEST_F(BodiesTest, AConsumerThatWaitsGetsADelayedJobWhenItsBodyIsThere) {
  EXPECT_EQ("", b.Say("reserve\r\n"));
  Put(300, "0 5 10");
  broker.Pass(0);
  EXPECT_FALSE(Of(1).has_body());
  broker.Pass(6 * kSecond);
  EXPECT_EQ("", b.Hear());
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), b.Hear());
}

TEST_F(BodiesTest, ADamagedHandOutGoesOnToTheNextJobAndCountsNowhere) {
  PutMany(2);
  journal->Damage(1);
  EXPECT_EQ("", a.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("", a.Hear());
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  EXPECT_EQ("damaged", Of(1).texts()->cause_text);
  EXPECT_TRUE(IsDamaged(Of(1)));
  EXPECT_EQ(0U, Of(1).reserves);
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 2), a.Hear());
  EXPECT_EQ(1U, broker.engine.Stats().reserves);
  EXPECT_EQ(1U, Counts().damaged);
}

TEST_F(BodiesTest, ADamagedJobIsMovedAsAFailedOneAndBuriedThere) {
  for (const auto& [key, value] : {std::pair{"on_failure", "move"}, {"dead_state", "ready"}}) {
    ASSERT_TRUE(broker.engine.SetPolicy(broker.clock.Now(), "default", key, value).status.ok());
  }
  Put();
  journal->Damage(1);
  EXPECT_EQ("", a.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("TIMED_OUT\r\n", a.Hear());
  EXPECT_EQ("default", Of(1).origin());
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  EXPECT_EQ("damaged", CauseOf(Of(1)));
  EXPECT_THAT(b.Say("stats-job 1\r\n"), HasSubstr("cause: \"damaged\""));
}

TEST_F(BodiesTest, ADamagedLastJobIsATimeoutOrAWait) {
  Put();
  journal->Damage(1);
  EXPECT_EQ("", a.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("TIMED_OUT\r\n", a.Hear());
  EXPECT_EQ("KICKED 1\r\n", b.Say("kick 1\r\n"));
  EXPECT_EQ("", a.Say("reserve-with-timeout 5\r\n"));
  broker.Pass(2 * kSecond);
  journal->AnswerAll();
  EXPECT_EQ("", a.Hear()) << "it waits for another";
  broker.Pass(4 * kSecond);
  EXPECT_EQ("TIMED_OUT\r\n", a.Hear());
}

TEST_F(BodiesTest, PeekAndReserveJobOfADamagedBodyAreErrors) {
  PutMany(2);
  journal->Damage(1);
  journal->Damage(2);
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ("", b.Say("reserve-job 2\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  EXPECT_EQ("INTERNAL_ERROR\r\n", b.Hear());
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  EXPECT_EQ(JobState::kBuried, Of(2).state());
}

TEST_F(BodiesTest, AKickTriesAgainBeforeTheJobIsReady) {
  Put();
  journal->Damage(1);
  EXPECT_EQ("", a.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("TIMED_OUT\r\n", a.Hear());
  EXPECT_EQ("KICKED 1\r\n", b.Say("kick 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  journal->Repair();
  EXPECT_EQ("KICKED 1\r\n", b.Say("kick 1\r\n"));
  EXPECT_EQ("TIMED_OUT\r\n", a.Say("reserve-with-timeout 0\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(JobState::kReady, Of(1).state());
  const std::string said = a.Say("reserve-with-timeout 0\r\n");
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), said + a.Hear());
}

TEST_F(BodiesTest, AKickOfManyTriesEachDamagedBodyOnce) {
  PutMany(3);
  for (JobId id = 1; id <= 3; ++id) {
    journal->Damage(id);
    EXPECT_EQ("", a.Say("peek " + std::to_string(id) + "\r\n"));
    journal->AnswerAll();
    EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  }
  EXPECT_EQ("KICKED 3\r\n", b.Say("kick 4000000000\r\n"));
  journal->AnswerAll();
  for (JobId id = 1; id <= 3; ++id) EXPECT_EQ(JobState::kBuried, Of(id).state());
}

TEST_F(BodiesTest, AJobThatIsBuriedAlreadyIsDamagedWhereItIs) {
  PutMany(2);
  for (const char* const id : {"1", "2"}) {
    EXPECT_EQ("", a.Say("reserve\r\n"));
    journal->AnswerAll();
    a.Hear();
    EXPECT_EQ("BURIED\r\n", a.Say("bury " + std::string(id) + " 0\r\n"));
  }
  broker.Pass(0);
  journal->Damage(1);
  EXPECT_EQ("", a.Say("peek-buried\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  EXPECT_TRUE(IsDamaged(Of(1)));
  EXPECT_EQ(1U, Of(1).extra().buries);
  EXPECT_LT(Of(1).extra().burial, Of(2).extra().burial);
  EXPECT_EQ("KICKED 1\r\n", b.Say("kick 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(JobState::kBuried, Of(1).state());
}

// As after a compaction, or an export.
TEST_F(BodiesTest, ADamagedJobWhoseRecordHasNoBodyIsNeverReadyWithoutIt) {
  Put();
  journal->Damage(1);
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  std::vector<OwnedRecord> records;
  broker.engine.records().Capture(1, [&](Record record) {
    record.body_left_out = 0;
    records.emplace_back(record);
  });
  StartedAgain second(std::move(records));
  second.Start();
  beanstalk::Client client(second.broker);
  EXPECT_TRUE(IsDamaged(*second.broker.engine.Find(1)));
  EXPECT_EQ("KICKED 1\r\n", client.Say("kick 1\r\n"));
  second.journal->AnswerAll();
  EXPECT_EQ(JobState::kBuried, second.broker.engine.Find(1)->state());
  EXPECT_EQ("", client.Say("peek 1\r\n"));
  second.journal->AnswerAll();
  EXPECT_EQ("INTERNAL_ERROR\r\n", client.Hear());
}

TEST_F(BodiesTest, ADiskThatFailsIsTriedAgainAndNothingIsBuried) {
  Put();
  journal->Fail(true);
  EXPECT_EQ("", a.Say("reserve\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("", a.Hear());
  EXPECT_EQ("the disk is gone", broker.engine.bodies().trouble());
  EXPECT_EQ(0U, journal->asked());
  broker.Pass(kSecond);
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  journal->Fail(false);
  broker.Pass(kSecond);
  journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), a.Hear());
  EXPECT_EQ("", broker.engine.bodies().trouble());
}

TEST_F(BodiesTest, TroubleLastsWhileAnyBodyCannotBeRead) {
  PutMany(2);
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ("", b.Say("peek 2\r\n"));
  journal->Fail(true);
  journal->AnswerOne();
  journal->Fail(false);
  journal->AnswerOne();
  EXPECT_EQ(Line("FOUND", 2), b.Hear());
  EXPECT_EQ("the disk is gone", broker.engine.bodies().trouble());
  broker.Pass(kSecond);
  EXPECT_EQ("the disk is gone", broker.engine.bodies().trouble()) << "it is being read";
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_EQ("", broker.engine.bodies().trouble());
}

TEST_F(BodiesTest, NewOnesLeaveFirstAndTheNextOnesStay) {
  Limit(400 * 300);
  PutMany(1000);
  EXPECT_LE(Counts().memory_bytes, 400U * 300);
  EXPECT_GT(Counts().in_memory, 350U);
  for (std::uint64_t id = 1; id <= 300; ++id) EXPECT_TRUE(Of(id).has_body()) << id;
}

TEST_F(BodiesTest, ALowerLimitHoldsAtOnce) {
  Limit(1'000'000);
  PutMany(1000);
  EXPECT_EQ(1000U, Counts().in_memory);
  Limit(300 * 300);
  broker.Pass(0);
  EXPECT_LE(Counts().memory_bytes, 300U * 300);
  Limit(1);
  broker.Pass(0);
  EXPECT_EQ(0U, Counts().in_memory);
}

TEST_F(BodiesTest, TheNextOnesOfATubeAreReadAhead) {
  Limit(1);
  PutMany(500);
  Limit(100'000);
  std::uint64_t waited = 0;
  for (std::uint64_t id = 1; id <= 500; ++id) {
    std::string said = b.Say("reserve\r\n");
    waited += said.empty();
    journal->AnswerAll();
    said += b.Hear();
    ASSERT_EQ(Line("RESERVED", id), said);
    ASSERT_EQ("DELETED\r\n", b.Say("delete " + std::to_string(id) + "\r\n"));
    broker.Pass(0);
  }
  EXPECT_LT(waited, 10U);
  EXPECT_EQ(waited, Counts().waits);
}

TEST_F(BodiesTest, AMemoryLimitRefusesNothingForBodiesThatMayLeave) {
  journal->KeepOffDisk(0);
  broker.engine.SetLimits({.memory = 200'000, .bodies = 1});
  PutMany(50, 20'000);
  EXPECT_EQ(50U, Counts().in_memory);
  journal->KeepOffDisk(UINT64_MAX);
}

TEST_F(BodiesTest, BodiesMakeRoomWhenMemoryIsFull) {
  broker.engine.SetLimits({.memory = JobMemory() + 200'000, .bodies = 10'000'000});
  PutMany(100, 20'000);
  EXPECT_LE(Counts().memory_bytes, 220'000U);
  EXPECT_EQ(100U, Counts().in_memory + Counts().in_journal);
}

TEST_F(BodiesTest, AColdJobIsMovedAndComesBackFromTheJournal) {
  PutMany(2);
  EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), 1, "other").ok());
  EXPECT_FALSE(Of(1).has_body());
  StartedAgain second(journal->kept().records());
  second.Start();
  EXPECT_EQ(2U, second.broker.engine.Stats().bodies.in_journal) << "they left during the replay";
  beanstalk::Client client(second.broker);
  EXPECT_EQ("WATCHING 2\r\n", client.Say("watch other\r\n"));
  EXPECT_EQ("", client.Say("reserve\r\n"));
  second.journal->AnswerAll();
  EXPECT_EQ(Line("RESERVED", 1), client.Hear());
  EXPECT_EQ("other", second.broker.engine.Find(1)->tube().name());
  EXPECT_THAT(second.broker.engine.CheckInvariants({}), Not(HasSubstr("bod")));
}

class WorkerBodies : public ::testing::Test {
 protected:
  WorkerBodies() {
    journal->Answer(world.engine.records());
    world.engine.SetLimits({.bodies = 1});
    worker.Say(gearman::Req(gearman::PacketType::kCanDo, {"f"}));
  }
  void Submit(std::string_view body) {
    client.Say(gearman::Req(gearman::PacketType::kSubmitJobBg, {"f", "", body}));
    world.Pass(0);
  }
  static std::string Assigned(std::uint64_t id, std::string_view body) {
    return gearman::Res(gearman::PacketType::kJobAssign, {gearman::Handle(id), "f", body});
  }

  ShelfJournal* journal = new ShelfJournal;
  gearman::World world{gearman::World::DefaultOptions(), {}, std::unique_ptr<Journal>(journal)};
  gearman::Connection& client = world.Connect();
  gearman::Connection& worker = world.Connect();
};

TEST_F(WorkerBodies, GrabGetsAColdJobAndWhatIsBehindWaits) {
  const std::string body(5000, 'w');
  Submit(body);
  EXPECT_EQ("", worker.Say(gearman::Req(gearman::PacketType::kGrabJob) +
                           gearman::Req(gearman::PacketType::kEchoReq, {"x"})));
  journal->AnswerAll();
  worker.Run();
  EXPECT_EQ(Assigned(1, body) + gearman::Res(gearman::PacketType::kEchoRes, {"x"}), worker.Hear());
}

TEST_F(WorkerBodies, AJobWhoseTubeIsGoneIsStillAssigned) {
  const std::string body(500, 'w');
  Submit(body);
  EXPECT_EQ("", worker.Say(gearman::Req(gearman::PacketType::kGrabJob)));
  EXPECT_TRUE(world.engine.Cancel(world.clock.Now(), 1).ok());
  journal->AnswerAll();
  worker.Run();
  EXPECT_EQ(Assigned(1, body), worker.Hear());
}

TEST_F(WorkerBodies, ADamagedJobIsNoJob) {
  Submit(std::string(500, 'w'));
  journal->Damage(1);
  EXPECT_EQ("", worker.Say(gearman::Req(gearman::PacketType::kGrabJob)));
  journal->AnswerAll();
  worker.Run();
  EXPECT_EQ(gearman::Res(gearman::PacketType::kNoJob), worker.Hear());
  EXPECT_TRUE(IsDamaged(*world.engine.Find(1)));
}

TEST_F(WorkerBodies, AnEqualSubmitWaitsForTheColdBody) {
  const std::string body(500, 'w');
  const auto submit = [&](gearman::PacketType type) {
    return gearman::Req(type, {"f", "-", body}) +
           gearman::Req(gearman::PacketType::kEchoReq, {"x"});
  };
  const std::string created = gearman::Res(gearman::PacketType::kJobCreated, {gearman::Handle(1)});
  const std::string echo = gearman::Res(gearman::PacketType::kEchoRes, {"x"});
  EXPECT_EQ(created + echo, client.Say(submit(gearman::PacketType::kSubmitJobBg)));
  world.Pass(0);
  for (const auto type : {gearman::PacketType::kSubmitJobBg, gearman::PacketType::kSubmitJob}) {
    EXPECT_EQ("", client.Say(submit(type)));
    journal->AnswerAll();
    client.Run();
    EXPECT_EQ(created + echo, client.Hear());
    world.Pass(0);
  }
  EXPECT_EQ(1U, world.engine.CountWaiters(*world.engine.Find(1)));
  EXPECT_EQ(1U, world.engine.Stats().ready);
}

TEST_F(WorkerBodies, ASubmitBeforeTheEndOfTheConnectionIsDone) {
  const std::string body(500, 'w');
  const std::string submit = gearman::Req(gearman::PacketType::kSubmitJobBg, {"f", "-", body});
  client.Say(submit);
  world.Pass(0);
  EXPECT_EQ("",
            client.Say(submit + gearman::Req(gearman::PacketType::kSubmitJobBg, {"g", "", "x"})));
  client.ReceiveEof();
  journal->AnswerAll();
  client.Run();
  EXPECT_EQ(2U, world.engine.Stats().ready);
}

TEST_F(WorkerBodies, AWorkerThatLeavesGivesTheJobBack) {
  Submit(std::string(500, 'w'));
  EXPECT_EQ("", worker.Say(gearman::Req(gearman::PacketType::kGrabJob)));
  world.Disconnect(worker);
  EXPECT_EQ(JobState::kReady, world.engine.Find(1)->state());
  journal->AnswerAll();
}

}  // namespace
}  // namespace gearstalk
