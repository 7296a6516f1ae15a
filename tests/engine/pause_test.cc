// The end of a pause, which is at its time and not at the next Tick.

#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

using PauseTest = EngineTest;

TEST_F(PauseTest, WhoReservesAtTheEndOfAPauseGetsTheMostUrgentJob) {
  const JobId paused = PutInto("paused", {.priority = 1});
  PutInto("open", {.priority = 2});
  engine.Pause(Now(), "paused", 10);
  RecordingConsumer& consumer = Connect("open");
  engine.Watch(Now(), consumer, "paused");
  clock.Advance(10 * kSecond);
  EXPECT_EQ("reserved " + std::to_string(paused), Reserve(consumer));
}

TEST_F(PauseTest, WhoWaitedIsServedBeforeWhoReservesAtTheEndOfAPause) {
  const JobId id = PutInto("t");
  engine.Pause(Now(), "t", 10);
  RecordingConsumer& waiting = Waiting({"t"});
  RecordingConsumer& late = Connect("t");
  clock.Advance(10 * kSecond);
  EXPECT_EQ("waits", Reserve(late));
  EXPECT_THAT(waiting.Heard(), ElementsAre("reserved " + std::to_string(id)));
}

// Not by the end of the pause and by the job.
TEST_F(PauseTest, WhoFallsAsleepAtTheEndOfAPauseIsWokenOnce) {
  const JobId id = Background("t");
  engine.Pause(Now(), "t", 10);
  RecordingConsumer& worker = Worker({"t"});
  clock.Advance(10 * kSecond);
  Sleep(worker);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
  ExpectSound();
  EXPECT_EQ("reserved " + std::to_string(id), Grab(worker));
  Pass(kSecond);
}

TEST_F(PauseTest, APutAtTheEndOfAPauseDoesNotOvertakeItsJobs) {
  const JobId id = PutInto("paused", {.priority = 1});
  engine.Pause(Now(), "paused", 10);
  RecordingConsumer& waiting = Waiting({"open", "paused"});
  clock.Advance(10 * kSecond);
  PutInto("open", {.priority = 2});
  EXPECT_THAT(waiting.Heard(), ElementsAre("reserved " + std::to_string(id)));
}

TEST_F(PauseTest, OfPausesThatAreOverTogetherTheMostUrgentJobsLeave) {
  PutInto("a", {.priority = 1});
  PutInto("a", {.priority = 9});
  PutInto("b", {.priority = 2});
  PutInto("c", {.priority = 0});
  for (const std::string_view tube : {"a", "b", "c"}) {
    engine.Pause(Now(), tube, 10);
    clock.Advance(kMicrosecond);
  }
  RecordingConsumer& first = Waiting({"a", "b", "c"});
  RecordingConsumer& second = Waiting({"a", "b", "c"});
  RecordingConsumer& third = Waiting({"a", "b", "c"});
  Pass(10 * kSecond);
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 4"));
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(third.Heard(), ElementsAre("reserved 3"));
  EXPECT_EQ("ready", State(2));
}

// More than a slice of tubes: the rest is served by the next calls.
TEST_F(PauseTest, ManyPausesThatAreOverTogetherAreServedInSlices) {
  constexpr int kTubes = 2 * static_cast<int>(JobStore::kSlice);
  std::vector<RecordingConsumer*> waiting;
  for (int i = 0; i < kTubes; ++i) {
    const std::string tube = "t" + std::to_string(i);
    PutInto(tube);
    engine.Pause(Now(), tube, 10);
    waiting.push_back(&Waiting({tube}));
  }
  Pass(10 * kSecond);
  for (int i = 0; i < kTubes; ++i) {
    EXPECT_THAT(waiting[i]->Heard(), ElementsAre("reserved " + std::to_string(i + 1)));
  }
}

}  // namespace
}  // namespace gearstalk
