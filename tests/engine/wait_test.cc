#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

constexpr Time kAnswerTime = 100 * kMillisecond;  // what a woken worker has before all are woken

class WaitTest : public EngineTest {
 protected:
  // A beanstalk connection that waits on `tubes`.
  RecordingConsumer& Waiting(const std::vector<std::string>& tubes) {
    RecordingConsumer& consumer = Connect(tubes.front());
    for (const std::string& tube : tubes) engine.Watch(Now(), consumer, tube);
    EXPECT_EQ("waits", Reserve(consumer));
    return consumer;
  }
  // The same, on so many tubes more that it is no longer in the lines of the tubes.
  RecordingConsumer& WaitingWide(const std::string& tube) {
    std::vector<std::string> tubes{tube};
    for (std::size_t i = 0; i < WatchList::kWide; ++i) tubes.push_back(tube + std::to_string(i));
    return Waiting(tubes);
  }
  RecordingConsumer& Sleeping(std::initializer_list<std::string_view> functions) {
    RecordingConsumer& worker = Worker(functions);
    Sleep(worker);
    return worker;
  }
};

// --- Who reserves

TEST_F(WaitTest, AJobGoesToWhoWaitsForIt) {
  RecordingConsumer& consumer = Waiting({"a"});
  EXPECT_TRUE(consumer.waiting());
  EXPECT_EQ(1u, engine.Waiting(At("a")));
  const JobId id = PutInto("a");
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
  EXPECT_FALSE(consumer.waiting());
  EXPECT_EQ(&consumer, engine.Find(id)->holder());
  EXPECT_EQ(0u, engine.Waiting(At("a")));
}

TEST_F(WaitTest, WaitersOfATubeAreServedInTheOrderOfWaiting) {
  std::vector<RecordingConsumer*> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(&Waiting({"a"}));
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    PutInto("a");
    EXPECT_THAT(waiters[i]->Heard(), ElementsAre("reserved " + std::to_string(i + 1)));
  }
}

TEST_F(WaitTest, WhoWaitsOnSeveralTubesIsServedOnce) {
  RecordingConsumer& both = Waiting({"a", "b"});
  RecordingConsumer& later = Waiting({"b", "a"});
  PutInto("b");
  EXPECT_THAT(both.Heard(), ElementsAre("reserved 1"));
  PutInto("a");
  EXPECT_THAT(later.Heard(), ElementsAre("reserved 2"));
  EXPECT_THAT(both.Heard(), IsEmpty());
}

TEST_F(WaitTest, WhoWaitsAgainStandsAtTheEnd) {
  RecordingConsumer &first = Waiting({"a"}), &second = Waiting({"a"});
  PutInto("a");
  EXPECT_EQ("waits", Reserve(first));
  PutInto("a");
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 2"));
  PutInto("a");
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 1", "reserved 3"));
}

TEST_F(WaitTest, WatchersOfManyTubesStandInTheSameOrder) {
  RecordingConsumer& wide = WaitingWide("a");
  RecordingConsumer& narrow = Waiting({"a"});
  RecordingConsumer& other = WaitingWide("a");
  RecordingConsumer& elsewhere = WaitingWide("b");
  EXPECT_EQ(3u, engine.Waiting(At("a")));
  PutInto("a");
  EXPECT_THAT(wide.Heard(), ElementsAre("reserved 1"));
  PutInto("a");
  EXPECT_THAT(narrow.Heard(), ElementsAre("reserved 2"));
  PutInto("a");
  EXPECT_THAT(other.Heard(), ElementsAre("reserved 3"));
  PutInto("a");
  EXPECT_THAT(elsewhere.Heard(), IsEmpty());
}

TEST_F(WaitTest, ASleeperThatBecomesWideKeepsItsPlace) {
  RecordingConsumer &first = Sleeping({"a"}), &second = Sleeping({"a"});
  for (std::size_t i = 0; i < WatchList::kWide; ++i) {
    engine.Watch(Now(), first, std::to_string(i), true);
  }
  ASSERT_TRUE(first.watched().wide());
  PutInto("a");
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  Sleep(first);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, ASleeperThatBecomesNarrowKeepsItsPlace) {
  RecordingConsumer& first = Worker({"a"});
  for (std::size_t i = 0; i < WatchList::kWide; ++i) {
    engine.Watch(Now(), first, std::to_string(i), true);
  }
  Sleep(first);
  RecordingConsumer& second = Sleeping({"a"});
  engine.Unable(Now(), first, "3");
  ASSERT_FALSE(first.watched().wide());
  PutInto("a");
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  EXPECT_THAT(second.Heard(), IsEmpty());
}

TEST_F(WaitTest, WatchersThatDoNotWaitAreNotLookedAt) {
  for (int i = 0; i < 50; ++i) {
    RecordingConsumer& busy = WaitingWide("a");
    engine.StopWaiting(busy);
  }
  const std::uint64_t before = engine.effort();
  PutInto("a");
  EXPECT_EQ(0u, engine.Waiting(At("a")));
  EXPECT_EQ(before, engine.effort());
}

TEST_F(WaitTest, ASleeperThatWatchesMoreKeepsItsPlaceWithoutLookingForIt) {
  RecordingConsumer& narrow = Sleeping({"f"});
  RecordingConsumer& wide = Worker({"g"});
  for (std::size_t i = 0; i < WatchList::kWide; ++i) {
    engine.Watch(Now(), wide, std::to_string(i), true);
  }
  Sleep(wide);
  for (int i = 0; i < 50; ++i) {
    Sleeping({"f"});
    WaitingWide("g");
  }
  const std::uint64_t before = engine.effort();
  for (RecordingConsumer* sleeper : {&narrow, &wide}) {
    engine.Watch(Now(), *sleeper, "more", true);
    engine.Unable(Now(), *sleeper, "more");
  }
  EXPECT_EQ(before, engine.effort());
  Background("f");
  Background("g");
  EXPECT_THAT(narrow.Heard(), ElementsAre("noop"));
  EXPECT_THAT(wide.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, StoppingOrLeavingEndsAWait) {
  RecordingConsumer &stopped = Waiting({"a"}), &left = Waiting({"a"});
  EXPECT_EQ(2u, engine.Stats().waiting);
  engine.StopWaiting(stopped);
  Leave(left);
  EXPECT_EQ(0u, engine.Stats().waiting);
  EXPECT_EQ("ready", State(PutInto("a")));
  EXPECT_THAT(stopped.Heard(), IsEmpty());
}

TEST_F(WaitTest, WhatIsGivenBackGoesToWhoWaits) {
  RecordingConsumer& holder = Connect("a");
  PutInto("a");
  Reserve(holder);
  RecordingConsumer &first = Waiting({"a"}), &second = Waiting({"a"});
  engine.Release(Now(), holder, 1, 0, 0);
  EXPECT_THAT(first.Heard(), ElementsAre("reserved 1"));
  Leave(first);
  EXPECT_THAT(second.Heard(), ElementsAre("reserved 1"));
}

TEST_F(WaitTest, TheTakeOfOneJobLeavesTheRestForTheNext) {
  PutInto("a");
  PutInto("a");
  RecordingConsumer& consumer = Connect("a");
  EXPECT_EQ("reserved 1", Reserve(consumer));
  EXPECT_EQ("reserved 2", Reserve(consumer));
}

// --- Who sleeps

TEST_F(WaitTest, OneSleeperIsWokenForEachJobLongestAsleepFirst) {
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

TEST_F(WaitTest, WhoFallsAsleepWithWorkThereIsWokenAtOnce) {
  Background("f");
  RecordingConsumer& worker = Sleeping({"f"});
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, WhoSleepsAgainWithoutAGrabPassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  Background("f");
  first.Heard();
  Sleep(first);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  // There is work, so it cannot sleep either.
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, WhoLeavesPassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  Background("f");
  Leave(first);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, WhoCannotDoItAnyMorePassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  RecordingConsumer& third = Sleeping({"f"});
  Background("f");
  engine.Unable(Now(), first, "f");
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
  engine.ResetAbilities(Now(), second);
  EXPECT_THAT(third.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, WhoTakesFromAnotherTubePassesItsWakeupOn) {
  RecordingConsumer &first = Sleeping({"f", "g"}), &second = Sleeping({"f"});
  Submit("f", {.priority = 9});
  EXPECT_THAT(first.Heard(), ElementsAre("noop"));
  Submit("g", {.priority = 1});
  EXPECT_EQ("reserved 2", Grab(first));
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, TheNextInLineMayBeWhoReserves) {
  RecordingConsumer& sleeper = Sleeping({"f"});
  RecordingConsumer& consumer = Waiting({"f"});
  Background("f");
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
  EXPECT_THAT(consumer.Heard(), IsEmpty());
  Leave(sleeper);
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
}

TEST_F(WaitTest, EverybodyIsWokenForAJobThatNobodyCameFor) {
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

TEST_F(WaitTest, TickSaysWhenEverybodyIsWoken) {
  Sleeping({"f"});
  Background("f");
  EXPECT_EQ(Now() + kAnswerTime, engine.Tick(Now()));
  Pass(kAnswerTime);
  EXPECT_EQ(kNever, engine.Tick(Now()));
}

TEST_F(WaitTest, AJobThatNobodyCameForGoesToWhoReserves) {
  RecordingConsumer& sleeper = Sleeping({"f"});
  RecordingConsumer& consumer = Waiting({"f"});
  Background("f");
  Pass(kAnswerTime);
  EXPECT_THAT(consumer.Heard(), ElementsAre("reserved 1"));
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, ASilentWorkerIsNotCountedOnAgain) {
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

TEST_F(WaitTest, ASecondJobWaitsNoLongerForASilentWorkerThanTheFirst) {
  RecordingConsumer &silent = Sleeping({"f"}), &second = Sleeping({"f"});
  const JobId first = Background("f");
  EXPECT_THAT(silent.Heard(), ElementsAre("noop"));
  engine.Cancel(Now(), first);
  Background("f");
  EXPECT_THAT(second.Heard(), IsEmpty());
  Pass(kAnswerTime);
  EXPECT_THAT(second.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, AWorkerThatComesLateIsWokenLikeAnyOther) {
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

TEST_F(WaitTest, CanDoWhileAsleepWakesForWhatIsThere) {
  RecordingConsumer& worker = Sleeping({"f"});
  Background("g");
  EXPECT_THAT(worker.Heard(), IsEmpty());
  engine.Watch(Now(), worker, "g", true);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, AJobThatComesBackWakesASleeper) {
  RecordingConsumer& holder = Worker({"f"});
  Background("f");
  Grab(holder);
  RecordingConsumer& sleeper = Sleeping({"f"});
  Leave(holder);
  EXPECT_THAT(sleeper.Heard(), ElementsAre("noop"));
}

TEST_F(WaitTest, OfWhatALeaverHeldTheMostUrgentFindsAWaiterFirst) {
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

TEST_F(WaitTest, JoiningAJobWakesNobody) {
  Submit("f", {.unique = "k"});
  RecordingConsumer &first = Sleeping({"f"}), &second = Sleeping({"f"});
  first.Heard();
  second.Heard();
  Submit("f", {.unique = "k"});
  EXPECT_THAT(first.Heard(), IsEmpty());
  EXPECT_THAT(second.Heard(), IsEmpty());
}

TEST_F(WaitTest, AnEpochJobThatFallsDueWakesASleeper) {
  RecordingConsumer& worker = Sleeping({"f"});
  Submit("f", {.ttr_s = 0}, nullptr, Now() + kSecond);
  EXPECT_THAT(worker.Heard(), IsEmpty());
  Pass(kSecond);
  EXPECT_THAT(worker.Heard(), ElementsAre("noop"));
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

TEST_F(WaitTest, ManyAreServedInSlices) {
  const std::size_t many = 2 * Engine::kSlice + 1;
  RecordingConsumer& producer = Connect("a");
  Put(producer);
  engine.Pause(Now(), "a", 1);
  for (std::size_t i = 1; i < many; ++i) Put(producer);
  for (std::size_t i = 0; i < many; ++i) Waiting({"a"});
  engine.Pause(Now(), "a", 0);
  EXPECT_EQ(Engine::kSlice + 1, At("a").ready());
  EXPECT_EQ(Now(), engine.Tick(Now()));
  EXPECT_EQ(1u, At("a").ready());
  engine.Tick(Now());
  EXPECT_EQ(0u, At("a").ready());
  EXPECT_EQ(many, At("a").reserved());
}

TEST_F(WaitTest, ManyBrokenPromisesAreDealtWithInSlices) {
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
