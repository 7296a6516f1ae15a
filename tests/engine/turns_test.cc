#include "broker/engine/turns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace gearstalk {
namespace {

// The first of those that have a turn, found by looking at all.
const GroupTurn* SlowFirst(const std::vector<GroupTurn>& groups) {
  const GroupTurn* first = nullptr;
  for (const GroupTurn& group : groups) {
    if (group.in_turn && (first == nullptr || group.Before(*first))) first = &group;
  }
  return first;
}

// A group with a new stamp goes to the end of its list, one with an old stamp into the tree.
TEST(Turns, TheFirstIsTheFirstOfAllHoweverTheyComeAndGo) {
  std::mt19937 random(1);
  std::vector<GroupTurn> groups(300);
  Turns turns;
  std::uint64_t stamp = 0;
  int in_tree = 0;
  for (int step = 0; step < 20'000; ++step) {
    GroupTurn& group = groups[random() % groups.size()];
    if (group.in_turn) {
      turns.Remove(group);
    } else {
      group.priority = static_cast<std::uint32_t>(random() % 2);
      group.reserved_jobs = static_cast<std::uint32_t>(random() % 3);
      if (group.stamp == 0 || random() % 2 == 0) group.stamp = ++stamp;
      turns.Insert(group);
      in_tree += group.in_tree;
    }
    ASSERT_EQ(turns.First(), SlowFirst(groups)) << step;
  }
  EXPECT_GT(in_tree, 1'000);
  while (GroupTurn* const first = turns.First()) {
    ASSERT_EQ(first, SlowFirst(groups));
    turns.Remove(*first);
  }
  EXPECT_EQ(SlowFirst(groups), nullptr);
}

TEST(Turns, OneWithAnOldStampIsFirstWhoeverIsLeft) {
  std::vector<GroupTurn> groups(20);
  GroupTurn old;
  Turns turns;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].stamp = 100 + i;
    turns.Insert(groups[i]);
  }
  old.stamp = 1;
  turns.Insert(old);
  ASSERT_TRUE(old.in_tree);
  EXPECT_EQ(turns.First(), &old);
  int visited = 0;
  turns.Visit([&](const GroupTurn& turn) { return ++visited, &turn != &old; });
  EXPECT_EQ(visited, 21);
  GroupTurn urgent{.stamp = 500};
  GroupTurn late{.stamp = 501, .priority = 1};
  turns.Insert(urgent);
  turns.Insert(late);
  visited = 0;
  turns.Visit([&](const GroupTurn& turn) { return ++visited, &turn != &old; });
  EXPECT_EQ(visited, 22) << "the other half goes on, and no less urgent one";
  turns.Remove(urgent);
  turns.Remove(late);
  for (GroupTurn& group : groups) turns.Remove(group);
  EXPECT_EQ(turns.First(), &old);
  turns.Remove(old);
  EXPECT_EQ(turns.First(), nullptr);
}

}  // namespace
}  // namespace gearstalk
