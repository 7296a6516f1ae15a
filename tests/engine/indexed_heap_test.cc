#include "broker/engine/indexed_heap.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace gearstalk {
namespace {

struct Item {
  explicit Item(std::uint64_t number) : order(number) {}
  std::uint32_t& HeapSlot() { return slot; }
  std::uint64_t HeapOrder() const { return order; }
  std::uint64_t order;
  std::uint32_t slot = 0;
};

TEST(IndexedHeap, EmptyHeapIsDueNever) {
  IndexedHeap<Item> heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(kNever, heap.top_time());
}

TEST(IndexedHeap, EqualTimesComeInTheItemsOwnOrder) {
  IndexedHeap<Item> heap;
  Item first(1), second(2), third(3);
  heap.Push(5, &third);
  heap.Push(5, &first);
  heap.Push(5, &second);
  for (Item* expected : {&first, &second, &third}) {
    ASSERT_EQ(expected, heap.top());
    heap.Remove(expected);
  }
  EXPECT_TRUE(heap.empty());
}

TEST(IndexedHeap, WhatIsNeverDueComesLast) {
  IndexedHeap<Item> heap;
  std::vector<std::unique_ptr<Item>> items;
  for (std::uint64_t i = 0; i < 20; ++i) {
    items.push_back(std::make_unique<Item>(i));
    heap.Push(i % 2 == 0 ? kNever : static_cast<Time>(i), items.back().get());
  }
  for (std::uint64_t i = 1; i < 20; i += 2) {
    ASSERT_EQ(items[i].get(), heap.top());
    heap.Remove(items[i].get());
  }
  EXPECT_EQ(kNever, heap.top_time());
  for (std::uint64_t i = 0; i < 20; i += 2) heap.Remove(items[i].get());
  EXPECT_TRUE(heap.empty());
}

TEST(IndexedHeap, MoveGoesBothWays) {
  IndexedHeap<Item> heap;
  std::vector<std::unique_ptr<Item>> items;
  for (std::uint64_t i = 0; i < 20; ++i) {
    items.push_back(std::make_unique<Item>(i));
    heap.Push(static_cast<Time>(i * 10), items.back().get());
  }
  heap.Move(items[0].get(), 1000);
  EXPECT_EQ(items[1].get(), heap.top());
  EXPECT_EQ(1000, heap.TimeAt(items[0]->slot));
  heap.Move(items[19].get(), 0);
  EXPECT_EQ(items[19].get(), heap.top());
}

TEST(IndexedHeap, AgreesWithASetOverRandomHistories) {
  std::mt19937_64 random(2);
  IndexedHeap<Item> heap;
  std::set<std::pair<Time, std::uint64_t>> expected;
  std::vector<std::unique_ptr<Item>> items;
  for (std::uint64_t step = 0; step < 50'000; ++step) {
    const auto time = static_cast<Time>(random() % 500);
    const std::size_t at = items.empty() ? 0 : random() % items.size();
    const std::uint64_t dice = random() % 8;
    if (items.empty() || dice < 3) {
      items.push_back(std::make_unique<Item>(step));
      heap.Push(time, items.back().get());
      expected.emplace(time, step);
    } else {
      Item* item = items[at].get();
      ASSERT_EQ(item, heap.At(item->slot));
      expected.erase({heap.TimeAt(item->slot), item->order});
      if (dice < 5) {
        heap.Move(item, time);
        expected.emplace(time, item->order);
      } else {
        heap.Remove(item);
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    ASSERT_EQ(expected.size(), heap.size());
    if (expected.empty()) continue;
    ASSERT_EQ(expected.begin()->first, heap.top_time());
    ASSERT_EQ(expected.begin()->second, heap.top()->order);
  }
}

}  // namespace
}  // namespace gearstalk
