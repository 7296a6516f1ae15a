#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

constexpr Time kAnswerTime = 100 * kMillisecond;  // what a woken worker has before all are woken

class SleepTest : public EngineTest {};

TEST_F(SleepTest, OneSleeperIsWokenForEachJobLongestAsleepFirst) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"}), &third = Sleeping({"f"});
  Background("f");
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  EXPECT_THAT(second.Heard(), IsEmpty());
  Background("f");
  EXPECT_THAT(first.Heard(), IsEmpty());
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  EXPECT_EQ("reserved 1", Grab(second));
  EXPECT_EQ("reserved 2", Grab(first));
  EXPECT_EQ("none", Grab(first));
  Pass(kSecond);
  EXPECT_THAT(third.Heard(), IsEmpty());
}

TEST_F(SleepTest, WhoFallsAsleepWithWorkThereIsWokenAtOnce) {
  Background("f");
  RecordingConsumer& worker = Sleeping({"f"});
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, WhoSleepsAgainWithoutAGrabPassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  Background("f");
  first.Heard();
  Sleep(first);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  // There is work, so it cannot sleep either.
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, WhoLeavesPassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  Background("f");
  Leave(first);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, WhoCannotDoItAnyMorePassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  RecordingConsumer& third = Sleeping({"f"});
  Background("f");
  engine.CantDo(Now(), first, "f");
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  engine.ResetAbilities(Now(), second);
  EXPECT_THAT(third.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, WhoTakesFromAnotherTubePassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f", "g"}), &second = Sleeping({"f"});
  Submit("f", {.priority = 9});
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  Submit("g", {.priority = 1});
  EXPECT_EQ("reserved 2", Grab(first));
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, TheNextInLineMayBeWhoReserves) {
  RecordingConsumer& sleeper = Sleeping({"f"});
  RecordingConsumer& consumer = Waiting({"f"});
  Background("f");
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
  EXPECT_THAT(consumer.Heard(), IsEmpty());
  Leave(sleeper);
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
}

TEST_F(SleepTest, EverybodyIsWokenForAJobThatNobodyCameFor) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"}), &third = Sleeping({"f"});
  RecordingConsumer& elsewhere = Sleeping({"g"});
  Background("f");
  Pass(kAnswerTime - 1);
  EXPECT_THAT(second.Heard(), IsEmpty());
  Pass(1);
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  EXPECT_THAT(third.Heard(), ElementsAre("noop"));
  EXPECT_THAT(elsewhere.Heard(), IsEmpty());
}

TEST_F(SleepTest, TickSaysWhenEverybodyIsWoken) {
  Sleeping({"f"});
  Background("f");
  EXPECT_EQ(Now() + kAnswerTime, engine.Tick(Now()));
  Pass(kAnswerTime);
  EXPECT_EQ(kNever, engine.Tick(Now()));
}

TEST_F(SleepTest, AJobThatNobodyCameForGoesToWhoReserves) {
  RecordingConsumer& sleeper = Sleeping({"f"});
  RecordingConsumer& consumer = Waiting({"f"});
  Background("f");
  Pass(kAnswerTime);
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, ASilentWorkerIsNotCountedOnAgain) {
  RecordingConsumer &silent = Sleeping({"f"}), &second = Sleeping({"f"});
  Background("f");
  EXPECT_THAT(silent.Heard(), ElementsAre("noop"));
  // Somebody who did not sleep takes the job.
  EXPECT_EQ("reserved 1", Grab(Worker({"f"})));
  Pass(kAnswerTime);
  EXPECT_THAT(second.Heard(), IsEmpty());
  Background("f");
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, ASecondJobWaitsNoLongerForASilentWorkerThanTheFirst) {
  RecordingConsumer &silent = Sleeping({"f"}), &second = Sleeping({"f"});
  const JobId first = Background("f");
  EXPECT_THAT(silent.Heard(), ElementsAre("noop"));
  engine.Cancel(Now(), first);
  Background("f");
  EXPECT_THAT(second.Heard(), IsEmpty());
  Pass(kAnswerTime);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, AWorkerThatComesLateIsWokenLikeAnyOther) {
  RecordingConsumer& late = Sleeping({"f"});
  Background("f");
  Pass(kAnswerTime);
  late.Heard();
  EXPECT_EQ("reserved 1", Grab(late));
  Sleep(late);
  EXPECT_THAT(late.Heard(), IsEmpty());
  Background("f");
  EXPECT_THAT(late.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, CanDoWhileAsleepWakesForWhatIsThere) {
  RecordingConsumer& worker = Sleeping({"f"});
  Background("g");
  EXPECT_THAT(worker.Heard(), IsEmpty());
  engine.Watch(Now(), worker, "g", true);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, AJobThatComesBackWakesASleeper) {
  RecordingConsumer& holder = Worker({"f"});
  Background("f");
  Grab(holder);
  RecordingConsumer& sleeper = Sleeping({"f"});
  Leave(holder);
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, OfWhatALeaverHeldTheMostUrgentFindsAWaiterFirst) {
  const auto hold = [this](RecordingConsumer& holder) {
    PutInto("b", {.priority = 9, .ttr_s = 10});
    PutInto("a", {.priority = 1, .ttr_s = 100});
    engine.Watch(Now(), holder, "a", true);
    engine.Watch(Now(), holder, "b", true);
    while (Grab(holder) != "none") continue;
  };
  RecordingConsumer &lost = Connect(), &reset = Connect();
  hold(lost);
  RecordingConsumer& first = Waiting({"a", "b"});
  Leave(lost);
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 2"));
  hold(reset);
  RecordingConsumer& second = Waiting({"b", "a"});
  engine.ResetAbilities(Now(), reset);
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 4"));
}

TEST_F(SleepTest, JoiningAJobWakesNobody) {
  Submit("f", {.unique = "k"});
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  first.Heard();
  second.Heard();
  Submit("f", {.unique = "k"});
  EXPECT_THAT(first.Heard(), IsEmpty());
  EXPECT_THAT(second.Heard(), IsEmpty());
}

TEST_F(SleepTest, AnEpochJobThatFallsDueWakesASleeper) {
  RecordingConsumer& worker = Sleeping({"f"});
  Submit("f", {.ttr_s = 0}, nullptr, Now() + kSecond);
  EXPECT_THAT(worker.Heard(), IsEmpty());
  Pass(kSecond);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
}

TEST_F(SleepTest, EndsTheRunLimitAndLeavesTheTtr) {
  RecordingConsumer& worker = Worker({"f"}, 5 * kSecond);
  Submit("f", {.ttr_s = 10});
  EXPECT_EQ("reserved 1", Grab(worker));
  Pass(4 * kSecond);
  Sleep(worker);
  Pass(5 * kSecond);
  EXPECT_EQ(JobState::kReserved, engine.Find(1)->state());
  Pass(kSecond);
  EXPECT_EQ(JobState::kReady, engine.Find(1)->state());
}

class WakeAllTest : public EngineTest {
 protected:
  WakeAllTest() : EngineTest({.wake_all = true}) {}
};

TEST_F(WakeAllTest, EveryNewJobWakesEverySleeper) {
  RecordingConsumer &first = Worker({"f"}), &second = Worker({"f"}), &elsewhere = Worker({"g"});
  for (RecordingConsumer* worker : {&first, &second, &elsewhere}) Sleep(*worker);
  Background("f");
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  EXPECT_THAT(elsewhere.Heard(), IsEmpty());
  EXPECT_EQ("reserved 1", Grab(second));
}

TEST_F(WakeAllTest, WhoReservesGetsTheJob) {
  RecordingConsumer &sleeper = Worker({"f"}), &consumer = Connect("f");
  Sleep(sleeper);
  EXPECT_EQ("waits", Reserve(consumer));
  Background("f");
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
}

TEST_F(SleepTest, ManyBrokenPromisesAreDealtWithInSlices) {
  const int many = 200;
  for (int i = 0; i < many; ++i) {
    for (const std::string tube : {"a", "b"}) {
      RecordingConsumer& worker = Worker({tube});
      for (std::size_t n = 0; n < WatchList::kWide; ++n) {
        engine.Watch(Now(), worker, tube + std::to_string(n), true);
      }
      Sleep(worker);
    }
  }
  for (int i = 0; i < many; ++i) Background("a");
  const Time later = Now() + kAnswerTime;
  int slices = 1;
  while (engine.Tick(later) <= later) ++slices;
  EXPECT_GT(slices, 2);
}

}  // namespace
}  // namespace gearstalk
