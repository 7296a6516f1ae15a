// Groups whose names lie in bodies that have left memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/slab.h"
#include "broker/journal/journal.h"
#include "tests/bodies/bodies_case.h"
#include "tests/support/recording_consumer.h"

namespace gearstalk {
namespace {

// Bodies begin with the name of their group, as a line.
class GroupsOfBodies : public BodiesTest {
 protected:
  void SetGroups(std::string_view tube) {
    ASSERT_TRUE(broker.engine.SetPolicy(broker.clock.Now(), tube, "group", "line").status.ok());
  }
  void PutOf(std::string_view group) {
    std::string body(group);
    body += "\n";
    body.resize(300, 'x');
    a.Say("put 0 0 10 300\r\n" + body + "\r\n");
    broker.Pass(0);
    ++last;
    EXPECT_FALSE(Of(last).has_body());
  }
  std::string_view NameOf(std::uint64_t id) { return GroupNameOf(Of(id)); }
  std::string Wrong() {
    const std::string wrong = broker.engine.CheckInvariants({});
    return wrong.find("group") == std::string::npos ? "" : wrong;
  }
  // What a start reads that leaves out bodies.
  std::vector<OwnedRecord> WithoutBodies() {
    std::vector<OwnedRecord> records;
    for (const OwnedRecord& record : journal->kept().records()) {
      Record view = record.View();
      view.body_left_out = static_cast<std::uint32_t>(std::exchange(view.body, {}).size());
      records.emplace_back(view);
    }
    return records;
  }
  // Answers until nothing more is asked.
  void ReadAll() {
    for (broker.Pass(0); journal->asked() > 0; broker.Pass(0)) journal->AnswerAll();
  }
};

TEST_F(GroupsOfBodies, AreReadFromTheJournalWhenAPolicyChanges) {
  for (const char* const group : {"x", "y", "x"}) PutOf(group);
  SetGroups("default");
  EXPECT_EQ("TIMED_OUT\r\n", b.Say("reserve-with-timeout 0\r\n")) << "its group is not known yet";
  ReadAll();
  EXPECT_EQ("x", NameOf(1));
  EXPECT_EQ("y", NameOf(2));
  EXPECT_EQ("x", NameOf(3));
  EXPECT_EQ(0U, Counts().in_memory);
  EXPECT_EQ("", Wrong());
  EXPECT_EQ("", b.Say("reserve\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
}

TEST_F(GroupsOfBodies, AJobThatChangesWhileItsNameIsReadComesIntoItsGroup) {
  for (const char* const group : {"x", "y", "z", "z"}) PutOf(group);
  SetGroups("default");
  EXPECT_TRUE(broker.engine.Bury(2, {}, false).ok());
  EXPECT_EQ("", NameOf(2));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 3\r\n"));
  ReadAll();
  EXPECT_EQ("y", NameOf(2));
  EXPECT_EQ("z", NameOf(4));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, AColdJobIsMovedIntoItsGroupAndThenGiven) {
  SetGroups("other");
  PutOf("x");
  EXPECT_EQ("WATCHING 2\r\n", b.Say("watch other\r\n"));
  EXPECT_EQ("WATCHING 1\r\n", b.Say("ignore default\r\n"));
  EXPECT_EQ("", b.Say("reserve\r\n"));
  EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), 1, "other").ok());
  EXPECT_EQ(JobState::kReady, Of(1).state());
  ReadAll();
  EXPECT_EQ("x", NameOf(1));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  EXPECT_EQ("RESERVED 1 300\r\nx\n", b.Hear().substr(0, 18));
}

TEST_F(GroupsOfBodies, ADeadJobHoldsTheGroupThatItsBodyNames) {
  const auto set = [this](std::string_view key, std::string_view value) {
    ASSERT_TRUE(broker.engine.SetPolicy(broker.clock.Now(), "default", key, value).status.ok());
  };
  set("on_failure", "move");
  set("attempts", "1");
  PutOf("x");
  EXPECT_EQ("", b.Say("reserve\r\n"));
  journal->AnswerAll();
  b.Hear();
  broker.Pass(11 * kSecond);
  ASSERT_EQ("default", Of(1).origin());
  SetGroups("default");
  set("group_on_failure", "hold");
  broker.Pass(0);
  ASSERT_FALSE(Of(1).has_body());
  ReadAll();
  ASSERT_NE(nullptr, Of(1).texts()->home);
  EXPECT_EQ("x", static_cast<const Group*>(Of(1).texts()->home)->name());
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, ADamagedJobHasNoGroup) {
  for (const char* const group : {"x", "y"}) PutOf(group);
  journal->Damage(1);
  SetGroups("default");
  ReadAll();
  EXPECT_EQ("", NameOf(1));
  EXPECT_TRUE(IsDamaged(Of(1)));
  EXPECT_EQ("y", NameOf(2));
}

TEST_F(GroupsOfBodies, ALaterPolicyIsFollowedThoughNamesOfTheFirstAreStillToBeRead) {
  SetGroups("other");
  PutOf("x");
  EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), 1, "other").ok());
  broker.engine.SetPolicy(broker.clock.Now(), "other", "group", "none");
  ReadAll();
  EXPECT_EQ("", Wrong());
  EXPECT_EQ("WATCHING 2\r\n", b.Say("watch other\r\n"));
  EXPECT_EQ("", b.Say("reserve-with-timeout 0\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
}

TEST_F(GroupsOfBodies, AStartReadsTheNamesThatItsRecordsDoNotHave) {
  for (const char* const group : {"x", "y"}) PutOf(group);
  SetGroups("default");
  broker.Pass(0);
  StartedAgain second(journal->kept().records());
  second.Start();
  beanstalk::Client client(second.broker);
  EXPECT_EQ("", client.Say("reserve\r\n"));
  for (second.broker.Pass(0); second.journal->asked() > 0; second.broker.Pass(0))
    second.journal->AnswerAll();
  EXPECT_EQ("y", GroupNameOf(*second.broker.engine.Find(2)));
  EXPECT_EQ("RESERVED 1 300\r\nx\n", client.Hear().substr(0, 18));
}

TEST_F(GroupsOfBodies, NoJobOfALineLeavesAfterAStartBeforeOneWhoseNameIsStillToBeRead) {
  for (const char* const group : {"x", "x"}) PutOf(group);
  StartedAgain second(journal->kept().records());
  second.journal->Replay(WithoutBodies());
  second.broker.engine.SetRules(
      0,
      PolicyRules({{.match = "default", .values = {{"group", "line"}, {"group_order", "fifo"}}}}));
  second.Start();
  beanstalk::Client client(second.broker);
  EXPECT_EQ("INSERTED 3\r\n", client.Say("put 0 0 10 3\r\nx\ny\r\n"));
  EXPECT_EQ("", client.Say("reserve\r\n"));
  for (second.broker.Pass(0); second.journal->asked() > 0; second.broker.Pass(0))
    second.journal->AnswerAll();
  EXPECT_EQ("RESERVED 1 300\r\nx\n", client.Hear().substr(0, 18));
}

TEST_F(GroupsOfBodies, AJobThatChangesWhileItsOwnBodyIsReadComesIntoItsGroup) {
  for (const char* const group : {"x", "y"}) PutOf(group);
  SetGroups("default");
  broker.Pass(0);
  ASSERT_TRUE(journal->AskedIds().contains(1));
  EXPECT_TRUE(broker.engine.Bury(1, {}, false).ok());
  EXPECT_EQ("", NameOf(1));
  ReadAll();
  EXPECT_EQ("x", NameOf(1));
  EXPECT_EQ("y", NameOf(2));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, ANameThatIsKnownMeanwhileIsNotRead) {
  SetGroups("other");
  broker.engine.SetPolicy(broker.clock.Now(), "third", "group", "unique");
  for (const char* const group : {"x", "y"}) PutOf(group);
  Engine& acts = broker.engine;
  for (const JobId id : {1, 2}) {
    EXPECT_TRUE(acts.Move(broker.clock.Now(), id, "other").ok());
  }
  EXPECT_TRUE(acts.Move(broker.clock.Now(), 2, "third").ok());
  EXPECT_EQ("DELETED\r\n", a.Say("delete 1\r\n"));
  broker.Pass(0);
  EXPECT_EQ(0U, journal->asked());
  EXPECT_EQ("", NameOf(2));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, NamesOfJobsThatAreGoneArePassedInSlices) {
  SetGroups("other");
  constexpr JobId kJobs = 2 * JobStore::kSlice;
  for (JobId id = 1; id <= kJobs; ++id) {
    PutOf("x");
    EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), id, "other").ok());
  }
  PutOf("y");
  EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), last, "other").ok());
  for (JobId id = 1; id <= kJobs; ++id) broker.engine.Cancel(broker.clock.Now(), id);
  EXPECT_EQ(broker.clock.Now(), broker.engine.Tick(broker.clock.Now())) << "there are more";
  EXPECT_FALSE(journal->AskedIds().contains(last));
  ReadAll();
  EXPECT_EQ("y", NameOf(last));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, BodiesOfOtherTubesAreLeftWhereTheyAre) {
  for (const char* const group : {"x", "y"}) PutOf(group);
  SetGroups("other");
  a.Say("use other\r\n");
  PutOf("z");
  broker.engine.SetPolicy(broker.clock.Now(), "other", "group_order", "fifo");
  broker.Pass(0);
  EXPECT_EQ(0U, journal->asked()) << "the group of the third stays the same";
  EXPECT_EQ("z", NameOf(3));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, AnyJobOfATubeMayBeReservedByItsIdBeforeItsNameIsReadButNoneOfALine) {
  SetGroups("other");
  SetGroups("lines");
  broker.engine.SetPolicy(broker.clock.Now(), "lines", "group_order", "fifo");
  for (const char* const tube : {"other", "lines"}) {
    PutOf("x");
    EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), last, tube).ok());
  }
  EXPECT_EQ("NOT_FOUND\r\n", b.Say("reserve-job 2\r\n"));
  EXPECT_EQ("", a.Say("reserve-job 1\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  ReadAll();
  EXPECT_EQ("RESERVED 1 300\r\nx\n", a.Hear().substr(0, 18));
  EXPECT_EQ("", b.Say("reserve-job 2\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(2).state());
  EXPECT_EQ("", Wrong());
}

// Nobody knows yet of which line it is.
TEST_F(GroupsOfBodies, TheEndOfAJobWithoutAKnownNameIsDurableBeforeAnyLineGoesOn) {
  SetGroups("other");
  broker.engine.SetPolicy(broker.clock.Now(), "other", "group_order", "fifo");
  for (int i = 0; i < 2; ++i) PutOf("x");
  a.Say("use other\r\nput 0 0 10 1\r\ny\r\nput 0 0 10 1\r\nz\r\n");
  for (const JobId id : {1, 2}) {
    EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), id, "other").ok());
  }
  journal->kept().HoldBack();
  RecordingConsumer taker;
  broker.engine.Join(taker);
  const auto seen = [&](JobId id) {
    const Taken taken = broker.engine.ReserveJob(broker.clock.Now(), taker, id);
    EXPECT_NE(nullptr, taken.job);
    return taken.lsn;
  };
  const Lsn buried = broker.engine.Bury(1, {}, false).lsn;
  EXPECT_GT(buried, 0U);
  EXPECT_GE(seen(3), buried);
  const Lsn moved = broker.engine.Move(broker.clock.Now(), 2, "elsewhere").lsn;
  EXPECT_GT(moved, buried);
  EXPECT_GE(seen(4), moved);
  while (!broker.engine.Leave(broker.clock.Now(), taker)) continue;
}

TEST_F(GroupsOfBodies, ADeadJobWhoseNameIsStillToBeReadHoldsAllGroupsAfterAStart) {
  for (const auto& [key, value] : {std::pair{"on_failure", "move"}, {"attempts", "1"}}) {
    ASSERT_TRUE(broker.engine.SetPolicy(broker.clock.Now(), "default", key, value).status.ok());
  }
  PutOf("x");
  EXPECT_EQ("", b.Say("reserve\r\n"));
  journal->AnswerAll();
  b.Hear();
  broker.Pass(11 * kSecond);
  ASSERT_EQ("default", Of(1).origin());
  for (const char* const group : {"x", "y"}) PutOf(group);
  a.Say("use free\r\n");
  PutOf("x");
  const PolicyRules rules(
      {{.match = "default", .values = {{"group", "line"}, {"group_on_failure", "hold"}}},
       {.match = "free", .values = {{"group", "line"}}}});
  StartedAgain second(journal->kept().records());
  second.journal->Replay(WithoutBodies());
  second.broker.engine.SetRules(0, rules);
  second.Start();
  const auto names = [&] { return second.broker.engine.FindTube("default")->groups()->counts(); };
  EXPECT_EQ(0U, names().groups);
  beanstalk::Client client(second.broker), other(second.broker);
  EXPECT_EQ("", client.Say("reserve\r\n"));
  EXPECT_EQ(0U, second.broker.engine.Stats().reserved) << "x may be held";
  for (second.broker.Pass(0); second.journal->asked() > 0; second.broker.Pass(0)) {
    second.journal->AnswerAll();
  }
  EXPECT_EQ(2U, names().groups);
  const Job& dead = *second.broker.engine.Find(1);
  ASSERT_NE(nullptr, dead.texts()->home);
  EXPECT_EQ("x", static_cast<const Group*>(dead.texts()->home)->name());
  EXPECT_EQ("RESERVED 3 300\r\ny\n", client.Hear().substr(0, 18));
  EXPECT_EQ("TIMED_OUT\r\n", client.Say("reserve-with-timeout 0\r\n"));
  EXPECT_EQ("x", GroupNameOf(*second.broker.engine.Find(4)));
  EXPECT_EQ("", second.broker.engine.FindTube("default")->groups()->Check());
}

TEST_F(GroupsOfBodies, ADamagedJobThatCannotBeBuriedKeepsNoOtherFromItsGroup) {
  for (const char* const group : {"x", "y"}) PutOf(group);
  journal->Damage(1);
  SetGroups("default");
  journal->kept().RefuseAll();
  ReadAll();
  EXPECT_EQ(JobState::kReady, Of(1).state());
  EXPECT_EQ("", NameOf(1));
  EXPECT_EQ("y", NameOf(2));
  EXPECT_EQ("", Wrong());
}

TEST_F(GroupsOfBodies, AnEngineMayEndBeforeNamesAreRead) {
  const std::size_t before = JobMemory();
  {
    StartedAgain second({});
    second.Start();
    second.broker.engine.SetPolicy(1, "other", "group", "line");
    beanstalk::Client client(second.broker);
    const std::string body(300, 'x');
    client.Say("put 0 0 10 300\r\n" + body + "\r\n");
    second.broker.Pass(0);
    EXPECT_TRUE(second.broker.engine.Move(1, 1, "other").ok());
    EXPECT_FALSE(second.broker.engine.Find(1)->has_body());
    EXPECT_GT(JobMemory(), before);
  }
  EXPECT_EQ(before, JobMemory());
}

}  // namespace
}  // namespace gearstalk
