// The life of a job in the engine, without sockets and protocols.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

#include "broker/engine/engine.h"
#include "broker/journal/memory_journal.h"

namespace gearstalk {
namespace {

struct Client final : Consumer {};

class Broker {
 public:
  Broker() : engine({}, journal_) {
    engine.Join(client);
    engine.Use(client, "tube");
    engine.Watch(now, client, "tube");
  }
  ~Broker() { engine.Leave(now, client); }

  void Put(std::uint32_t priority) {
    JobPtr job = Job::New(100);
    job->priority = priority;
    job->ttr_s = 60;
    engine.Put(++now, client, std::move(job));
  }

 private:
  MemoryJournal journal_;

 public:
  Engine engine;
  Client client;
  Time now = kSecond;
};

// `random`: each job has its own priority.
void PutReserveDelete(benchmark::State& state) {
  const bool random = state.range(1) != 0;
  std::mt19937 numbers(1);
  const auto priority = [&] { return random ? static_cast<std::uint32_t>(numbers()) : 1024; };
  Broker broker;
  for (std::int64_t i = 0; i < state.range(0); ++i) broker.Put(priority());
  for (auto _ : state) {
    broker.Put(priority());
    Taken taken;
    broker.engine.Reserve(broker.now, broker.client, 0, taken);
    broker.engine.Delete(broker.now, broker.client, taken.job->id());
  }
}
BENCHMARK(PutReserveDelete)->ArgNames({"queued", "random"})->ArgsProduct({{0, 1'000'000}, {0, 1}});

void SubmitGrabComplete(benchmark::State& state) {
  Broker broker;
  std::uint64_t serial = 0;
  Submission submission;
  submission.tube = "tube";
  const auto submit = [&] {
    JobPtr job = Job::New(100, fmt::format("{:016x}", ++serial * 0x9e3779b97f4a7c15));
    job->priority = 65536;
    broker.engine.Submit(++broker.now, broker.client, std::move(job), submission);
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) submit();
  for (auto _ : state) {
    submit();
    const Taken taken = broker.engine.Grab(broker.now, broker.client);
    broker.engine.WorkComplete(broker.now, broker.client, taken.job->id(), {});
  }
}
BENCHMARK(SubmitGrabComplete)->ArgName("queued")->Arg(0)->Arg(1'000'000);

// A job that fails and is kicked, beside so many that failed.
void BuryKick(benchmark::State& state) {
  Broker broker;
  std::vector<JobId> jobs;
  for (std::int64_t i = 0; i <= state.range(0); ++i) {
    broker.Put(1024);
    jobs.push_back(static_cast<JobId>(i) + 1);
  }
  std::shuffle(jobs.begin(), jobs.end(), std::mt19937(1));
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    broker.engine.Tick(++broker.now);
    broker.engine.Bury(jobs[static_cast<std::size_t>(i)], std::nullopt, false);
  }
  for (auto _ : state) {
    broker.engine.Bury(jobs.back(), std::nullopt, false);
    broker.engine.KickJob(broker.now, jobs.back());
  }
}
BENCHMARK(BuryKick)->Arg(0)->Arg(1'000'000);

// Some of 10^6 failures, as many as a slice of a list takes at once.
void FailuresBefore(benchmark::State& state) {
  Broker broker;
  for (JobId id = 1; id <= 1'000'000; ++id) {
    broker.Put(1024);
    broker.engine.Tick(broker.now);
    broker.engine.Bury(id, std::nullopt, false);
  }
  std::mt19937_64 numbers(1);
  for (auto _ : state) {
    const auto time = kSecond + static_cast<Time>(numbers() % 1'000'000);
    benchmark::DoNotOptimize(broker.engine.failures().Before({time, 0}));
  }
}
BENCHMARK(FailuresBefore);

}  // namespace
}  // namespace gearstalk
