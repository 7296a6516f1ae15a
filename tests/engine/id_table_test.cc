#include "broker/engine/id_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace gearstalk {
namespace {

struct Item {
  std::uint64_t id;
};

TEST(IdTable, EmptyTableFindsNothing) {
  IdTable<Item> table;
  EXPECT_EQ(0u, table.size());
  EXPECT_EQ(nullptr, table.Find(1));
  EXPECT_EQ(nullptr, table.Find(UINT64_MAX));
  EXPECT_EQ(nullptr, table.Next(0));
}

TEST(IdTable, HoldsIdsOfEveryHeight) {
  IdTable<Item> table;
  std::vector<Item> items;
  for (int bit = 0; bit < 64; ++bit) items.push_back({std::uint64_t{1} << bit});
  items.push_back({UINT64_MAX});
  for (Item& item : items) table.Insert(item.id, &item);
  for (Item& item : items) {
    EXPECT_EQ(&item, table.Find(item.id));
    EXPECT_EQ(nullptr, table.Find(item.id ^ 7)) << item.id;
  }
  std::uint64_t after = 0;
  for (Item& item : items) {
    ASSERT_EQ(&item, table.Next(after));
    after = item.id;
  }
  EXPECT_EQ(nullptr, table.Next(after));
}

TEST(IdTable, NextSkipsWhatIsGone) {
  IdTable<Item> table;
  Item one{1}, far{1'000'000};
  table.Insert(one.id, &one);
  table.Insert(far.id, &far);
  EXPECT_EQ(&far, table.Next(1));
  EXPECT_EQ(&far, table.Next(999'999));
  EXPECT_EQ(nullptr, table.Next(1'000'000));
  table.Erase(far.id);
  EXPECT_EQ(nullptr, table.Next(1));
}

TEST(IdTable, GrowsAgainAfterItWasEmptied) {
  IdTable<Item> table;
  Item low{1}, high{std::uint64_t{1} << 40};
  table.Insert(low.id, &low);
  table.Erase(low.id);
  table.Insert(high.id, &high);
  EXPECT_EQ(&high, table.Next(0));
  table.Insert(low.id, &low);
  EXPECT_EQ(&low, table.Next(0));
  EXPECT_EQ(2u, table.size());
}

TEST(IdTable, AgreesWithAMapOverRandomHistories) {
  std::mt19937_64 random(1);
  IdTable<Item> table;
  std::map<std::uint64_t, Item> expected;
  std::uint64_t last = 0;
  for (int step = 0; step < 50'000; ++step) {
    if (random() % 8 < 5) {
      last += 1 + (random() % 64 == 0 ? random() % 5000 : 0);
      const auto added = expected.emplace(last, Item{last}).first;
      table.Insert(last, &added->second);
    } else if (!expected.empty()) {
      auto at = expected.lower_bound(random() % (last + 1));
      if (at == expected.end()) at = expected.begin();
      table.Erase(at->first);
      expected.erase(at);
    }
    const std::uint64_t probe = random() % (last + 2);
    const auto found = expected.find(probe);
    ASSERT_EQ(found == expected.end() ? nullptr : &found->second, table.Find(probe));
    const auto next = expected.upper_bound(probe);
    ASSERT_EQ(next == expected.end() ? nullptr : &next->second, table.Next(probe));
    ASSERT_EQ(expected.size(), table.size());
  }
}

}  // namespace
}  // namespace gearstalk
