#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace gearstalk {
namespace {

class WaitTest : public EngineTest {};

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
  engine.CantDo(Now(), first, "3");
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
    engine.CantDo(Now(), *sleeper, "more");
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

TEST_F(WaitTest, ManyAreServedInSlices) {
  const std::size_t many = 2 * JobStore::kSlice + 1;
  RecordingConsumer& producer = Connect("a");
  Put(producer);
  engine.Pause(Now(), "a", 1);
  for (std::size_t i = 1; i < many; ++i) Put(producer);
  for (std::size_t i = 0; i < many; ++i) Waiting({"a"});
  engine.Pause(Now(), "a", 0);
  EXPECT_EQ(JobStore::kSlice + 1, At("a").ready());
  EXPECT_EQ(Now(), engine.Tick(Now()));
  EXPECT_EQ(1u, At("a").ready());
  engine.Tick(Now());
  EXPECT_EQ(0u, At("a").ready());
  EXPECT_EQ(many, At("a").reserved());
}

// More wait for other tubes, and for longer.
TEST_F(WaitTest, TheLongestWaitCountsAmongTheFewWatchersOfATube) {
  for (int i = 0; i < 10; ++i) WaitingWide("other" + std::to_string(i));
  std::vector<RecordingConsumer*> few;
  for (int i = 0; i < 3; ++i) {
    few.push_back(&Connect("t"));
    for (std::size_t tube = 0; tube < WatchList::kWide; ++tube) {
      engine.Watch(Now(), *few.back(), "w" + std::to_string(tube));
    }
  }
  for (const int next : {2, 0, 1}) EXPECT_EQ("waits", Reserve(*few[next]));
  for (const int next : {2, 0, 1}) {
    const JobId id = PutInto("t");
    EXPECT_THAT(few[next]->Heard(), ElementsAre("reserved " + std::to_string(id)));
  }
}

}  // namespace
}  // namespace gearstalk
