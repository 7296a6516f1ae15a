// A small load test over the beanstalk protocol, on the broker's own port.

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/text.h"
#include "broker/base/descriptor.h"

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

std::int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A connection that speaks beanstalk and blocks. After an error every call fails.
class Beanstalk {
 public:
  explicit Beanstalk(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) return;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string host = address.substr(0, colon), port = address.substr(colon + 1);
    if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return;
    Descriptor fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      fd_ = std::move(fd);
    }
    freeaddrinfo(found);
  }

  bool ok() const { return fd_ >= 0; }

  // Sends a command and reads one line of the answer, without its end.
  bool Call(const std::string& command, std::string& line) {
    return send(fd_, command.data(), command.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(command.size()) &&
           ReadLine(line);
  }

  bool ReadBytes(std::size_t size, std::string& bytes) {
    while (pending_.size() < size) {
      if (!Receive()) return false;
    }
    bytes = pending_.substr(0, size);
    pending_.erase(0, size);
    return true;
  }

 private:
  bool ReadLine(std::string& line) {
    std::size_t end = 0;
    while ((end = pending_.find("\r\n")) == std::string::npos) {
      if (!Receive()) return false;
    }
    line = pending_.substr(0, end);
    pending_.erase(0, end + 2);
    return true;
  }

  bool Receive() {
    char buffer[16'384];
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) return false;
    pending_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  Descriptor fd_;
  std::string pending_;
};

// What all threads share.
struct Bench {
  const BenchOptions& options;
  std::atomic<std::uint32_t> to_put, to_take;
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

// Takes one of `left`; false: none is left.
bool TakeOne(std::atomic<std::uint32_t>& left) {
  std::uint32_t now = left;
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  return now > 0;
}

void Produce(Bench& bench) {
  const BenchOptions& options = bench.options;
  Beanstalk broker(options.broker);
  std::vector<std::int64_t> times;
  std::string line;
  if (!broker.ok() || !broker.Call("use " + options.tube + "\r\n", line)) {
    return bench.Fail(options.broker + ": no broker answers");
  }
  while (TakeOne(bench.to_put)) {
    const std::int64_t began = Nanoseconds();
    std::string body = fmt::format("{:020}", began);
    body.resize(std::max<std::size_t>(options.size, body.size()), 'x');
    if (!broker.Call(fmt::format("put 1024 0 60 {}\r\n{}\r\n", body.size(), body), line) ||
        !line.starts_with("INSERTED")) {
      return bench.Fail("put: " + (line.empty() ? "the connection ended" : line));
    }
    times.push_back(Nanoseconds() - began);
  }
  bench.Add(&Bench::puts, times);
}

// "RESERVED <id> <size>".
bool ParseReserved(const std::string& line, std::string& id, std::size_t& size) {
  const std::size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (!line.starts_with("RESERVED ") || second == std::string::npos) return false;
  id = line.substr(first + 1, second - first - 1);
  const char* end = line.data() + line.size();
  return std::from_chars(line.data() + second + 1, end, size).ec == std::errc();
}

void Work(Bench& bench) {
  const BenchOptions& options = bench.options;
  Beanstalk broker(options.broker);
  std::vector<std::int64_t> times;
  std::string line, id, body;
  if (!broker.ok() || !broker.Call("watch " + options.tube + "\r\n", line) ||
      !broker.Call("ignore default\r\n", line)) {
    return bench.Fail(options.broker + ": no broker answers");
  }
  while (TakeOne(bench.to_take)) {
    std::size_t size = 0;
    if (!broker.Call("reserve-with-timeout 60\r\n", line) || !ParseReserved(line, id, size) ||
        !broker.ReadBytes(size + 2, body)) {
      return bench.Fail("reserve: " + (line.empty() ? "the connection ended" : line));
    }
    std::int64_t began = 0;
    std::from_chars(body.data(), body.data() + std::min<std::size_t>(body.size(), 20), began);
    times.push_back(Nanoseconds() - began);
    if (!broker.Call("delete " + id + "\r\n", line)) return bench.Fail("delete: " + line);
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
  const std::int64_t began = Nanoseconds();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < options.workers; ++i) threads.emplace_back([&] { Work(bench); });
    for (std::uint32_t i = 0; i < options.producers; ++i)
      threads.emplace_back([&] { Produce(bench); });
  }
  if (!bench.error.empty()) {
    Tell(bench.error);
    return kNotReachable;
  }
  const double seconds = static_cast<double>(Nanoseconds() - began) / 1e9;
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
  Table table({"", ">p50 ms", ">p99 ms", ">p99.9 ms"});
  for (const char* what : {"put", "put_to_reserve"}) {
    const auto ms = [&](const char* share) {
      return fmt::format("{:.3f}", result[what][share].get<double>());
    };
    table.Add({what, ms("p50_ms"), ms("p99_ms"), ms("p999_ms")});
  }
  std::fputs(table.Text().c_str(), stdout);
  return kDone;
}

}  // namespace

std::vector<Command> BenchCommands() {
  return {{"bench", "Measure cycles a second and latencies",
           "gearstalkctl bench --jobs 1000 --producers 2 --workers 2",
           Bind<BenchOptions>(RunBench)}};
}

}  // namespace gearstalk::ctl::api
