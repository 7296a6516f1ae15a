// Held jobs whose bodies a replay leaves out: they are read before the broker is active.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "broker/engine/slab.h"
#include "broker/journal/journal.h"
#include "tests/bodies/bodies_case.h"

namespace gearstalk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeldBodies : public BodiesTest {
 protected:
  HeldBodies() {
    EXPECT_TRUE(broker.engine.transfers().Begin("t", {.kind = "hand-back"}, 0, 0).ok());
  }
  JobId Hold(const std::string& body) {
    Record job;
    job.tube = "in";
    job.body = body;
    job.transfer.held = Record::Held::kFirstPhase;
    return broker.engine.transfers().Hold("t", job).id;
  }
  // The journal of the broker, as a start reads it that leaves out bodies.
  std::vector<OwnedRecord> WithoutBodies() const {
    std::vector<OwnedRecord> records;
    for (const OwnedRecord& kept : journal->kept().records()) {
      Record record = kept.View();
      if (record.body.size() >= kLeastLeftOut) {
        record.body_left_out = static_cast<std::uint32_t>(record.body.size());
        record.body = {};
      }
      records.emplace_back(record);
    }
    return records;
  }
  static std::string Held(const Engine& engine) {
    return std::string(engine.transfers().NextHeld(0)->record.View().body);
  }
};

TEST_F(HeldBodies, AreReadOnceAndCountAsMemory) {
  const JobId small = Hold("small"), large = Hold(BodyOf(7)), dropped = Hold(BodyOf(8));
  EXPECT_TRUE(broker.engine.transfers().Drop("t", dropped).ok());
  StartedAgain second(journal->kept().records());
  second.journal->Replay(WithoutBodies());
  second.Start();
  Engine& engine = second.broker.engine;
  EXPECT_THAT(engine.records().MissingBodies(), ElementsAre(large));
  const std::size_t before = JobMemory();
  const std::string body = BodyOf(7);
  engine.records().OnBody(large, {BodyRead::Result::kWhole, body, {}});
  engine.records().OnBody(small, {BodyRead::Result::kWhole, "other", {}});
  EXPECT_THAT(engine.records().MissingBodies(), IsEmpty());
  EXPECT_EQ(before + body.size(), JobMemory());
  EXPECT_EQ("small", Held(engine));
  for (const JobId id : {small, large}) EXPECT_TRUE(engine.transfers().Commit(1, "t", id).ok());
  EXPECT_EQ(body, engine.Find(large)->body());
  EXPECT_EQ("", engine.CheckInvariants({}));
}

// A standby reads the body of job 1 for somebody who looks at it, and learns that the active broker
// has held the job back.
class ReadMeanwhile : public HeldBodies {
 protected:
  ReadMeanwhile() {
    Put();
    shelf.Shelve(1, BodyOf(1));
    shelf.Answer(standby.records());
    standby.SetLimits({.bodies = 1});
    for (const OwnedRecord& record : WithoutBodies()) Apply(record.View());
    EXPECT_FALSE(query.Knows(1, *standby.Find(1)));
    Record held;
    held.kind = Record::Kind::kChange;
    held.id = 1;
    held.transfer.name = "t";
    held.transfer.held = Record::Held::kFirstPhase;
    Apply(held);
    EXPECT_EQ(1U, standby.transfers().held());
  }
  void Apply(const Record& record) { EXPECT_TRUE(standby.records().Apply(record).ok()); }

  ShelfJournal shelf;
  Engine standby{{}, shelf};
  BodyQuery query{standby.bodies()};
};

TEST_F(ReadMeanwhile, OneThatFailsLeavesTheBodyMissing) {
  standby.records().OnBody(1, {BodyRead::Result::kFailed, {}, "this broker serves nobody now"});
  EXPECT_THAT(standby.records().MissingBodies(), ElementsAre(1));
  const std::string body = BodyOf(1);
  standby.records().OnBody(1, {BodyRead::Result::kWhole, body, {}});
  EXPECT_THAT(standby.records().MissingBodies(), IsEmpty());
  EXPECT_EQ(body, Held(standby));
}

TEST_F(ReadMeanwhile, WhoWaitsForItGetsIt) {
  shelf.AnswerAll();
  EXPECT_FALSE(query.coming());
  ASSERT_NE(nullptr, query.job());
  EXPECT_EQ(BodyOf(1), query.job()->body());
  EXPECT_EQ(BodyOf(1), Held(standby));
}

}  // namespace
}  // namespace gearstalk
