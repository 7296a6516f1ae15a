// Our own structures beside those of libraries: the figures of docs/decisions. CPU time of the
// thread, so that a busy machine changes little.

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_set.h>
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/heap/d_ary_heap.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <vector>

#include "broker/engine/id_table.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/linear_hash.h"
#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMany = 1'000'000;

std::int64_t ThreadNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Mixes a number into a hash, as unique keys are hashed.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

struct alignas(8) Item {
  std::uint64_t id = 0;
  Time time = 0;
  std::uint32_t slot = 0;

  std::uint32_t& HeapSlot() { return slot; }
  std::uint64_t HeapOrder() const { return id; }
};

// Inserts a million times; the counter is the longest single insertion.
template <typename Insert>
void Longest(benchmark::State& state, Insert insert) {
  std::int64_t longest = 0;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    const std::int64_t before = ThreadNanoseconds();
    insert(i);
    longest = std::max(longest, ThreadNanoseconds() - before);
  }
  state.counters["longest_us"] = static_cast<double>(longest) / 1e3;
}

void GrowLinearHash(benchmark::State& state) {
  std::vector<Item> items(kMany + 1);
  for (auto _ : state) {
    LinearHash<Item> table;
    Longest(state, [&](std::uint64_t i) { table.Insert(Mix(i), items[i]); });
  }
}
BENCHMARK(GrowLinearHash)->Iterations(1);

void GrowFlatHashSet(benchmark::State& state) {
  std::vector<Item> items(kMany + 1);
  for (auto _ : state) {
    absl::flat_hash_set<Item*> table;
    Longest(state, [&](std::uint64_t i) { table.insert(&items[i]); });
  }
}
BENCHMARK(GrowFlatHashSet)->Iterations(1);

// The oldest id leaves and a new one comes, among a million.
void CycleIdTable(benchmark::State& state) {
  IdTable<Item> table;
  Item item;
  std::uint64_t oldest = 1, next = 1;
  while (next <= kMany) table.Insert(next++, &item);
  for (auto _ : state) {
    table.Insert(next++, &item);
    benchmark::DoNotOptimize(table.Find(oldest + kMany / 2));
    table.Erase(oldest++);
  }
}
BENCHMARK(CycleIdTable);

void CycleBtreeMap(benchmark::State& state) {
  absl::btree_map<std::uint64_t, Item*> table;
  Item item;
  std::uint64_t oldest = 1, next = 1;
  while (next <= kMany) table.emplace(next++, &item);
  for (auto _ : state) {
    table.emplace(next++, &item);
    benchmark::DoNotOptimize(table.find(oldest + kMany / 2));
    table.erase(oldest++);
  }
}
BENCHMARK(CycleBtreeMap);

// A deadline is taken away from the middle and a new one comes, among a million.
void CycleIndexedHeap(benchmark::State& state) {
  std::vector<Item> items(kMany);
  IndexedHeap<Item> heap;
  std::mt19937_64 random(1);
  for (Item& item : items) heap.Push(static_cast<Time>(random() >> 2), &item);
  for (auto _ : state) {
    Item& item = items[random() % kMany];
    heap.Remove(&item);
    heap.Push(static_cast<Time>(random() >> 2), &item);
  }
}
BENCHMARK(CycleIndexedHeap);

struct Later {
  bool operator()(const Item* a, const Item* b) const { return b->time < a->time; }
};
using BoostHeap = boost::heap::d_ary_heap<Item*, boost::heap::arity<4>, boost::heap::mutable_<true>,
                                          boost::heap::compare<Later>>;

void CycleBoostHeap(benchmark::State& state) {
  std::vector<Item> items(kMany);
  std::vector<BoostHeap::handle_type> handles(kMany);
  BoostHeap heap;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kMany; ++i) {
    items[i].time = static_cast<Time>(random() >> 2);
    handles[i] = heap.push(&items[i]);
  }
  for (auto _ : state) {
    const std::size_t i = random() % kMany;
    heap.erase(handles[i]);
    items[i].time = static_cast<Time>(random() >> 2);
    handles[i] = heap.push(&items[i]);
  }
}
BENCHMARK(CycleBoostHeap);

double ResidentBytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// A million blocks of 100 to 300 bytes; then the oldest go and one of a hundred stays, as when a
// backlog is drained.
template <typename Allocate, typename Free>
void Blocks(benchmark::State& state, Allocate allocate, Free free) {
  struct Block {
    void* at;
    std::size_t size;
  };
  for (auto _ : state) {
    std::vector<Block> blocks(kMany);
    std::mt19937 random(1);
    const double empty = ResidentBytes();
    double wanted = 0;
    for (Block& block : blocks) {
      block.size = 100 + random() % 201;
      block.at = allocate(block.size);
      std::fill_n(static_cast<char*>(block.at), block.size, 'x');
      wanted += static_cast<double>(block.size);
    }
    state.counters["bytes_beside"] = (ResidentBytes() - empty - wanted) / kMany;
    double kept = 0;
    for (std::size_t i = 0; i < kMany; ++i) {
      if (i >= kMany - kMany / 100) {
        kept += static_cast<double>(blocks[i].size);
        continue;
      }
      free(blocks[i].at, blocks[i].size);
    }
    malloc_trim(0);
    state.counters["kept_times"] = (ResidentBytes() - empty) / kept;
    for (std::size_t i = 0; i < kMany; ++i) {
      if (i >= kMany - kMany / 100) free(blocks[i].at, blocks[i].size);
    }
  }
}

void MemoryOfSlab(benchmark::State& state) { Blocks(state, SlabAllocate, SlabFree); }
BENCHMARK(MemoryOfSlab)->Iterations(1);

// glibc's; with LD_PRELOAD another one's.
void MemoryOfMalloc(benchmark::State& state) {
  Blocks(
      state, [](std::size_t size) { return std::malloc(size); },
      [](void* block, std::size_t) { std::free(block); });
}
BENCHMARK(MemoryOfMalloc)->Iterations(1);

}  // namespace
}  // namespace gearstalk
