// The engine's structures, each alone, at 10^4 and 10^6 entries.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "broker/engine/id_table.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/linear_hash.h"
#include "broker/engine/slab.h"
#include "broker/engine/tube.h"
#include "broker/engine/unique_index.h"
#include "tests/engine/test_job.h"

namespace gearstalk {
namespace {

void Sizes(benchmark::internal::Benchmark* bench) { bench->Arg(10'000)->Arg(1'000'000); }

void IdTableInsertFindErase(benchmark::State& state) {
  IdTable<int> table;
  int item = 0;
  std::uint64_t oldest = 1;
  std::uint64_t next = 1;
  while (table.size() < static_cast<std::size_t>(state.range(0))) table.Insert(next++, &item);
  for (auto _ : state) {
    table.Insert(next++, &item);
    benchmark::DoNotOptimize(table.Find(oldest));
    table.Erase(oldest++);
  }
}
BENCHMARK(IdTableInsertFindErase)->Apply(Sizes);

// A new key enters and the oldest leaves, as when a backlog of submitted jobs is worked off.
void UniqueIndexFindInsertRemove(benchmark::State& state) {
  TubeTable tubes;
  Tube& tube = tubes.FindOrMake("tube");
  UniqueIndex index;
  std::deque<JobPtr> jobs;
  JobId id = 1;
  const auto add = [&] {
    JobPtr job = TEST_Job::Make(id, tube, fmt::format("{:016x}", id * 0x9e3779b97f4a7c15));
    benchmark::DoNotOptimize(index.Find(tube, job->unique()));
    index.Insert(*job);
    jobs.push_back(std::move(job));
    ++id;
  };
  while (jobs.size() < static_cast<std::size_t>(state.range(0))) add();
  for (auto _ : state) {
    add();
    index.Remove(*jobs.front());
    jobs.pop_front();
  }
  for (JobPtr& job : jobs) index.Remove(*job);
}
BENCHMARK(UniqueIndexFindInsertRemove)->Apply(Sizes);

// `priorities` 0: each job has its own.
void ReadyQueuePushPop(benchmark::State& state) {
  const auto priorities = static_cast<std::uint32_t>(state.range(1));
  std::mt19937 random(1);
  ReadyQueue queue;
  JobId id = 1;
  const auto add = [&](JobPtr job) {
    job = TEST_Job::Make(
        id++, static_cast<std::uint32_t>(priorities == 0 ? random() : random() % priorities));
    queue.Push(job.release());
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) add(nullptr);
  const auto take = [&] {
    Job* job = queue.front();
    queue.Remove(job);
    return JobPtr(job);
  };
  for (auto _ : state) add(take());
  while (!queue.empty()) take();
}
BENCHMARK(ReadyQueuePushPop)->ArgsProduct({{10'000, 1'000'000}, {1, 4, 0}});

void DelayedPushPop(benchmark::State& state) {
  std::mt19937_64 random(1);
  IndexedHeap<Job> delayed;
  std::vector<JobPtr> jobs;
  JobId id = 1;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    jobs.push_back(TEST_Job::Make(id++, 0));
    delayed.Push(static_cast<Time>(random() % (3'600 * kSecond)), jobs.back().get());
  }
  for (auto _ : state) {
    Job* due = delayed.top();
    delayed.Remove(due);
    delayed.Push(static_cast<Time>(random() % (3'600 * kSecond)), due);
  }
}
BENCHMARK(DelayedPushPop)->Apply(Sizes);

// The least that a group is: what finds it, and what holds its jobs.
struct BareGroup {
  char name[16] = {};
  JobList jobs;
  std::size_t size = 0;
};

std::uint64_t HashOf(std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), HashSeed());
}

BareGroup* Find(const LinearHash<BareGroup, 4>& groups, std::string_view name) {
  return groups.Find(HashOf(name), [&](const BareGroup& group) { return group.name == name; });
}

std::string NameOf(std::uint64_t number) { return fmt::format("{:08}", number); }

// At a start each job finds its group and becomes its last job. The groups come in turn.
void JobsJoinTheirGroups(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::deque<BareGroup> groups(count);
  LinearHash<BareGroup, 4> by_name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(NameOf(i));
    names[i].copy(groups[i].name, names[i].size());
    by_name.Insert(HashOf(names[i]), groups[i]);
  }
  std::vector<JobPtr> jobs;
  for (JobId id = 1; jobs.size() < 10 * count; ++id) jobs.push_back(TEST_Job::Make(id, 0));
  std::size_t next = 0;
  for (auto _ : state) {
    BareGroup& group = *Find(by_name, names[next % count]);
    group.jobs.PushBack(jobs[next++].get());
    ++group.size;
  }
}
BENCHMARK(JobsJoinTheirGroups)->Arg(100'000)->Iterations(1'000'000);

// A job brings its group, and the oldest takes its along.
void GroupsComeAndGo(benchmark::State& state) {
  LinearHash<BareGroup, 4> by_name;
  std::deque<BareGroup*> groups;
  std::uint64_t last = 0;
  const auto add = [&] {
    const std::string name = NameOf(++last);
    if (Find(by_name, name) != nullptr) return;
    auto* const group = new (BlockAllocate(sizeof(BareGroup))) BareGroup();
    name.copy(group->name, name.size());
    by_name.Insert(HashOf(name), *group);
    groups.push_back(group);
  };
  const auto remove = [&] {
    BareGroup* const group = groups.front();
    groups.pop_front();
    by_name.Remove(HashOf(group->name), *group);
    BlockFree(group, sizeof(BareGroup));
  };
  while (groups.size() < static_cast<std::size_t>(state.range(0))) add();
  for (auto _ : state) {
    add();
    remove();
  }
  while (!groups.empty()) remove();
}
BENCHMARK(GroupsComeAndGo)->Arg(1)->Arg(1'000'000)->Iterations(1'000'000);

}  // namespace
}  // namespace gearstalk
