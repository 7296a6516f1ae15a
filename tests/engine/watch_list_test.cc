#include "broker/engine/watch_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "broker/engine/tube.h"
#include "tests/support/recording_consumer.h"

namespace gearstalk {
namespace {

class WatchListTest : public ::testing::Test {
 protected:
  Tube& Named(int number) { return tubes_.FindOrMake(std::to_string(number)); }
  void Add(int number) { list_.Add(Named(number), consumer_); }
  void Remove(int number) { list_.Remove(*list_.Find(Named(number))); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& watch : list_) names.push_back(watch->tube.name());
    return names;
  }

  TubeTable tubes_;
  RecordingConsumer consumer_;
  WatchList list_;
};

TEST_F(WatchListTest, KeepsTheOrderOfWatching) {
  for (const int number : {3, 1, 2}) Add(number);
  EXPECT_EQ((std::vector<std::string>{"3", "1", "2"}), Names());
  EXPECT_EQ(nullptr, list_.Find(Named(4)));
}

TEST_F(WatchListTest, RemovalMovesTheLastIntoTheGap) {
  for (int number = 1; number <= 4; ++number) Add(number);
  Remove(2);
  EXPECT_EQ((std::vector<std::string>{"1", "4", "3"}), Names());
  Remove(3);
  EXPECT_EQ((std::vector<std::string>{"1", "4"}), Names());
}

TEST_F(WatchListTest, BecomesWideAboveTheBoundAndNarrowAgain) {
  constexpr int kWide = WatchList::kWide;
  for (int number = 1; number <= kWide; ++number) Add(number);
  EXPECT_FALSE(list_.wide());
  Add(kWide + 1);
  EXPECT_TRUE(list_.wide());
  for (int number = 1; number <= kWide + 1; ++number) EXPECT_NE(nullptr, list_.Find(Named(number)));
  Remove(1);
  EXPECT_FALSE(list_.wide());
  EXPECT_EQ("17", Names().front());
  EXPECT_EQ(nullptr, list_.Find(Named(1)));
  EXPECT_EQ("17", list_.Find(Named(17))->tube.name());
}

TEST_F(WatchListTest, AgreesWithAVectorAroundTheBound) {
  std::mt19937 random(5);
  std::vector<int> expected;
  for (int step = 0; step < 20'000; ++step) {
    const int number = static_cast<int>(random() % 34);
    const auto at = std::find(expected.begin(), expected.end(), number);
    if (at == expected.end()) {
      Add(number);
      expected.push_back(number);
    } else {
      Remove(number);
      *at = expected.back();
      expected.pop_back();
    }
    std::vector<std::string> names;
    for (const int each : expected) names.push_back(std::to_string(each));
    ASSERT_EQ(names, Names());
    const int probe = static_cast<int>(random() % 34);
    const WatchEntry* found = list_.Find(Named(probe));
    ASSERT_EQ(std::count(expected.begin(), expected.end(), probe), found != nullptr);
    if (found != nullptr) {
      ASSERT_EQ(&Named(probe), &found->tube);
    }
  }
}

}  // namespace
}  // namespace gearstalk
