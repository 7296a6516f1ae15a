// What clients send and hear: submissions, results, questions, options.

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

const std::string kCreated = Res(PacketType::kJobCreated, {Handle(1)});

std::string Assign(std::uint64_t id, std::string_view function, std::string_view unique,
                   std::string_view data) {
  return Res(PacketType::kJobAssignUniq, {Handle(id), function, unique, data});
}

class ClientTest : public testing::Test {
 protected:
  std::string Grab() { return worker.Say(Req(PacketType::kGrabJobUniq)); }
  std::string Submit(std::string_view unique, std::string_view data) {
    return client.Say(Req(PacketType::kSubmitJob, {"f", unique, data}));
  }

  World world;
  Connection& client = world.Connect();
  Connection& other = world.Connect();
  Connection& worker = world.Connect();
  const std::string can_do = worker.Say(Req(PacketType::kCanDo, {"f"}));
};

TEST_F(ClientTest, ForegroundJobTellsItsClient) {
  EXPECT_EQ(Submit("u", "data"), kCreated);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "data"));
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkData, {Handle(1), "part"}) +
                       Req(PacketType::kWorkWarning, {Handle(1), "careful"}) +
                       Req(PacketType::kWorkStatus, {Handle(1), "1", "2"}) +
                       Req(PacketType::kWorkComplete, {Handle(1), "result"})),
            "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkData, {Handle(1), "part"}) +
                               Res(PacketType::kWorkWarning, {Handle(1), "careful"}) +
                               Res(PacketType::kWorkStatus, {Handle(1), "1", "2"}) +
                               Res(PacketType::kWorkComplete, {Handle(1), "result"}));
}

TEST_F(ClientTest, BackgroundJobTellsNobody) {
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "data"})), kCreated);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "data"));
  worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "result"}));
  EXPECT_EQ(client.Hear(), "");
}

TEST_F(ClientTest, OneConnectionMayBeClientAndWorker) {
  EXPECT_EQ(
      worker.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}) + Req(PacketType::kGrabJobUniq) +
                 Req(PacketType::kWorkComplete, {Handle(1), "r"})),
      kCreated + Assign(1, "f", "u", "d") + Res(PacketType::kWorkComplete, {Handle(1), "r"}));
  worker.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}) + Req(PacketType::kGrabJobUniq));
  world.Disconnect(worker);
  EXPECT_EQ(world.engine.NextJob(0), nullptr);
}

TEST_F(ClientTest, PrioritiesLeaveInOrder) {
  for (const auto& [type, data] : {std::pair{PacketType::kSubmitJobLow, "low"},
                                   {PacketType::kSubmitJobLowBg, "low bg"},
                                   {PacketType::kSubmitJob, "normal"},
                                   {PacketType::kSubmitJobBg, "normal bg"},
                                   {PacketType::kSubmitJobHighBg, "high bg"},
                                   {PacketType::kSubmitJobHigh, "high"}}) {
    client.Say(Req(type, {"f", "", data}));
  }
  EXPECT_EQ(Grab(), Assign(5, "f", "", "high bg"));
  EXPECT_EQ(Grab(), Assign(6, "f", "", "high"));
  EXPECT_EQ(Grab(), Assign(3, "f", "", "normal"));
  EXPECT_EQ(Grab(), Assign(4, "f", "", "normal bg"));
  EXPECT_EQ(Grab(), Assign(1, "f", "", "low"));
  EXPECT_EQ(Grab(), Assign(2, "f", "", "low bg"));
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
}

TEST_F(ClientTest, PrioritiesAreThoseOfTheOptions) {
  const auto priorities = [](World& of) {
    of.Connect().Say(Req(PacketType::kSubmitJobHigh, {"f", "", ""}) +
                     Req(PacketType::kSubmitJob, {"f", "", ""}) +
                     Req(PacketType::kSubmitJobLow, {"f", "", ""}));
    return std::array{of.engine.Find(1)->priority, of.engine.Find(2)->priority,
                      of.engine.Find(3)->priority};
  };
  EXPECT_EQ(priorities(world), (std::array{512U, 65536U, 131072U}));
  Options options = World::DefaultOptions();
  options.priorities = {1, 2, 3};
  World changed(options);
  EXPECT_EQ(priorities(changed), (std::array{1U, 2U, 3U}));
}

TEST_F(ClientTest, EmptyNamesAndWorkloadsAreLegal) {
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"", "", ""})), kCreated);
  EXPECT_EQ(worker.Say(Req(PacketType::kCanDo, {""}) + Req(PacketType::kGrabJobUniq)),
            Assign(1, "", "", ""));
}

TEST_F(ClientTest, WorkloadMayHoldAnything) {
  EXPECT_EQ(Submit("u", "a\0b\r\n\0"s), kCreated);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "a\0b\r\n\0"s));
}

TEST_F(ClientTest, SameUniqueIsOneJob) {
  EXPECT_EQ(Submit("u", "first"), kCreated);
  EXPECT_EQ(Submit("u", "second"), kCreated);
  EXPECT_EQ(other.Say(Req(PacketType::kSubmitJobHigh, {"f", "u", "third"})), kCreated);
  EXPECT_EQ(other.Say(Req(PacketType::kSubmitJob, {"g", "u", "else"})),
            Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "first"));
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
  worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "r"}));
  const std::string complete = Res(PacketType::kWorkComplete, {Handle(1), "r"});
  EXPECT_EQ(client.Hear(), complete + complete);
  EXPECT_EQ(other.Hear(), complete);
  EXPECT_EQ(Submit("u", "fourth"), Res(PacketType::kJobCreated, {Handle(3)}));
}

TEST_F(ClientTest, RunningJobIsJoinedToo) {
  EXPECT_EQ(Submit("u", "d"), kCreated);
  Grab();
  worker.Say(Req(PacketType::kWorkData, {Handle(1), "early"}));
  EXPECT_EQ(other.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"})), kCreated);
  worker.Say(Req(PacketType::kWorkData, {Handle(1), "late"}));
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkData, {Handle(1), "early"}) +
                               Res(PacketType::kWorkData, {Handle(1), "late"}));
  EXPECT_EQ(other.Hear(), Res(PacketType::kWorkData, {Handle(1), "late"}));
}

TEST_F(ClientTest, UniqueOfSixtyFourBytesIsOneJobAndWhole) {
  const std::string unique(64, 'u');
  EXPECT_EQ(Submit(unique, "d"), kCreated);
  EXPECT_EQ(Submit(unique, "d"), kCreated);
  EXPECT_EQ(Grab(), Assign(1, "f", unique, "d"));
}

TEST_F(ClientTest, DashMeansTheWorkloadIsTheKey) {
  EXPECT_EQ(Submit("-", "same"), kCreated);
  EXPECT_EQ(Submit("-", "same"), kCreated);
  EXPECT_EQ(Submit("-", "other"), Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(Submit("-", ""), Res(PacketType::kJobCreated, {Handle(3)}));
  EXPECT_EQ(Submit("-", ""), Res(PacketType::kJobCreated, {Handle(4)}));
  EXPECT_EQ(Grab(), Assign(1, "f", "-", "same"));
  EXPECT_EQ(Grab(), Assign(2, "f", "-", "other"));
  EXPECT_EQ(Grab(), Assign(3, "f", "-", ""));
}

TEST_F(ClientTest, DashCoalescesWorkloadsThatComeInPieces) {
  const std::string packet = Req(PacketType::kSubmitJob, {"f", "-", std::string(200'000, 'w')});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(client.SayCut(packet, 100'000), kCreated);
  }
}

TEST_F(ClientTest, EmptyUniqueIsNeverOneJob) {
  EXPECT_EQ(Submit("", "d"), kCreated);
  EXPECT_EQ(Submit("", "d"), Res(PacketType::kJobCreated, {Handle(2)}));
}

TEST_F(ClientTest, WaitingForegroundJobGoesWithItsClient) {
  Submit("u", "d");
  world.Disconnect(client);
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
  EXPECT_EQ(other.Say(Req(PacketType::kSubmitJob, {"f", "u", "again"})),
            Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(Grab(), Assign(2, "f", "u", "again"));
}

TEST_F(ClientTest, RunningForegroundJobRunsToItsEndUnheard) {
  Submit("u", "d");
  Grab();
  world.Disconnect(client);
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "r"})), "");
}

TEST_F(ClientTest, BackgroundJobOutlivesAClientThatJoinedIt) {
  other.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"}));
  EXPECT_EQ(Submit("u", "d"), kCreated);
  world.Disconnect(client);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "d"));
}

TEST_F(ClientTest, ForegroundJobOutlivesItsClientOnceSubmittedInBackground) {
  Submit("u", "d");
  EXPECT_EQ(other.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"})), kCreated);
  world.Disconnect(client);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "d"));
}

TEST_F(ClientTest, HalfClosedClientIsGone) {
  Submit("u", "d");
  client.ReceiveEof();
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
}

TEST_F(ClientTest, ExceptionsGoToThoseWhoAsked) {
  EXPECT_EQ(other.Say(Req(PacketType::kOptionReq, {"Exceptions"})),
            Res(PacketType::kOptionRes, {"Exceptions"}));
  Submit("u", "d");
  other.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  Grab();
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkException, {Handle(1), "what"})), "");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
  EXPECT_EQ(other.Hear(), Res(PacketType::kWorkException, {Handle(1), "what"}));
}

TEST(ClientOptions, ExceptionsMayBeTheDefault) {
  Options options = World::DefaultOptions();
  options.exceptions = true;
  World world(options);
  Connection& both = world.Connect();
  both.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kSubmitJob, {"f", "", "d"}) +
           Req(PacketType::kGrabJob));
  EXPECT_EQ(both.Say(Req(PacketType::kWorkException, {Handle(1), "what"})),
            Res(PacketType::kWorkException, {Handle(1), "what"}));
}

TEST_F(ClientTest, UnknownOptionsAreRefused) {
  const std::string unknown = ErrorRes("UNKNOWN_OPTION", "Server does not recognize given option");
  for (const std::string& option : {""s, "streaming"s, "exception"s, std::string(100, 'x')}) {
    EXPECT_EQ(client.Say(Req(PacketType::kOptionReq, {option})), unknown);
  }
}

TEST_F(ClientTest, OptionMayCarryItsNul) {
  EXPECT_EQ(client.Say(Req(PacketType::kOptionReq, {"exceptions\0"s})),
            Res(PacketType::kOptionRes, {"exceptions\0"s}));
}

TEST_F(ClientTest, EchoReturnsAnything) {
  for (const std::string& data : {""s, "hi"s, "a\0b"s, std::string(100'000, 'x')}) {
    EXPECT_EQ(client.Say(Req(PacketType::kEchoReq, {data})), Res(PacketType::kEchoRes, {data}));
  }
}

TEST_F(ClientTest, StatusOfWaitingRunningAndFinishedJobs) {
  const std::string ask = Req(PacketType::kGetStatus, {Handle(1)});
  EXPECT_EQ(other.Say(ask), Res(PacketType::kStatusRes, {Handle(1), "0", "0", "0", "0"}));
  Submit("u", "d");
  EXPECT_EQ(other.Say(ask), Res(PacketType::kStatusRes, {Handle(1), "1", "0", "0", "0"}));
  Grab();
  worker.Say(Req(PacketType::kWorkStatus, {Handle(1), "3", "7"}));
  EXPECT_EQ(other.Say(ask), Res(PacketType::kStatusRes, {Handle(1), "1", "1", "3", "7"}));
  worker.Say(Req(PacketType::kWorkFail, {Handle(1)}));
  EXPECT_EQ(other.Say(ask), Res(PacketType::kStatusRes, {Handle(1), "0", "0", "0", "0"}));
}

TEST_F(ClientTest, StatusOfWhatIsNoHandle) {
  for (const std::string& handle :
       {""s, "x"s, "H:elsewhere:1"s, std::string(64, 'h'), std::string(8000, 'h')}) {
    EXPECT_EQ(client.Say(Req(PacketType::kGetStatus, {handle})),
              Res(PacketType::kStatusRes, {handle, "0", "0", "0", "0"}));
  }
  Submit("u", "d");
  EXPECT_EQ(client.Say(Req(PacketType::kGetStatus, {Handle(1) + "\0"s})),
            Res(PacketType::kStatusRes, {Handle(1), "1", "0", "0", "0"}));
}

TEST_F(ClientTest, StatusByUniqueCountsClients) {
  const std::string ask = Req(PacketType::kGetStatusUnique, {"u"});
  EXPECT_EQ(client.Say(ask), Res(PacketType::kStatusResUnique, {"u", "0", "0", "0", "0", "0"}));
  Submit("u", "d");
  other.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  EXPECT_EQ(client.Say(ask), Res(PacketType::kStatusResUnique, {"u", "1", "0", "0", "0", "2"}));
  Grab();
  worker.Say(Req(PacketType::kWorkStatus, {Handle(1), "1", "4"}));
  EXPECT_EQ(client.Say(ask), Res(PacketType::kWorkStatus, {Handle(1), "1", "4"}) +
                                 Res(PacketType::kStatusResUnique, {"u", "1", "1", "1", "4", "2"}));
}

TEST_F(ClientTest, StatusByUniqueLooksThroughManyFunctionsInSlices) {
  std::string submits;
  for (std::size_t i = 0; i < 3 * JobStore::kSlice; ++i) {
    submits += Req(PacketType::kSubmitJobBg, {std::to_string(i), "", ""});
  }
  client.Say(submits);
  const int before = client.yields();
  EXPECT_EQ(client.Say(Req(PacketType::kGetStatusUnique, {"u"}) + Req(PacketType::kEchoReq, {"e"})),
            Res(PacketType::kStatusResUnique, {"u", "0", "0", "0", "0", "0"}) +
                Res(PacketType::kEchoRes, {"e"}));
  EXPECT_EQ(client.yields() - before, 3);
}

TEST_F(ClientTest, CommandsThatLookAtMuchLetOthersGoFirst) {
  std::string asks;
  for (int i = 0; i < 100; ++i) {
    client.Say(Req(PacketType::kSubmitJobBg, {std::to_string(i), "", ""}));
    asks += Req(PacketType::kGetStatusUnique, {"u"});
  }
  EXPECT_EQ(client.yields(), 0);
  for (int i = 0; i < 4; ++i) client.Say(asks);
  EXPECT_EQ(client.yields(), 0);
  client.Say(asks + asks + asks + asks);
  EXPECT_EQ(client.yields(), 2);
}

TEST_F(ClientTest, AllWhoWaitSendLongDataFromOneCopy) {
  Submit("u", "d");
  other.Say(Req(PacketType::kSubmitJob, {"f", "u", "d"}));
  Grab();
  const std::string data(Output::kShareFrom, 'x');
  const auto last_piece = [](Connection& connection) {
    std::array<iovec, 8> pieces;
    const int count = connection.out().Gather(pieces.data(), pieces.size(), 0);
    return pieces[static_cast<std::size_t>(count - 1)].iov_base;
  };
  worker.Say(Req(PacketType::kWorkData, {Handle(1), data}));
  EXPECT_EQ(last_piece(client), last_piece(other));
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkData, {Handle(1), data}));
  EXPECT_EQ(other.Hear(), Res(PacketType::kWorkData, {Handle(1), data}));
  worker.Say(Req(PacketType::kWorkComplete, {Handle(1), data}));
  EXPECT_EQ(last_piece(client), last_piece(other));
  EXPECT_EQ(other.Hear(), Res(PacketType::kWorkComplete, {Handle(1), data}));
}

TEST_F(ClientTest, StatusByOverlongUniqueIsUnknown) {
  for (const std::string& unique : {""s, std::string(65, 'u'), std::string(8000, 'u')}) {
    EXPECT_EQ(client.Say(Req(PacketType::kGetStatusUnique, {unique})),
              Res(PacketType::kStatusResUnique, {unique, "0", "0", "0", "0", "0"}));
  }
}

TEST_F(ClientTest, EpochJobWaitsForItsTimeAndWakesAWorker) {
  const Time due_s = world.clock.Now() / kSecond + 10;
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobEpoch, {"f", "u", std::to_string(due_s), "d"})),
            kCreated);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobLowBg, {"f", "", "at once"})),
            Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(Grab(), Assign(2, "f", "", "at once"));
  EXPECT_EQ(worker.Say(Req(PacketType::kPreSleep)), "");
  world.Pass(9 * kSecond);
  EXPECT_EQ(worker.Hear(), "");
  // Nor in its first moments, which time(2) may still take for the second before.
  world.Pass(kSecond + kMillisecond);
  EXPECT_EQ(worker.Hear(), "");
  world.Pass(9 * kMillisecond);
  EXPECT_EQ(worker.Hear(), Res(PacketType::kNoop));
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "d"));
}

TEST_F(ClientTest, EpochThatIsNoNumberOrPastIsNow) {
  client.Say(Req(PacketType::kSubmitJobEpoch, {"f", "", "soon", "a"}) +
             Req(PacketType::kSubmitJobEpoch, {"f", "", "1", "b"}) +
             Req(PacketType::kSubmitJobEpoch, {"f", "", "", "c"}));
  EXPECT_EQ(Grab(), Assign(1, "f", "", "a"));
  EXPECT_EQ(Grab(), Assign(2, "f", "", "b"));
  EXPECT_EQ(Grab(), Assign(3, "f", "", "c"));
}

TEST_F(ClientTest, EpochBeyondAllNumbersIsAnswered) {
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobEpoch, {"f", "", "99999999999999999999999", "d"})),
            kCreated);
  world.Pass(1'000'000 * kSecond);
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
  EXPECT_EQ(client.Say(Req(PacketType::kGetStatus, {Handle(1)})),
            Res(PacketType::kStatusRes, {Handle(1), "1", "0", "0", "0"}));
}

TEST_F(ClientTest, FullQueueRefuses) {
  EXPECT_EQ(client.Say("create function f\nmaxqueue f 1\n"), "OK\r\nOK\r\n");
  EXPECT_EQ(Submit("u", "d"), kCreated);
  EXPECT_EQ(Submit("", "d"), ErrorRes("QUEUE_ERROR", "Job queue is full"));
  EXPECT_EQ(Submit("u", "d"), kCreated);
}

TEST_F(ClientTest, DrainingRefuses) {
  world.engine.SetDraining(true);
  const std::string refused = ErrorRes("QUEUE_ERROR", "Server is draining and takes no new jobs");
  EXPECT_EQ(Submit("u", "d"), refused);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"f", "u", "d"})), refused);
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobEpoch, {"f", "u", "1", "d"})), refused);
}

TEST_F(ClientTest, ReduceJobCarriesItsReducer) {
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitReduceJob, {"f", "u", "sum", "", "data"})), kCreated);
  EXPECT_EQ(worker.Say(Req(PacketType::kGrabJobAll)),
            Res(PacketType::kJobAssignAll, {Handle(1), "f", "u", "sum", "data"}));
  worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "3"}));
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkComplete, {Handle(1), "3"}));
  client.Say(Req(PacketType::kSubmitReduceJobBackground, {"f", "u", "sum", "unused", "data"}));
  EXPECT_EQ(Grab(), Assign(2, "f", "u", "data"));
}

// The clock begins on a Tuesday at 22:13:20 UTC; 0 is Monday.
TEST_F(ClientTest, SchedJobWaitsForTheNextMatchingMinute) {
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobSched, {"f", "u", "15", "22", "", "", "1", "d"})),
            kCreated);
  world.Pass(100 * kSecond);
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
  world.Pass(10 * kMillisecond);
  EXPECT_EQ(Grab(), Assign(1, "f", "u", "d"));
}

TEST_F(ClientTest, SchedWithABadFieldIsRefused) {
  const auto say = [this](std::string_view minute, std::string_view day, std::string_view month) {
    return client.Say(
        Req(PacketType::kSubmitJobSched, {"f", "u", minute, "0", day, month, "", "data"}));
  };
  const auto refused = [](const std::string& why) {
    return ErrorRes("INVALID_ARGUMENTS", "No such time" + why);
  };
  const std::string expected =
      ": expected *, numbers from 0 to 59, ranges a-b and steps /s, with commas between them";
  EXPECT_EQ(say("60", "1", "1"), refused(": bad minute '60'" + expected));
  EXPECT_EQ(say("soon", "1", "1"), refused(": bad minute 'soon'" + expected));
  EXPECT_EQ(say("0", "30", "2"), refused(" in the next 8 years"));
  EXPECT_EQ(Grab(), Res(PacketType::kNoJob));
}

TEST_F(ClientTest, CancelledJobFails) {
  Submit("u", "d");
  EXPECT_EQ(other.Say("cancel job " + Handle(1) + "\r\n"), "OK\r\n");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
  EXPECT_EQ(Submit("u", "d"), Res(PacketType::kJobCreated, {Handle(2)}));
}

}  // namespace
}  // namespace gearstalk::gearman
