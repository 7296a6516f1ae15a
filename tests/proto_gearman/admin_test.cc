// Admin lines, byte for byte.

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "proto_gearman/admin_table.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

std::string Unknown(std::string_view word) {
  return "ERR UNKNOWN_COMMAND Unknown+server+command" + std::string(word) + "\r\n";
}

class AdminTest : public testing::Test {
 protected:
  std::string Ask(std::string_view line) { return admin.Say(line); }

  World world;
  Connection& admin = world.Connect();
  Connection& client = world.Connect();
  Connection& worker = world.Connect();
};

TEST_F(AdminTest, Values) {
  EXPECT_EQ(Ask("version\n"), "OK 1.2.3\n");
  EXPECT_EQ(Ask("VERSION\r\n"), "OK 1.2.3\n");
  EXPECT_EQ(Ask("verbose\n"), "OK ERROR\n");
  EXPECT_EQ(Ask("getpid\n"), std::string("OK ").append(std::to_string(getpid())).append("\n"));
  EXPECT_EQ(Ask("version with more words\n"), "OK 1.2.3\n");
}

TEST_F(AdminTest, UnknownCommands) {
  EXPECT_EQ(Ask("\n"), Unknown(""));
  EXPECT_EQ(Ask("\r\n"), Unknown(""));
  EXPECT_EQ(Ask(" version\n"), Unknown(""));
  EXPECT_EQ(Ask("help me\r\n"), Unknown("help"));
  EXPECT_EQ(Ask("quit\n"), Unknown("quit"));
  EXPECT_EQ(Ask("version\t\n"), Unknown("version\t"));
  EXPECT_EQ(Ask("a b c d e\n"), Unknown("a"));
  EXPECT_EQ(Ask("put 1 2 3 4\r\n"), Unknown("put"));
  EXPECT_EQ(Ask("\xff\xfe\n"), Unknown("\xff\xfe"));
}

TEST_F(AdminTest, TooManyWordsClose) {
  EXPECT_EQ(Ask("version\na b c d e f\nversion\n"), "OK 1.2.3\n");
  EXPECT_EQ(admin.next(), Next::kClose);
}

TEST_F(AdminTest, OverlongLinesClose) {
  EXPECT_EQ(Ask(std::string(8191, 'x') + "\n"), Unknown(std::string(8191, 'x')));
  EXPECT_EQ(Ask(std::string(8191, 'x')), "");
  EXPECT_EQ(admin.next(), Next::kBytes);
  EXPECT_EQ(Ask("x"), "");
  EXPECT_EQ(admin.next(), Next::kClose);
}

TEST_F(AdminTest, LinesAndPacketsMix) {
  const std::string echo = Req(PacketType::kEchoReq, {"x"});
  const std::string echoed = Res(PacketType::kEchoRes, {"x"});
  EXPECT_EQ(Ask("version\n" + echo + "status\r\n" + echo + "nonsense\n" + echo),
            "OK 1.2.3\n" + echoed + ".\n" + echoed + Unknown("nonsense") + echoed);
}

TEST_F(AdminTest, WorkersListsEveryConnection) {
  worker.Say(Req(PacketType::kCanDo, {"first"}) + Req(PacketType::kCanDo, {"second one"}) +
             Req(PacketType::kCanDo, {".third\t"}) + Req(PacketType::kSetClientId, {"my id"}));
  EXPECT_EQ(Ask("workers\n"),
            "10 127.0.0.1 - :\n"
            "11 127.0.0.1 - :\n"
            "12 127.0.0.1 my\\x20id : .third\\t second\\x20one first\n"
            ".\n");
  client.DropSession();
  world.Connect("unix");
  EXPECT_EQ(Ask("workers\n"),
            "10 127.0.0.1 - :\n"
            "11 127.0.0.1 - :\n"
            "12 127.0.0.1 my\\x20id : .third\\t second\\x20one first\n"
            "13 unix - :\n"
            ".\n");
}

TEST_F(AdminTest, WorkersListsManyFunctionsInSlices) {
  constexpr int kFunctions = 2 * kSliceItems + 3;
  std::string expected = "10 127.0.0.1 - :\n11 127.0.0.1 - :\n12 127.0.0.1 - :";
  for (int i = 0; i < kFunctions; ++i) {
    worker.Say(Req(PacketType::kCanDo, {"f" + std::to_string(i)}));
    expected += " f" + std::to_string(kFunctions - 1 - i);
  }
  EXPECT_EQ(Ask("workers\n"), expected + "\n.\n");
}

TEST_F(AdminTest, ClientIdIsCut) {
  admin.Say(Req(PacketType::kSetClientId, {std::string(200, 'a')}));
  client.Say(Req(PacketType::kSetClientId, {"x"}) + Req(PacketType::kSetClientId));
  EXPECT_EQ(Ask("workers\n"), "10 127.0.0.1 " + std::string(127, 'a') +
                                  " :\n11 127.0.0.1 - :\n12 127.0.0.1 - :\n.\n");
}

TEST_F(AdminTest, StatusCountsJobsAndWorkers) {
  EXPECT_EQ(Ask("status\n"), ".\n");
  client.Say(Req(PacketType::kSubmitJobBg, {"b", "", "1"}) +
             Req(PacketType::kSubmitJobHighBg, {"b", "", "2"}) +
             Req(PacketType::kSubmitJobLowBg, {"b", "", "3"}));
  worker.Say(Req(PacketType::kCanDo, {"a"}) + Req(PacketType::kCanDo, {"b"}));
  EXPECT_EQ(Ask("status\n"), "b\t3\t0\t1\na\t0\t0\t1\n.\n");
  EXPECT_EQ(Ask("prioritystatus\n"), "b\t1\t1\t1\t1\na\t0\t0\t0\t1\n.\n");
  worker.Say(Req(PacketType::kGrabJob));
  EXPECT_EQ(Ask("Status\r\n"), "b\t3\t1\t1\na\t0\t0\t1\n.\n");
  EXPECT_EQ(Ask("PriorityStatus\r\n"), "b\t0\t1\t1\t1\na\t0\t0\t0\t1\n.\n");
  world.Disconnect(worker);
  EXPECT_EQ(Ask("status\n"), "b\t3\t0\t0\na\t0\t0\t0\n.\n");
}

TEST_F(AdminTest, DelayedJobsWaitToo) {
  client.Say(Req(PacketType::kSubmitJobEpoch, {"f", "", "4000000000", "d"}) +
             Req(PacketType::kSubmitJobHighBg, {"f", "", "d"}));
  EXPECT_EQ(Ask("status\nprioritystatus\n"), "f\t2\t0\t0\n.\nf\t1\t1\t0\t0\n.\n");
}

TEST_F(AdminTest, NamesKeepTheirColumns) {
  for (std::string_view name : {"", ".dot", "tab\tbed", "line\nfeed", "größe", "back\\slash"}) {
    worker.Say(Req(PacketType::kCanDo, {name}));
  }
  EXPECT_EQ(Ask("status\n"),
            "\t0\t0\t1\n\\x2edot\t0\t0\t1\ntab\\tbed\t0\t0\t1\nline\\nfeed\t0\t0\t1\n"
            "größe\t0\t0\t1\nback\\\\slash\t0\t0\t1\n.\n");
}

TEST_F(AdminTest, ShowJobs) {
  EXPECT_EQ(Ask("show jobs\n"), ".\n");
  client.Say(Req(PacketType::kSubmitJob, {"f", "key", "1"}) +
             Req(PacketType::kSubmitJobBg, {"f", "", "2"}) +
             Req(PacketType::kSubmitJobBg, {"f", ".x", "3"}));
  EXPECT_EQ(Ask("show jobs\n"), "H:test:1\t0\t0\t0\nH:test:2\t0\t0\t1\nH:test:3\t0\t0\t1\n.\n");
  EXPECT_EQ(Ask("SHOW Unique JOBS\r\n"), "key\n\n\\x2ex\n.\n");
  worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  world.Disconnect(client);
  EXPECT_EQ(Ask("show jobs\r\n"), "H:test:1\t0\t1\t0\nH:test:2\t0\t0\t1\nH:test:3\t0\t0\t1\n.\n");
}

TEST_F(AdminTest, ShowOtherThings) {
  EXPECT_EQ(Ask("show\n"), Unknown("show"));
  for (std::string_view line : {"show x\n", "show unique\n", "show unique x\n", "show jobs x\n",
                                "show unique jobs x\r\n"}) {
    EXPECT_EQ(Ask(line), "ERR UNKNOWN_SHOW_ARGUMENTS\r\n") << line;
  }
}

TEST_F(AdminTest, CancelJob) {
  EXPECT_EQ(Ask("cancel job H:test:1\n"), "ERR UNKNOWN_JOB\r\n");
  client.Say(Req(PacketType::kSubmitJobBg, {"f", "", "d"}));
  EXPECT_EQ(Ask("cancel JOB H:test:1\n"), "OK\r\n");
  EXPECT_EQ(Ask("cancel job H:test:1\n"), "ERR UNKNOWN_JOB\r\n");
  EXPECT_EQ(Ask("show jobs\n"), ".\n");
  EXPECT_EQ(Ask("cancel\n"), Unknown("cancel"));
  EXPECT_EQ(Ask("cancel job\n"), Unknown("cancel"));
  EXPECT_EQ(Ask("cancel x H:test:1\n"), "ERR UNKNOWN_ERROR\r\n");
  EXPECT_EQ(Ask("cancel job a b\n"), "ERR UNKNOWN_ERROR\r\n");
}

TEST_F(AdminTest, CancelledRunningJobIsNotTheWorkersAnyMore) {
  client.Say(Req(PacketType::kSubmitJob, {"f", "", "d"}));
  worker.Say(Req(PacketType::kCanDo, {"f"}) + Req(PacketType::kGrabJob));
  EXPECT_EQ(Ask("cancel job H:test:1\n"), "OK\r\n");
  EXPECT_EQ(client.Hear(), Res(PacketType::kWorkFail, {Handle(1)}));
  EXPECT_EQ(worker.Say(Req(PacketType::kWorkComplete, {Handle(1), "r"})),
            ErrorRes("JOB_NOT_FOUND", "Job given in work result not found"));
}

TEST_F(AdminTest, CreateAndDropFunction) {
  EXPECT_EQ(Ask("drop function resize\n"), "ERR function not found\r\n");
  EXPECT_EQ(Ask("create function resize\n"), "OK\r\n");
  EXPECT_EQ(Ask("Create Function resize\r\n"), "OK\r\n");
  EXPECT_EQ(Ask("status\n"), "resize\t0\t0\t0\n.\n");
  EXPECT_EQ(Ask("drop function RESIZE\n"), "ERR function not found\r\n");
  worker.Say(Req(PacketType::kCanDo, {"resize"}));
  const std::string in_use = "ERR there are still connected workers or executing clients\r\n";
  EXPECT_EQ(Ask("drop function resize\n"), in_use);
  worker.Say(Req(PacketType::kResetAbilities));
  client.Say(Req(PacketType::kSubmitJobBg, {"resize", "", "d"}));
  EXPECT_EQ(Ask("drop function resize\n"), in_use);
  Ask("cancel job H:test:1\n");
  EXPECT_EQ(Ask("drop function resize\n"), "OK\r\n");
  EXPECT_EQ(Ask("status\n"), ".\n");
}

TEST_F(AdminTest, IncompleteCommands) {
  for (std::string_view line :
       {"create\n", "create function\n", "create x y\n", "create function a b\n"}) {
    EXPECT_EQ(Ask(line), Incomplete("create")) << line;
  }
  for (std::string_view line :
       {"DROP\r\n", "DROP function\n", "DROP x y\n", "DROP function a b\n"}) {
    EXPECT_EQ(Ask(line), Incomplete("DROP")) << line;
  }
  EXPECT_EQ(Ask("maxqueue\n"), Incomplete("maxqueue"));
}

TEST_F(AdminTest, MaxQueueByPriority) {
  const std::string full = ErrorRes("QUEUE_ERROR", "Job queue is full");
  const auto submit = [this](PacketType type) { return client.Say(Req(type, {"f", "", "d"})); };
  EXPECT_EQ(Ask("maxqueue f 1\n"), "OK\r\n");
  EXPECT_EQ(submit(PacketType::kSubmitJobBg), Res(PacketType::kJobCreated, {Handle(1)}));
  EXPECT_EQ(Ask("maxqueue f 3 2 1\n"), "OK\r\n");
  EXPECT_EQ(submit(PacketType::kSubmitJobLowBg), full);
  EXPECT_EQ(submit(PacketType::kSubmitJobBg), Res(PacketType::kJobCreated, {Handle(2)}));
  EXPECT_EQ(submit(PacketType::kSubmitJobBg), full);
  EXPECT_EQ(submit(PacketType::kSubmitJobHighBg), Res(PacketType::kJobCreated, {Handle(3)}));
  EXPECT_EQ(submit(PacketType::kSubmitJobHighBg), full);
  EXPECT_EQ(Ask("maxqueue f 3 3\n"), "OK\r\n");
  EXPECT_EQ(submit(PacketType::kSubmitJobBg), full);
  EXPECT_EQ(submit(PacketType::kSubmitJobLowBg), Res(PacketType::kJobCreated, {Handle(4)}));
  for (std::string_view lift :
       {"maxqueue f\n", "maxqueue f 0\n", "maxqueue f -1\n", "maxqueue f x\n"}) {
    EXPECT_EQ(Ask("maxqueue f 1\n"), "OK\r\n");
    EXPECT_EQ(submit(PacketType::kSubmitJobBg), full);
    EXPECT_EQ(Ask(lift), "OK\r\n");
    EXPECT_NE(submit(PacketType::kSubmitJobBg), full) << lift;
  }
}

TEST_F(AdminTest, MaxQueueOfAFunctionThatNobodyUses) {
  EXPECT_EQ(Ask("maxqueue nobody 1\n"), "OK\r\n");
  EXPECT_EQ(Ask("status\n"), ".\n");
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"nobody", "1", "d"})),
            Res(PacketType::kJobCreated, {Handle(1)}));
  EXPECT_EQ(client.Say(Req(PacketType::kSubmitJobBg, {"nobody", "2", "d"})),
            ErrorRes("QUEUE_ERROR", "Job queue is full"));
}

TEST_F(AdminTest, ShutdownIsRefusedWithoutSomebodyToDoIt) {
  EXPECT_EQ(Ask("shutdown\n"), "ERR NOT_ALLOWED Shutdown+is+taken+from+this+host+only\r\n");
}

TEST(AdminShutdown, IsForThisHostOnly) {
  std::vector<bool> asked;
  Options options = World::DefaultOptions();
  options.shutdown = [&asked](bool graceful, const Peer& peer) {
    EXPECT_TRUE(peer.local);
    asked.push_back(graceful);
  };
  World world(options);
  Connection& near = world.Connect();
  Connection& far = world.Connect("192.0.2.1", false);
  EXPECT_EQ(far.Say("shutdown\n"), "ERR NOT_ALLOWED Shutdown+is+taken+from+this+host+only\r\n");
  EXPECT_EQ(far.refused(), 1U);
  EXPECT_EQ(near.Say("shutdown now\n"), "ERR UNKNOWN_SHUTDOWN_ARGUMENTS\r\n");
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(near.Say("shutdown graceful\r\n"), "OK\r\n");
  EXPECT_EQ(near.Say("SHUTDOWN\n"), "OK\r\n");
  EXPECT_EQ(asked, (std::vector<bool>{true, false}));
}

TEST_F(AdminTest, LongTablesComeInOnePiece) {
  std::string submits;
  std::string expected;
  const int jobs = 3 * kSliceItems + 1;
  for (int i = 1; i <= jobs; ++i) {
    const std::string name = std::to_string(i);
    submits += Req(PacketType::kSubmitJobBg, {name, "", ""});
    expected += name;
    expected += "\t1\t0\t0\n";
  }
  client.Say(submits);
  const int before = admin.yields();
  EXPECT_EQ(Ask("status\nversion\n"), expected + ".\nOK 1.2.3\n");
  EXPECT_EQ(admin.yields() - before, 3);
}

TEST_F(AdminTest, WorkersOfManyAbilitiesAreListedInSlices) {
  const std::string suffix(200, 'f');
  std::string abilities;
  for (std::size_t i = 0; i < kTableSliceBytes / suffix.size(); ++i) {
    abilities += Req(PacketType::kCanDo, {std::to_string(i) + suffix});
  }
  worker.Say(abilities);
  const int before = admin.yields();
  const std::string listed = Ask("workers\nversion\n");
  EXPECT_TRUE(listed.starts_with("10 127.0.0.1 - :\n11 127.0.0.1 - :\n12 127.0.0.1 - : "));
  EXPECT_TRUE(listed.ends_with(" 0" + suffix + "\n.\nOK 1.2.3\n"));
  EXPECT_EQ(admin.yields() - before, 1);
}

TEST_F(AdminTest, LongTableIsFinishedForAHalfClosedConnection) {
  std::string submits;
  for (std::size_t i = 0; i < kSliceItems; ++i) {
    submits += Req(PacketType::kSubmitJobBg, {"f", "", ""});
  }
  client.Say(submits);
  std::unique_ptr<gearstalk::Session> session = world.protocol.NewSession(admin);
  const InputResult first = session->OnInput("show jobs\n", gearstalk::Session::Scope::kAll);
  EXPECT_EQ(first.next, Next::kYield);
  EXPECT_EQ(first.bytes, 10U);
  EXPECT_EQ(admin.Hear(), "");
  session->OnEof();
  EXPECT_EQ(session->OnInput("", gearstalk::Session::Scope::kAll).next, Next::kBytes);
  const std::string heard = admin.Hear();
  EXPECT_TRUE(heard.starts_with("H:test:1\t"));
  EXPECT_TRUE(heard.ends_with("\n.\n"));
}

}  // namespace
}  // namespace gearstalk::gearman
