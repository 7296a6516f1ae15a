// Bodies that are the unique keys of their jobs.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/record.h"
#include "tests/bodies/bodies_case.h"

namespace gearstalk {
namespace {

// A tube whose jobs are known by their bodies.
class KeyedBodies : public BodiesTest {
 protected:
  KeyedBodies() { Set("default", "unique", "body"); }

  void Set(std::string_view tube, std::string_view key, std::string_view value) {
    broker.engine.SetPolicy(broker.clock.Now(), tube, key, value);
  }
  static std::string Command(const std::string& body, const std::string& how = "0 0 10") {
    return "put " + how + " " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  }
  static std::string Inserted(JobId id) { return "INSERTED " + std::to_string(id) + "\r\n"; }
  // With the bodies that it waits for.
  std::string Say(beanstalk::Client& client, const std::string& what) {
    std::string said = client.Say(what);
    while (journal->asked() > 0) {
      journal->AnswerAll();
      said += client.Hear();
    }
    broker.Pass(0);
    return said;
  }
};

TEST_F(KeyedBodies, LeaveAndComeBackLikeOthers) {
  Put();
  EXPECT_FALSE(Of(1).has_body());
  EXPECT_EQ("-", Of(1).unique());
  EXPECT_EQ(Line("RESERVED", 1), Say(a, "reserve\r\n"));
  EXPECT_EQ("DELETED\r\n", a.Say("delete 1\r\n"));
  EXPECT_EQ(Inserted(2), a.Say(Command(BodyOf(1)))) << "its key is free";
}

TEST_F(KeyedBodies, AnotherBodyNeedsNoRead) {
  Put();
  Put();
  EXPECT_EQ(0U, journal->asked());
  EXPECT_EQ(2U, Counts().in_journal);
}

TEST_F(KeyedBodies, AnEqualBodyIsComparedWithTheColdOneBeforeItCounts) {
  Put();
  EXPECT_EQ("", a.Say(Command(BodyOf(1)) + "use other\r\n"));
  EXPECT_EQ("USING b\r\n", b.Say("use b\r\n")) << "others do not wait";
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_EQ(Inserted(1) + "USING other\r\n", a.Hear());
  broker.Pass(0);
  EXPECT_FALSE(Of(1).has_body());
  EXPECT_EQ(1U, broker.engine.Stats().ready);
}

TEST_F(KeyedBodies, AJobThatEndsMeanwhileLeavesItsKey) {
  Put();
  EXPECT_EQ("", a.Say(Command(BodyOf(1))));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(Inserted(2), a.Hear());
}

TEST_F(KeyedBodies, AJobThatTakesTheKeyMeanwhileIsComparedToo) {
  Put();
  EXPECT_EQ("", a.Say(Command(BodyOf(1))));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  EXPECT_EQ(Inserted(2), b.Say(Command(BodyOf(1))));
  broker.Pass(0);
  EXPECT_FALSE(Of(2).has_body());
  journal->AnswerAll();
  EXPECT_EQ("", a.Hear());
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_EQ(Inserted(2), a.Hear());
}

TEST_F(KeyedBodies, ADamagedBodyIsNoEqualOne) {
  Put();
  journal->Damage(1);
  EXPECT_EQ(Inserted(2), Say(a, Command(BodyOf(1))));
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  EXPECT_EQ(JobState::kReady, Of(2).state());
}

TEST_F(KeyedBodies, ADamagedBodyOfAReservedJobIsNoEqualOne) {
  Put();
  EXPECT_EQ(Line("RESERVED", 1), Say(b, "reserve\r\n"));
  journal->Damage(1);
  EXPECT_EQ(Inserted(2), Say(a, Command(BodyOf(1))));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
}

TEST_F(KeyedBodies, ADiskThatFailsHoldsTheComparison) {
  Put();
  journal->Fail(true);
  EXPECT_EQ("", a.Say(Command(BodyOf(1))));
  journal->AnswerAll();
  EXPECT_EQ("", a.Hear());
  journal->Fail(false);
  broker.Pass(kSecond);
  journal->AnswerAll();
  EXPECT_EQ(Inserted(1), a.Hear());
}

TEST_F(KeyedBodies, AProducerThatLeavesHasPutNothing) {
  Put();
  {
    beanstalk::Client gone(broker);
    EXPECT_EQ("", gone.Say(Command(BodyOf(1), "0 5 10")));
  }
  journal->AnswerAll();
  EXPECT_EQ(1U, broker.engine.Stats().ready);
}

TEST_F(KeyedBodies, CopiesForSeveralTubesAreCompared) {
  for (const char* tube : {"x", "y"}) Set(tube, "unique", "body");
  Set("from", "copy_to", "x,y");
  a.Say("use from\r\n");
  EXPECT_EQ(Inserted(1), a.Say(Command(BodyOf(1))));
  broker.Pass(0);
  EXPECT_EQ(3U, Counts().in_journal);
  EXPECT_EQ(Inserted(4), Say(a, Command(BodyOf(1)))) << "which has no key in its own tube";
  EXPECT_EQ(4U, broker.engine.Stats().ready);
  EXPECT_EQ(2U, broker.engine.Stats().duplicates);
}

TEST_F(KeyedBodies, AKeyStaysTakenAfterTheEndOfAColdJob) {
  Set("default", "unique_for", "60s");
  Put();
  EXPECT_EQ(Line("RESERVED", 1), Say(a, "reserve\r\n"));
  EXPECT_FALSE(Of(1).has_body());
  EXPECT_EQ("DELETED\r\n", a.Say("delete 1\r\n"));
  EXPECT_EQ(Inserted(1), a.Say(Command(BodyOf(1))));
  EXPECT_EQ(0U, journal->asked());
  broker.Pass(61 * kSecond);
  EXPECT_EQ(Inserted(2), a.Say(Command(BodyOf(1))));
}

TEST_F(KeyedBodies, AKickedDamagedJobHasItsKeyAgain) {
  Put();
  journal->Damage(1);
  EXPECT_EQ("INTERNAL_ERROR\r\n", Say(a, "peek 1\r\n"));
  journal->Repair();
  EXPECT_EQ("KICKED 1\r\n", Say(a, "kick 1\r\n"));
  EXPECT_EQ(JobState::kReady, Of(1).state());
  EXPECT_EQ(Inserted(1), Say(a, Command(BodyOf(1))));
}

TEST_F(KeyedBodies, AMoveTakesTheKeyAlong) {
  Put();
  Set("other", "unique", "body");
  EXPECT_TRUE(broker.engine.Move(broker.clock.Now(), 1, "other").ok());
  EXPECT_EQ(Inserted(2), a.Say(Command(BodyOf(1))));
  a.Say("use other\r\n");
  EXPECT_EQ(Inserted(1), Say(a, Command(BodyOf(1))));
}

// As a start from an index gives it: without the body, with its hash.
TEST_F(KeyedBodies, AStartWithoutBodiesKnowsTheirKeys) {
  Put();
  Put();
  std::vector<OwnedRecord> records;
  for (const OwnedRecord& kept : journal->kept().records()) {
    Record record = kept.View();
    const BodyHash hash = HashOfBody(record.body);
    if (record.kind == Record::Kind::kPut) {
      record.put_key = View(hash);
      record.body_left_out = static_cast<std::uint32_t>(record.body.size());
      record.body = {};
    }
    records.emplace_back(record);
  }
  StartedAgain second(std::move(records));
  for (JobId id = 1; id <= 2; ++id) second.journal->Shelve(id, BodyOf(id));
  second.Start();
  beanstalk::Client client(second.broker);
  EXPECT_EQ("", client.Say(Command(BodyOf(2))));
  EXPECT_EQ(std::set<std::uint64_t>{2}, second.journal->AskedIds());
  second.journal->AnswerAll();
  EXPECT_EQ(Inserted(2), client.Hear());
  EXPECT_EQ(Inserted(3), client.Say(Command(BodyOf(3))));
  EXPECT_EQ(3U, second.broker.engine.Stats().ready);
}

TEST_F(KeyedBodies, OperatorsWait) {
  Put();
  const auto copy = [] {
    const std::string body = BodyOf(1);
    JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
    body.copy(job->space().data(), body.size());
    return job;
  };
  Engine& acts = broker.engine;
  JobPtr job = copy();
  ComparisonPtr compared;
  acts.PutInto(broker.clock.Now(), "default", std::move(job), &compared);
  ASSERT_TRUE(Waits(compared));
  ASSERT_NE(nullptr, job);
  journal->AnswerAll();
  ASSERT_FALSE(Waits(compared));
  const Added added = acts.PutInto(broker.clock.Now(), "default", std::move(job), &compared);
  EXPECT_FALSE(Waits(compared));
  EXPECT_TRUE(added.joined);
  EXPECT_EQ(1U, added.id);
}

TEST_F(KeyedBodies, AnOperatorWhoAsksTooEarlyStillWaits) {
  Put();
  const std::string body = BodyOf(1);
  JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
  body.copy(job->space().data(), body.size());
  ComparisonPtr compared;
  for (int times = 0; times < 2; ++times) {
    broker.engine.PutInto(broker.clock.Now(), "default", std::move(job), &compared);
    ASSERT_TRUE(Waits(compared));
    ASSERT_NE(nullptr, job);
  }
  EXPECT_EQ(1U, journal->asked());
  EXPECT_EQ(1U, broker.engine.Stats().ready);
  journal->AnswerAll();
  EXPECT_TRUE(
      broker.engine.PutInto(broker.clock.Now(), "default", std::move(job), &compared).joined);
}

// What it was given before it got its key stays its own.
TEST_F(KeyedBodies, AJobWithMoreThanABodyExpires) {
  Set("default", "expire_after", "10s");
  const std::string body = BodyOf(1);
  JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()));
  body.copy(job->space().data(), body.size());
  auto& producer = dynamic_cast<Consumer&>(*a.session());
  const Added added = broker.engine.Submit(broker.clock.Now(), producer, std::move(job),
                                           {.tube = "default", .reducer = "r"});
  EXPECT_EQ("-", Of(added.id).unique());
  EXPECT_EQ("r", Of(added.id).rest().reducer);
  broker.Pass(11 * kSecond);
  EXPECT_EQ(1U, broker.engine.Stats().expired);
  EXPECT_EQ(nullptr, broker.engine.Find(added.id));
}

TEST_F(KeyedBodies, TransfersWait) {
  Put();
  Transfers& transfers = broker.engine.transfers();
  const Time now = broker.clock.Now();
  ASSERT_TRUE(transfers.Begin("t", {.kind = "import"}, 0, 0).ok());
  const std::string body = BodyOf(1);
  Record job;
  job.tube = "default";
  job.body = body;
  job.unique_is_body = true;
  ComparisonPtr compared;
  transfers.Put(now, "t", job, "key", {}, &compared);
  ASSERT_TRUE(Waits(compared));
  journal->AnswerAll();
  EXPECT_TRUE(transfers.Put(now, "t", job, "key", {}, &compared).ok());
  EXPECT_FALSE(Waits(compared));
  EXPECT_EQ(1U, broker.engine.Stats().ready);
  compared.reset();
  broker.Pass(0);
  ASSERT_FALSE(Of(1).has_body());
  job.transfer.held = Record::Held::kFirstPhase;
  const JobId held = transfers.Hold("t", job).id;
  transfers.Commit(now, "t", held, &compared);
  ASSERT_TRUE(Waits(compared));
  EXPECT_EQ(1U, transfers.held());
  journal->AnswerAll();
  EXPECT_TRUE(transfers.Commit(now, "t", held, &compared).ok());
  EXPECT_EQ(0U, transfers.held());
  EXPECT_EQ(1U, broker.engine.Stats().ready);
}

TEST_F(KeyedBodies, AScheduledJobIsTriedAgainWhenItIsCompared) {
  Schedules& schedules = broker.engine.schedules();
  const std::string body = BodyOf(1);
  ASSERT_TRUE(schedules
                  .Set(broker.clock.Now(),
                       {{.name = "s", .every = 60 * kSecond, .tube = "default", .body = body}},
                       "UTC")
                  .ok());
  Put();
  broker.Pass(60 * kSecond);
  EXPECT_EQ(0U, schedules.Find("s")->runs);
  journal->AnswerAll();
  broker.Pass(kSecond);
  EXPECT_EQ(1U, schedules.Find("s")->runs);
  EXPECT_EQ(1U, schedules.Find("s")->last_job);
  EXPECT_EQ(1U, broker.engine.Stats().ready);
  EXPECT_EQ(nullptr, schedules.Find("s")->compared);
}

TEST_F(KeyedBodies, OneHashIsComparedWithAFewBodiesOnly) {
  for (JobId id = 1; id <= Comparison::kMost + 2; ++id) {
    const std::uint64_t before = Counts().reads;
    EXPECT_EQ(Inserted(id), Say(a, Command(BodyOf(1))));
    EXPECT_EQ(std::min(id - 1, Comparison::kMost), Counts().reads - before);
    journal->Shelve(id, BodyOf(id + 100));
  }
  EXPECT_EQ(Comparison::kMost + 2, broker.engine.Stats().ready);
}

class KeyedTransfers : public KeyedBodies {
 protected:
  KeyedTransfers() {
    EXPECT_TRUE(transfers.Begin("t", {.kind = "import"}, 0, 0).ok());
    Put();
    job.tube = "default";
    job.body = body;
    job.unique_is_body = true;
  }
  Transfers::Change Settle(ComparisonPtr* compared) {
    return transfers.Put(broker.clock.Now(), "t", job, "key", {}, compared);
  }

  Transfers& transfers = broker.engine.transfers();
  const std::string body = BodyOf(1);
  Record job;
};

TEST_F(KeyedTransfers, OneThatIsAskedAgainTooEarlyStillWaits) {
  ComparisonPtr compared;
  Settle(&compared);
  EXPECT_TRUE(Waits(compared));
  EXPECT_EQ(0U, Settle(&compared).id);
  EXPECT_TRUE(Waits(compared));
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_TRUE(Settle(&compared).ok());
  EXPECT_EQ(1U, transfers.Find("t")->joined);
}

TEST_F(KeyedTransfers, AnotherBodyWithTheHashIsAnotherJob) {
  journal->Shelve(1, BodyOf(100));
  ComparisonPtr compared;
  Settle(&compared);
  ASSERT_TRUE(Waits(compared));
  journal->AnswerAll();
  EXPECT_EQ(2U, Settle(&compared).id);
  EXPECT_EQ(0U, transfers.Find("t")->joined);
  EXPECT_EQ(2U, broker.engine.Stats().ready);
}

TEST_F(KeyedTransfers, ADamagedBodyOfAReservedJobIsNoEqualOne) {
  EXPECT_EQ(Line("RESERVED", 1), Say(b, "reserve\r\n"));
  ASSERT_FALSE(Of(1).has_body());
  journal->Damage(1);
  ComparisonPtr compared;
  Settle(&compared);
  ASSERT_TRUE(Waits(compared));
  journal->AnswerAll();
  EXPECT_EQ(2U, Settle(&compared).id);
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  EXPECT_EQ(0U, transfers.Find("t")->joined);
}

TEST_F(KeyedTransfers, AJobThatTakesTheKeyMeanwhileIsComparedToo) {
  EXPECT_EQ(Line("RESERVED", 1), Say(b, "reserve\r\n"));
  journal->Damage(1);
  ComparisonPtr compared;
  Settle(&compared);
  ASSERT_TRUE(Waits(compared));
  EXPECT_EQ(Inserted(2), Say(a, Command(body)));
  ASSERT_FALSE(Waits(compared));
  ASSERT_FALSE(Of(2).has_body());
  EXPECT_EQ(0U, Settle(&compared).id);
  ASSERT_TRUE(Waits(compared));
  journal->AnswerAll();
  EXPECT_TRUE(Settle(&compared).ok());
  EXPECT_EQ(1U, transfers.Find("t")->joined);
  EXPECT_EQ(1U, broker.engine.Stats().ready);
}

TEST_F(KeyedTransfers, OneThatCannotWaitGoesByTheHash) {
  EXPECT_EQ(0U, Settle(nullptr).id);
  EXPECT_EQ(1U, transfers.Find("t")->joined);
  EXPECT_EQ(1U, broker.engine.Stats().ready);
  const std::string other = BodyOf(2);
  job.body = other;
  EXPECT_EQ(2U, Settle(nullptr).id);
  EXPECT_EQ(0U, journal->asked());
}

TEST_F(KeyedTransfers, ABuriedJobHasNoKeyAndJoinsNone) {
  job.state = Record::State::kBuried;
  ComparisonPtr compared;
  EXPECT_EQ(2U, Settle(&compared).id);
  EXPECT_FALSE(Waits(compared));
  EXPECT_EQ(0U, transfers.Find("t")->joined);
}

TEST_F(KeyedTransfers, AJobWithoutAGroupIsRefusedWhateverItsKeyIs) {
  Set("default", "group", "unique");
  Set("default", "group_missing", "refuse");
  const std::string other = BodyOf(2);
  job.body = other;
  EXPECT_EQ(0U, Settle(nullptr).id) << "the body is its key, so it has no other";
  EXPECT_EQ(1U, transfers.Find("t")->refused);
  job.unique_is_body = false;
  job.unique = "customer";
  EXPECT_EQ(2U, Settle(nullptr).id);
}

TEST(Comparisons, ThatWaitedForNothingHaveComparedNothing) {
  Comparison compared(nullptr);
  compared.NoteDone();
  EXPECT_EQ(0U, compared.done());
}

}  // namespace
}  // namespace gearstalk
