// The lines that show and change policies, groups and schedules, and what is written of them into
// the audit log.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/proto_gearman/world.h"
#include "tests/support/kept_journal.h"

namespace gearstalk::gearman {
namespace {

using Acts = std::vector<std::string>;

constexpr std::string_view kDone = "OK\r\n";
constexpr std::string_view kQueueError = "ERR QUEUE_ERROR QUEUE_ERROR\r\n";

class PolicyLines : public testing::Test {
 protected:
  std::string Ask(std::string_view line) { return admin.Say(line); }
  void Submit(std::string_view function, std::string_view data) {
    client.Say(Req(PacketType::kSubmitJobBg, {function, "", data}));
  }
  // The line of a key in what `policy` prints.
  std::string Shown(std::string_view tube, std::string_view key) {
    const std::string table = Ask("policy " + std::string(tube) + "\n");
    EXPECT_TRUE(table.ends_with("\n.\n")) << table;
    const std::size_t begin = ("\n" + table).find("\n" + std::string(key) + "\t");
    if (begin == std::string::npos) return "none";
    return table.substr(begin, table.find('\n', begin) - begin);
  }
  void EveryMinute(std::string name, bool overlap = false) {
    const Schedule minute{.name = std::move(name),
                          .every = 60 * kSecond,
                          .tube = "t",
                          .body = "{name}",
                          .overlap = overlap};
    ASSERT_TRUE(world.engine.schedules().Set(world.clock.Now(), {minute}, "UTC").ok());
    world.Pass(0);
  }

  World world{World::DefaultOptions(), {}, std::make_unique<KeptJournal>()};
  KeptJournal& journal = static_cast<KeptJournal&>(*world.journal);
  Connection& admin = world.Connect();
  Connection& client = world.Connect();
};

TEST_F(PolicyLines, ShowWhereAValueComesFrom) {
  world.engine.SetRules(world.clock.Now(),
                        PolicyRules({{.match = "mail*", .values = {{"attempts", "5"}}}}));
  EXPECT_EQ(Shown("mail", "attempts"), "attempts\t5\tmail*");
  EXPECT_EQ(Shown("mail", "backoff"), "backoff\t0\tdefault");
  EXPECT_EQ(Ask("policy mail attempts 7\r\n"), kDone);
  EXPECT_EQ(Shown("mail", "attempts"), "attempts\t7\tadmin");
  EXPECT_EQ(Ask("POLICY mail attempts DEFAULT\n"), kDone);
  EXPECT_EQ(Shown("mail", "attempts"), "attempts\t5\tmail*");
  EXPECT_EQ(Ask("policy mail attempts 7\npolicy mail backoff 90s\n"), "OK\r\nOK\r\n");
  EXPECT_EQ(Shown("mail", "backoff"), "backoff\t90s\tadmin");
  EXPECT_EQ(Ask("policy mail default\n"), kDone);
  EXPECT_EQ(Shown("mail", "attempts"), "attempts\t5\tmail*");
  EXPECT_EQ(Shown("mail", "backoff"), "backoff\t0\tdefault");
}

TEST_F(PolicyLines, WrongPolicies) {
  EXPECT_EQ(Ask("policy t no_such 1\n"), "ERR UNKNOWN_POLICY no_such\r\n");
  EXPECT_EQ(Ask("policy t attempts x\n"),
            "ERR INVALID_ARGUMENTS expected+a+number+from+0+to+1000000\r\n");
  const std::string expected =
      "ERR INVALID_ARGUMENTS Expected:+policy+TUBE+[KEY+VALUE|KEY+default|default]\r\n";
  EXPECT_EQ(Ask("policy t attempts\n"), expected);
  EXPECT_EQ(Ask("policy t attempts 1 2\n"), expected);
  EXPECT_EQ(Ask("policy\n"), Incomplete("policy"));
  EXPECT_EQ(world.engine.FindTube("t"), nullptr);
  journal.RefuseAll();
  EXPECT_EQ(Ask("policy t attempts 1\n"), kQueueError);
  EXPECT_EQ(Shown("t", "attempts"), "attempts\t0\tdefault");
}

TEST_F(PolicyLines, APolicyIsAcknowledgedWhenItIsStored) {
  journal.HoldBack();
  admin.Receive("policy t attempts 3\n");
  EXPECT_EQ(admin.HearDurable(), "");
  journal.MakeDurable(journal.last());
  EXPECT_EQ(admin.HearDurable(), kDone);
}

TEST_F(PolicyLines, ChangesOfPoliciesAreActs) {
  Ask("policy t\npolicy t attempts 1\npolicy t attempts x\npolicy t no_such 1\npolicy t default\n");
  EXPECT_EQ(admin.TakeActs(),
            (Acts{"tube.policy t policy attempts ok", "tube.policy t policy attempts bad-request",
                  "tube.policy t policy no_such not-found", "tube.policy t - - ok"}));
}

TEST_F(PolicyLines, GroupsMostReadyFirst) {
  EXPECT_EQ(Ask("policy t group line\n"), kDone);
  for (const std::string_view body : {"a\n", "b\n", "b\n", "\n"}) Submit("t", body);
  world.Pass(5 * kSecond);
  EXPECT_EQ(Ask("groups t\n"),
            "b\t2\t0\t0\t0\t5\tnone\n\t1\t0\t0\t0\t5\tnone\na\t1\t0\t0\t0\t5\tnone\n.\n");
  EXPECT_EQ(Ask("GROUPS t 1\n"), "b\t2\t0\t0\t0\t5\tnone\n.\n");
  EXPECT_EQ(Ask("policy t group_running 1\n"), kDone);
  EXPECT_EQ(client.Say(Req(PacketType::kCanDo, {"t"}) + Req(PacketType::kGrabJob)),
            Res(PacketType::kJobAssign, {Handle(1), "t", "a\n"}));
  Submit("t", "a\n");
  EXPECT_TRUE(Ask("groups t 9\n").find("a\t1\t1\t0\t1\t0\trunning\n") != std::string::npos);
}

TEST_F(PolicyLines, NamesOfGroupsAreEscapedAsInJson) {
  EXPECT_EQ(Ask("policy t group line\n"), kDone);
  Submit("t", "say \"a\\b\"\tto \xc3\xa9\xff\x01\rx");
  EXPECT_EQ(Ask("groups t\n"),
            "say \\\"a\\\\b\\\"\\tto \xc3\xa9\\ufffd\\u0001\\rx\t1\t0\t0\t0\t0\tnone\n.\n");
}

TEST_F(PolicyLines, ALineOfTheTableHasNoOtherEnd) {
  EXPECT_EQ(Ask("policy t group json:/of\n"), kDone);
  Submit("t", R"({"of":"two\nlines"})");
  EXPECT_EQ(Ask("groups t\n"), "two\\nlines\t1\t0\t0\t0\t0\tnone\n.\n");
}

TEST_F(PolicyLines, GroupsOfNothing) {
  EXPECT_EQ(Ask("groups nothing\n"), "ERR UNKNOWN_TUBE nothing\r\n");
  EXPECT_EQ(Ask("groups\n"), Incomplete("groups"));
  Submit("t", "a\n");
  EXPECT_EQ(Ask("groups t\n"), ".\n");
  for (const std::string_view wrong : {"groups t 0\n", "groups t x\n", "groups t 1 2\n"}) {
    EXPECT_EQ(Ask(wrong), "ERR INVALID_ARGUMENTS Expected:+groups+TUBE+[N]\r\n") << wrong;
  }
  EXPECT_EQ(admin.TakeActs(), Acts{});
}

TEST_F(PolicyLines, SchedulesShowWhenTheyRun) {
  EXPECT_EQ(Ask("schedules\n"), ".\n");
  EveryMinute("s");
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t1700000040\t0\t0\t0\t0\ton\n.\n");
  world.Pass(41 * kSecond);
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t1700000100\t1700000040\t1\t0\t0\ton\n.\n");
  world.Pass(60 * kSecond);  // the job of the last run is there still
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t1700000160\t1700000040\t1\t1\t0\ton\n.\n");
  EXPECT_EQ(Ask("schedule s off\n"), kDone);
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t0\t1700000040\t1\t1\t0\toff\n.\n");
  world.Pass(3600 * kSecond);
  EXPECT_EQ(Ask("SCHEDULE s ON\n"), kDone);
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t1700003760\t1700000040\t1\t1\t0\ton\n.\n");
}

TEST_F(PolicyLines, AScheduleRunsWhenAsked) {
  EveryMinute("s");
  EXPECT_EQ(Ask("schedule s run\n"), kDone);
  EXPECT_EQ(Ask("status\n"), "t\t1\t0\t0\n.\n");
  EXPECT_EQ(Ask("schedule s run\n"), "ERR STILL_RUNNING The+last+run+is+not+finished\r\n");
  EXPECT_EQ(client.Say(Req(PacketType::kCanDo, {"t"}) + Req(PacketType::kGrabJob)),
            Res(PacketType::kJobAssign, {Handle(1), "t", "s"}));
  client.Say(Req(PacketType::kWorkComplete, {Handle(1), ""}));
  EXPECT_EQ(Ask("schedule s run\n"), kDone);
  client.Say(Req(PacketType::kGrabJob));
  client.Say(Req(PacketType::kWorkComplete, {Handle(2), ""}));
  world.engine.SetDraining(true);
  EXPECT_EQ(Ask("schedule s run\n"),
            "ERR QUEUE_ERROR Server+is+draining+and+takes+no+new+jobs\r\n");
  EXPECT_EQ(admin.TakeActs(),
            (Acts{"schedule.run t schedule s ok", "schedule.run t schedule s in-use",
                  "schedule.run t schedule s ok", "schedule.run t schedule s draining"}));
}

TEST_F(PolicyLines, WrongSchedules) {
  EveryMinute("s", true);
  EXPECT_EQ(Ask("schedule s\n"), Incomplete("schedule"));
  for (const std::string_view wrong :
       {"schedule s stop\n", "schedule s run now\n", "schedule s on now\n"}) {
    EXPECT_EQ(Ask(wrong), "ERR INVALID_ARGUMENTS Expected:+schedule+NAME+run|on|off\r\n") << wrong;
  }
  admin.TakeActs();
  EXPECT_EQ(Ask("schedule x off\n"), "ERR UNKNOWN_SCHEDULE x\r\n");
  journal.RefuseAll();
  journal.Refuse(Record::Kind::kSchedule);
  EXPECT_EQ(Ask("schedule s off\n"), kQueueError);
  EXPECT_EQ(Ask("schedule s run\n"), kQueueError);
  EXPECT_EQ(Ask("schedules\n"), "s\tt\t1700000040\t0\t0\t0\t0\ton\n.\n");
  EXPECT_EQ(admin.TakeActs().front(), "schedule.enabled - schedule x not-found");
}

TEST_F(PolicyLines, WhoMayUseThem) {
  EveryMinute("s");
  Connection& limited = world.Connect();
  const auto limit = [&limited](std::uint8_t rights, const char* tubes) {
    const std::vector<Access::Rule> rules{{rights, {tubes}}};
    limited.set_access(std::make_shared<const Access>(rules));
  };
  limit(right::kObserve, "t");
  EXPECT_TRUE(limited.Say("policy t\n").ends_with("\n.\n"));
  for (const std::string_view line :
       {"policy u\n", "policy t attempts 1\n", "groups u\n", "schedules\n", "schedule s off\n"}) {
    EXPECT_EQ(limited.Say(line), kDeniedLine) << line;
  }
  limit(right::kObserve, "*");
  EXPECT_EQ(limited.Say("schedules\n"), "s\tt\t1700000040\t0\t0\t0\t0\ton\n.\n");
  EXPECT_EQ(limited.Say("schedule s run\n"), kDeniedLine);
  limit(right::kAdmin, "t");
  EXPECT_EQ(limited.Say("policy t attempts 1\n"), kDone);
  EXPECT_EQ(limited.Say("schedule s run\n"), kDeniedLine);
  limit(right::kAdmin, "*");
  EXPECT_EQ(limited.Say("schedule s run\n"), kDone);
  EXPECT_EQ(
      limited.TakeActs(),
      (Acts{"tube.policy t policy attempts forbidden", "schedule.enabled t schedule s forbidden",
            "schedule.run t schedule s forbidden", "tube.policy t policy attempts ok",
            "schedule.run t schedule s forbidden", "schedule.run t schedule s ok"}));
}

TEST_F(PolicyLines, TheSizeOfAJobIsThatOfItsTube) {
  EXPECT_EQ(Ask("policy t max_job_size 3\n"), kDone);
  const auto submit = [](std::string_view tube, std::string_view data) {
    return Req(PacketType::kSubmitJobBg, {tube, "", data});
  };
  const std::string too_large = ErrorRes("ARGUMENT_TOO_LARGE", "Workload too large");
  const std::string large(500'000, 'x');
  EXPECT_EQ(client.Say(submit("t", "long") + submit("u", "long")),
            too_large + Res(PacketType::kJobCreated, {Handle(1)}));
  EXPECT_EQ(client.SayCut(submit("t", large) + submit("t", "abc"), 100'000),
            too_large + Res(PacketType::kJobCreated, {Handle(2)}));
  // Whoever may not submit is told the same: the size is looked at first.
  client.set_access(std::make_shared<const Access>(std::vector<Access::Rule>{}));
  EXPECT_EQ(client.Say(submit("t", "long")), too_large);
  EXPECT_EQ(client.refused(), 0U);
}

TEST_F(PolicyLines, PacketsAndLinesAreCounted) {
  Submit("t", "a");
  Submit("t", "b");
  Ask("policy t\nstatus\nSTATUS\nnonsense\n");
  std::map<std::string, std::uint64_t> counts;
  world.protocol.VisitCounts([&counts](std::string_view name, std::uint64_t count) {
    EXPECT_TRUE(counts.emplace(name, count).second) << name << " is visited twice";
  });
  std::erase_if(counts, [](const auto& each) { return each.second == 0; });
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{
                        {"SUBMIT_JOB_BG", 2}, {"policy", 1}, {"status", 2}}));
  EXPECT_EQ(world.protocol.name(), "gearman");
}

}  // namespace
}  // namespace gearstalk::gearman
