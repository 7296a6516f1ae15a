// Pipelined commands through protocol switch, session and engine, without sockets: what a job costs
// beside the system calls.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "tests/server/routed_broker.h"

namespace gearstalk {
namespace {

constexpr std::size_t kDepth = 64;

std::string Repeated(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < kDepth; ++i) all += text;
  return all;
}

std::string Packet(std::uint32_t type, std::string_view payload) {
  std::string packet("\0REQ\0\0\0", 7);
  packet += static_cast<char>(type);
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int shift = 24; shift >= 0; shift -= 8) packet += static_cast<char>(size >> shift & 0xff);
  return packet.append(payload);
}

void PerJob(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kDepth));
}

void BeanstalkCycle(benchmark::State& state) {
  RoutedBroker broker;
  const std::string puts =
      Repeated(fmt::format("put 1024 0 60 100\r\n{}\r\n", std::string(100, 'x')));
  const std::string reserves = Repeated("reserve\r\n");
  std::uint64_t id = 1;
  for (auto _ : state) {
    broker.client(0).Send(puts);
    broker.client(1).Send(reserves);
    std::string deletes;
    for (std::size_t i = 0; i < kDepth; ++i) deletes += fmt::format("delete {}\r\n", id++);
    broker.client(1).Send(deletes);
    benchmark::DoNotOptimize(broker.client(0).Hear());
    benchmark::DoNotOptimize(broker.client(1).Hear());
  }
  PerJob(state);
}
BENCHMARK(BeanstalkCycle);

void GearmanCycle(benchmark::State& state) {
  RoutedBroker broker;
  const std::string grabs = Repeated(Packet(9, ""));
  broker.client(1).Send(Packet(1, "resize"));
  broker.client(0).Send(Packet(18, std::string("resize\0\0first", 13)));
  broker.client(1).Send(Packet(9, ""));
  const std::string assigned = broker.client(1).Hear();
  const std::size_t colon = assigned.rfind(':');
  const std::string prefix = assigned.substr(12, colon + 1 - 12);
  broker.client(1).Send(Packet(13, prefix + "1" + '\0'));
  std::uint64_t id = 2;
  for (auto _ : state) {
    std::string submits;
    std::string completes;
    for (std::size_t i = 0; i < kDepth; ++i, ++id) {
      const std::string key = fmt::format("{:016x}", id);
      submits += Packet(18, "resize" + std::string(1, '\0') + key + '\0' + std::string(100, 'x'));
      completes += Packet(13, fmt::format("{}{}", prefix, id) + '\0');
    }
    broker.client(0).Send(submits);
    broker.client(1).Send(grabs);
    broker.client(1).Send(completes);
    benchmark::DoNotOptimize(broker.client(0).Hear());
    benchmark::DoNotOptimize(broker.client(1).Hear());
  }
  PerJob(state);
}
BENCHMARK(GearmanCycle);

}  // namespace
}  // namespace gearstalk
