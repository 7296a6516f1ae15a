// Reads of bodies: what fails, what comes late, what nobody asked about, and how much is read
// ahead.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "tests/bodies/bodies_case.h"

namespace gearstalk {
namespace {

class BodyReads : public BodiesTest {
 protected:
  // What the journal says of a body that nobody here has asked for.
  void Tell(JobId id, BodyRead::Result result) {
    broker.engine.records().OnBody(id, {result, {}, "damaged"});
  }
  std::string Answered(beanstalk::Client& client, const std::string& what) {
    const std::string said = client.Say(what);
    journal->AnswerAll();
    return said + client.Hear();
  }
  bool RestsDamaged(JobId id) { return broker.engine.records().RestsDamaged(id); }
  const std::string& Trouble() { return broker.engine.bodies().trouble(); }
  Time Now() { return broker.clock.Now(); }
};

// --- Damage

TEST_F(BodyReads, DamageThatACompactionFindsBuriesTheJobOnce) {
  Put();
  Put(300, "0 50 10");
  EXPECT_FALSE(RestsDamaged(1));
  for (int times = 0; times < 2; ++times) {
    for (const JobId id : {1, 2}) Tell(id, BodyRead::Result::kDamaged);
  }
  for (const JobId id : {1, 2}) {
    EXPECT_EQ(JobState::kBuried, Of(id).state());
    EXPECT_EQ(1U, Of(id).extra().buries);
    EXPECT_TRUE(RestsDamaged(id));
  }
  EXPECT_EQ(2U, Counts().damaged);
}

TEST_F(BodyReads, AJobThatWasBuriedForSomethingElseIsDamagedFromThenOn) {
  Put();
  EXPECT_TRUE(broker.engine.Bury(1, std::nullopt, false).ok());
  EXPECT_FALSE(RestsDamaged(1));
  journal->kept().RefuseAll();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_FALSE(RestsDamaged(1)) << "the journal did not take it";
  journal->kept().AcceptAll();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_TRUE(RestsDamaged(1));
  EXPECT_EQ(1U, Of(1).extra().buries);
}

TEST_F(BodyReads, WhatSaysNothingOfABodyThatIsGoneBuriesNothing) {
  Put();
  Put(100);
  Tell(1, BodyRead::Result::kWhole);
  Tell(1, BodyRead::Result::kFailed);
  Tell(2, BodyRead::Result::kDamaged);
  Tell(99, BodyRead::Result::kDamaged);
  EXPECT_EQ(2U, broker.engine.Stats().ready);
  EXPECT_EQ(0U, Counts().damaged);
  EXPECT_FALSE(RestsDamaged(99));
}

TEST_F(BodyReads, DamageOfAReservedJobCountsWhenItComesBack) {
  Put();
  EXPECT_EQ(Line("RESERVED", 1), Answered(a, "reserve\r\n"));
  broker.Pass(0);
  ASSERT_FALSE(Of(1).has_body());
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ(JobState::kReserved, Of(1).state());
  EXPECT_EQ("RELEASED\r\n", a.Say("release 1 0 0\r\n"));
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ(JobState::kBuried, Of(1).state());
}

TEST_F(BodyReads, DamageThatCannotBeRecordedLeavesTheJobWhereItIs) {
  Put();
  journal->Damage(1);
  journal->kept().RefuseAll();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ(JobState::kReady, Of(1).state());
  EXPECT_EQ("TIMED_OUT\r\n", Answered(a, "reserve-with-timeout 0\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state()) << "it comes back when its TTR ends";
  broker.Pass(10 * kSecond);
  EXPECT_EQ(JobState::kReady, Of(1).state());
  journal->kept().AcceptAll();
  EXPECT_EQ("TIMED_OUT\r\n", Answered(a, "reserve-with-timeout 0\r\n"));
  EXPECT_EQ(JobState::kBuried, Of(1).state());
}

TEST_F(BodyReads, ABodyOfAnotherSizeIsDamaged) {
  Put();
  journal->Shelve(1, "short");
  EXPECT_EQ("INTERNAL_ERROR\r\n", Answered(a, "peek 1\r\n"));
  EXPECT_TRUE(RestsDamaged(1));
}

TEST_F(BodyReads, DamageOfAJobThatIsGoneBuriesNothing) {
  Put();
  journal->Damage(1);
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  EXPECT_EQ(0U, broker.engine.Stats().buries);
}

TEST_F(BodyReads, ADamagedJobWithoutAnotherDeadTubeIsBuriedWhereItIs) {
  for (const auto& [key, value] : {std::pair{"on_failure", "move"}, {"dead_tube", "default"}}) {
    ASSERT_TRUE(broker.engine.SetPolicy(Now(), "default", key, value).status.ok());
  }
  Put();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  EXPECT_EQ("", Of(1).origin());
  EXPECT_TRUE(RestsDamaged(1));
}

TEST_F(BodyReads, AKickThatWaitsForABodyEndsWithItsJob) {
  Put();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ("KICKED 1\r\n", a.Say("kick 1\r\n"));
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  journal->AnswerAll();
  EXPECT_EQ(nullptr, broker.engine.Find(1));
}

TEST_F(BodyReads, AKickThatWaitsForABodyLeavesAJobThatSomebodyTook) {
  Put();
  Tell(1, BodyRead::Result::kDamaged);
  EXPECT_EQ("KICKED 1\r\n", a.Say("kick 1\r\n"));
  EXPECT_EQ(Line("RESERVED", 1), Answered(b, "reserve-job 1\r\n"));
  EXPECT_EQ(JobState::kReserved, Of(1).state());
}

TEST_F(BodyReads, AKickedDamagedJobIsReadyOnlyWithAWholeRecord) {
  Put();
  Tell(1, BodyRead::Result::kDamaged);
  journal->kept().Refuse(Record::Kind::kPut);
  EXPECT_EQ("KICKED 1\r\n", Answered(a, "kick 1\r\n"));
  EXPECT_EQ(JobState::kBuried, Of(1).state());
  journal->kept().AcceptAll();
  // Its body is here now, and goes along.
  EXPECT_EQ("KICKED 1\r\n", Answered(a, "kick 1\r\n"));
  EXPECT_EQ(JobState::kReady, Of(1).state());
  EXPECT_EQ(BodyOf(1), journal->kept().records().back().View().body);
}

// --- Reads that fail, and answers out of turn

TEST_F(BodyReads, NobodyReadsAgainForAClientThatLeft) {
  Put();
  auto gone = std::make_unique<beanstalk::Client>(broker);
  EXPECT_EQ("", gone->Say("peek 1\r\n"));
  journal->Fail(true);
  journal->AnswerAll();
  EXPECT_EQ("the disk is gone", Trouble());
  gone.reset();
  broker.Pass(kSecond);
  EXPECT_EQ(0U, journal->asked());
  EXPECT_EQ("", Trouble());
}

TEST_F(BodyReads, AReadThatFailsForNobodyIsNoTrouble) {
  Put();
  auto gone = std::make_unique<beanstalk::Client>(broker);
  EXPECT_EQ("", gone->Say("peek 1\r\n"));
  gone.reset();
  journal->Fail(true);
  journal->AnswerAll();
  EXPECT_EQ("", Trouble());
  broker.Pass(kSecond);
  EXPECT_EQ(0U, journal->asked());
}

TEST_F(BodyReads, NobodyReadsAgainForAJobThatIsGone) {
  Put();
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  journal->Fail(true);
  journal->AnswerAll();
  EXPECT_EQ("DELETED\r\n", b.Say("delete 1\r\n"));
  broker.Pass(kSecond);
  EXPECT_EQ(0U, journal->asked());
  EXPECT_EQ("INTERNAL_ERROR\r\n", a.Hear());
  EXPECT_EQ("", Trouble());
}

TEST_F(BodyReads, AFailureWithoutAReasonIsTroubleToo) {
  Put();
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  broker.engine.records().OnBody(1, {BodyRead::Result::kFailed, {}, {}});
  EXPECT_NE("", Trouble());
  broker.Pass(kSecond);
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
}

TEST_F(BodyReads, AReplyIsAskedForAgainSoThatItComesBeforeAQuery) {
  Put();
  BodyQuery query(broker.engine.bodies());
  EXPECT_FALSE(query.Knows(Now(), Of(1)));
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ(2U, journal->asked());
  EXPECT_EQ("", b.Say("peek 1\r\n"));
  EXPECT_EQ(2U, journal->asked());
  journal->AnswerAll();
  EXPECT_TRUE(query.Knows(Now(), Of(1)));
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_EQ(Line("FOUND", 1), b.Hear());
}

TEST_F(BodyReads, AnAnswerThatComesAfterAFailureWaitsForTheNextTry) {
  Put();
  BodyQuery query(broker.engine.bodies());
  EXPECT_FALSE(query.Knows(Now(), Of(1)));
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  journal->Fail(true);
  journal->AnswerOne();
  journal->Fail(false);
  journal->AnswerOne();
  EXPECT_EQ("", a.Hear());
  broker.Pass(kSecond);
  EXPECT_EQ(1U, journal->asked());
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_EQ(1U, Counts().reads);
}

TEST_F(BodyReads, WhoComesToAFailedReadWaitsForItsNextTry) {
  Put();
  BodyQuery query(broker.engine.bodies());
  EXPECT_FALSE(query.Knows(Now(), Of(1)));
  journal->Fail(true);
  journal->AnswerAll();
  journal->Fail(false);
  EXPECT_EQ("", a.Say("peek 1\r\n"));
  EXPECT_EQ(0U, journal->asked());
  broker.Pass(kSecond);
  journal->AnswerAll();
  EXPECT_EQ(Line("FOUND", 1), a.Hear());
  EXPECT_TRUE(query.Knows(Now(), Of(1)));
}

TEST_F(BodyReads, AQueryIsLateWhenTheDiskTakesTooLong) {
  Put();
  BodyQuery query(broker.engine.bodies());
  EXPECT_FALSE(query.Late(Now())) << "it asks for nothing";
  EXPECT_FALSE(query.Knows(Now(), Of(1)));
  EXPECT_FALSE(query.Late(Now() + kBodyPatience));
  EXPECT_TRUE(query.Late(Now() + kBodyPatience + 1));
  journal->AnswerAll();
  EXPECT_FALSE(query.Late(Now() + kBodyPatience + 1));
}

TEST_F(BodyReads, ABodyThatIsHereIsNotWaitedFor) {
  Put(100);
  BodyQuery wait(broker.engine.bodies());
  broker.engine.bodies().Bring(const_cast<Job&>(Of(1)), wait, BodyUse::kReply);
  EXPECT_EQ(BodyWait::State::kHere, wait.state());
  EXPECT_EQ(0U, journal->asked());
  EXPECT_EQ(0U, Counts().waits);
}

TEST(BodyWaits, EndWithTheEngine) {
  ShelfJournal journal;
  auto engine = std::make_unique<Engine>(EngineOptions{}, journal);
  journal.Answer(engine->records());
  engine->SetLimits({.bodies = 1});
  JobPtr job = Job::New(300);
  const JobId id = engine->PutInto(1, "t", std::move(job)).id;
  engine->Tick(1);
  BodyQuery query(engine->bodies()), other(engine->bodies());
  EXPECT_FALSE(query.Knows(1, *engine->Find(id)));
  EXPECT_FALSE(other.Knows(1, *engine->Find(id)));
  engine.reset();
  EXPECT_EQ(BodyWait::State::kNone, query.state());
  EXPECT_EQ(nullptr, query.job());
  EXPECT_FALSE(other.coming());
}

// --- How much is read ahead, and leaves

TEST_F(BodyReads, WhatIsReadAheadOfATubeIsBoundedInBytes) {
  constexpr std::uint64_t kSize = 60'000;
  PutMany(60, kSize);
  Limit(10'000'000);
  std::uint64_t most = 0;
  for (JobId id = 1; id <= 50; ++id) {
    std::string said = a.Say("reserve\r\n");
    most = std::max<std::uint64_t>(most, journal->asked() * kSize);
    journal->AnswerAll();
    ASSERT_EQ(Line("RESERVED", id, kSize), said + a.Hear());
    ASSERT_EQ("DELETED\r\n", a.Say("delete " + std::to_string(id) + "\r\n"));
    broker.Pass(0);
  }
  EXPECT_GT(most, std::uint64_t{9} * kSize) << "more at a time than in the beginning";
  EXPECT_LE(most, (1U << 20) + kSize);
}

TEST_F(BodyReads, WhatIsReadAheadOfAllTubesIsBoundedInBytes) {
  constexpr std::uint64_t kSize = 60'000;
  std::vector<std::unique_ptr<beanstalk::Client>> takers;
  for (const char* const tube : {"x", "y", "z"}) {
    a.Say("use " + std::string(tube) + "\r\n");
    PutMany(20, kSize);
    takers.push_back(std::make_unique<beanstalk::Client>(broker));
    takers.back()->Say("watch " + std::string(tube) + "\r\n");
  }
  Limit(2);
  for (const auto& taker : takers) EXPECT_EQ("", taker->Say("reserve\r\n"));
  EXPECT_LE(journal->asked(), (1U << 20) / kSize + takers.size());
  EXPECT_GT(journal->asked(), 9U);
}

TEST_F(BodyReads, AQueryReadsOnByIdUpToABound) {
  constexpr std::uint64_t kSize = 60'000;
  PutMany(40, kSize);
  BodyQuery query(broker.engine.bodies());
  EXPECT_FALSE(query.Knows(Now(), Of(1)));
  EXPECT_LE(journal->asked(), (1U << 20) / kSize + 1);
  EXPECT_GT(journal->asked(), 9U);
}

TEST_F(BodyReads, ManyNewBodiesLeaveInSlices) {
  journal->KeepOffDisk(0);
  PutMany(600);
  EXPECT_EQ(600U, Counts().in_memory);
  journal->KeepOffDisk(UINT64_MAX);
  EXPECT_EQ(Now(), broker.engine.Tick(Now())) << "there is more to do";
  EXPECT_LE(Counts().in_journal, 512U);
  EXPECT_GT(Counts().in_journal, 256U);
  broker.Pass(0);
  EXPECT_EQ(600U, Counts().in_journal);
}

TEST_F(BodyReads, NewBodiesFarBeyondTheLimitLeaveThoughTheyAreNextInTheirTube) {
  journal->KeepOffDisk(0);
  Limit(1'000'000);
  PutMany(60, 60'000);
  EXPECT_EQ(60U, Counts().in_memory);
  journal->KeepOffDisk(UINT64_MAX);
  broker.Pass(0);
  EXPECT_LE(Counts().memory_bytes, 1'000'000U);
  EXPECT_GT(Counts().in_memory, 10U);
}

}  // namespace
}  // namespace gearstalk
