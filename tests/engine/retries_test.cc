// Lost tries, and how many there may be.

#include <string>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class RetriesTest : public EngineTest {
 protected:
  RetriesTest() : EngineTest({.job_retries = 2}) {}
  void Lose(JobId id) {
    RecordingConsumer& worker = Worker({"f"});
    ASSERT_EQ("reserved " + std::to_string(id), Grab(worker));
    Leave(worker);
  }
};

TEST_F(RetriesTest, TheLastLostTryFailsASubmittedJob) {
  RecordingObserver& client = Client();
  const JobId id = Foreground("f", client);
  Lose(id);
  EXPECT_EQ("ready", State(id));
  EXPECT_THAT(client.Heard(), IsEmpty());
  Lose(id);
  EXPECT_EQ("gone", State(id));
  EXPECT_THAT(client.Heard(), ElementsAre("1 failed"));
}

TEST_F(RetriesTest, TheLastLostTryBuriesAPutJob) {
  const JobId id = PutInto("f");
  Lose(id);
  Lose(id);
  EXPECT_EQ("buried", State(id));
}

TEST_F(RetriesTest, TheWorkersOwnLimitIsALostTryATtrIsNot) {
  const JobId id = PutInto("f", {.ttr_s = 10});
  RecordingConsumer& patient = Worker({"f"});
  Grab(patient);
  Pass(10 * kSecond);
  EXPECT_EQ(0u, engine.Find(id)->rest().lost_tries);
  RecordingConsumer& limited = Worker({"f"}, 2 * kSecond);
  Grab(limited);
  Pass(2 * kSecond);
  EXPECT_EQ(1u, engine.Find(id)->rest().lost_tries);
  EXPECT_EQ(2u, engine.Find(id)->extra().timeouts);
  Grab(limited);
  Pass(2 * kSecond);
  EXPECT_EQ("buried", State(id));
}

TEST_F(RetriesTest, ARefusingJournalKeepsTheJob) {
  const JobId id = Background("f");
  Lose(id);
  journal.Refuse(Record::Kind::kDelete);
  Lose(id);
  EXPECT_EQ("ready", State(id));
}

}  // namespace
}  // namespace gearstalk
