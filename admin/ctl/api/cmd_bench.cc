// A small load test over the beanstalk protocol, on the broker's own port.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"
#include "admin/move/beanstalk_client.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl::api {
namespace {

struct BenchOptions {
  std::string broker = "127.0.0.1:11300";
  std::string tube = "gearstalkctl-bench";
  std::uint32_t producers = 4, workers = 4, jobs = 10'000, size = 100;

  Parameters AsParameters() {
    return {{"--broker", &broker, "HOST:PORT of the broker"},
            {"--tube", &tube, "Tube that is used, and empty afterwards"},
            {"--producers", &producers, "Connections that put", Between(1, 1'000)},
            {"--workers", &workers, "Connections that reserve and delete", Between(1, 1'000)},
            {"--jobs", &jobs, "Jobs in all", Between(1, 100'000'000)},
            {"--size", &size, "Bytes of a body, 20 at least", Between(1, 60'000)}};
  }
};

// What all threads share.
struct Bench {
  const BenchOptions& options;
  std::atomic<std::int64_t> to_put, to_take;  // below 0: none is left
  std::mutex mutex;
  std::vector<std::int64_t> puts = {}, trips = {};  // nanoseconds
  std::string error = {};

  void Add(std::vector<std::int64_t> Bench::*all, const std::vector<std::int64_t>& times) {
    const std::lock_guard lock(mutex);
    (this->*all).insert((this->*all).end(), times.begin(), times.end());
  }
  void Fail(const std::string& what) {
    const std::lock_guard lock(mutex);
    if (error.empty()) error = what;
    to_put = to_take = 0;
  }
};

// Connects, and sends commands that any broker takes. nullptr: no broker answers.
std::unique_ptr<BeanstalkClient> Begin(Bench& bench, const std::vector<std::string>& commands) {
  Result<std::unique_ptr<Channel>> channel = Connect({.address = bench.options.broker});
  if (channel.ok()) {
    auto broker = std::make_unique<BeanstalkClient>(std::move(channel.value()), -1);
    const auto takes = [&](const std::string& command) { return broker->Ask(command).ok(); };
    if (std::ranges::all_of(commands, takes)) return broker;
  }
  bench.Fail(bench.options.broker + ": no broker answers");
  return nullptr;
}

void Produce(Bench& bench) {
  const auto broker = Begin(bench, {"use " + bench.options.tube});
  if (broker == nullptr) return;
  std::vector<std::int64_t> times;
  while (bench.to_put-- > 0) {
    const std::int64_t began = BootTime();
    std::string body = fmt::format("{:020}", began);
    body.resize(std::max<std::size_t>(bench.options.size, body.size()), 'x');
    broker->AddPut(1024, 0, 60, body);
    const Result<std::string> line = broker->Line();
    if (!line.ok() || !line.value().starts_with("INSERTED")) {
      return bench.Fail("put: " + (line.ok() ? line.value() : "the connection ended"));
    }
    times.push_back(BootTime() - began);
  }
  bench.Add(&Bench::puts, times);
}

void Work(Bench& bench) {
  const auto broker = Begin(bench, {"watch " + bench.options.tube, "ignore default"});
  if (broker == nullptr) return;
  std::vector<std::int64_t> times;
  while (bench.to_take-- > 0) {
    broker->Add("reserve-with-timeout 60");
    const Result<BeanstalkClient::Answer> job = broker->Body();
    if (!job.ok() || !job.value().found) {
      return bench.Fail("reserve: " + (job.ok() ? job.value().line : "the connection ended"));
    }
    std::int64_t began = 0;
    const std::string& body = job.value().body;
    std::from_chars(body.data(), body.data() + std::min<std::size_t>(body.size(), 20), began);
    times.push_back(BootTime() - began);
    if (!broker->Ask(fmt::format("delete {}", job.value().id)).ok()) {
      return bench.Fail("delete: the connection ended");
    }
  }
  bench.Add(&Bench::trips, times);
}

// Milliseconds below which this share of the times lies.
double Percentile(std::vector<std::int64_t>& times, double share) {
  if (times.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
  return static_cast<double>(times[at]) / 1e6;
}

Json Percentiles(std::vector<std::int64_t>& times) {
  return {{"p50_ms", Percentile(times, 0.5)},
          {"p99_ms", Percentile(times, 0.99)},
          {"p999_ms", Percentile(times, 0.999)}};
}

int RunBench(const Settings& settings, BenchOptions& options) {
  Bench bench{options, options.jobs, options.jobs, {}};
  const std::int64_t began = BootTime();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < options.workers; ++i) threads.emplace_back([&] { Work(bench); });
    for (std::uint32_t i = 0; i < options.producers; ++i)
      threads.emplace_back([&] { Produce(bench); });
  }
  if (!bench.error.empty()) return Fail(kNotReachable, bench.error);
  const double seconds = Seconds(BootTime() - began);
  const Json result = {{"jobs", options.jobs},
                       {"seconds", seconds},
                       {"cycles_per_second", options.jobs / seconds},
                       {"put", Percentiles(bench.puts)},
                       {"put_to_reserve", Percentiles(bench.trips)}};
  if (settings.json) {
    Say(result.dump());
    return kDone;
  }
  Say(fmt::format("{:.0f} cycles/s: {} jobs in {:.2f} s", options.jobs / seconds, options.jobs,
                  seconds));
  Json rows = Json::array();
  for (const char* what : {"put", "put_to_reserve"}) {
    rows.push_back(result[what]);
    rows.back()["what"] = what;
  }
  ShowIn(
      "=what >p50_ms=p50_ms:milliseconds >p99_ms=p99_ms:milliseconds "
      ">p99.9_ms=p999_ms:milliseconds")(rows);
  return kDone;
}

}  // namespace

std::vector<Command> BenchCommands() {
  return {{"bench", "Measure cycles a second and latencies",
           "gearstalkctl bench --jobs 1000 --producers 2 --workers 2",
           Bind<BenchOptions>(RunBench)}};
}

}  // namespace gearstalk::ctl::api
