// Bytes to commands.

#include <benchmark/benchmark.h>

#include <string>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/parser.h"
#include "proto_gearman/packet.h"

namespace gearstalk {
namespace {

void BeanstalkLine(benchmark::State& state, std::string_view text) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    const beanstalk::Line line = beanstalk::NextLine(text);
    const beanstalk::Command* command = beanstalk::FindCommand(line.text);
    beanstalk::Arguments arguments;
    const std::string_view rest = line.text.substr(command->word.size());
    benchmark::DoNotOptimize(beanstalk::ParseArguments(command->shape, rest, arguments));
    benchmark::DoNotOptimize(arguments);
  }
}
BENCHMARK_CAPTURE(BeanstalkLine, put, "put 65536 0 60 100\r\n");
BENCHMARK_CAPTURE(BeanstalkLine, reserve, "reserve-with-timeout 5\r\n");
BENCHMARK_CAPTURE(BeanstalkLine, delete, "delete 123456789\r\n");

void GearmanSubmit(benchmark::State& state) {
  constexpr std::string_view kPacket(
      "\0REQ\0\0\0\x12\0\0\0\x16"
      "resize\0unique-key\0body",
      34);
  for (auto _ : state) {
    std::string_view bytes = kPacket;
    benchmark::DoNotOptimize(bytes);
    gearman::Header header;
    gearman::ParseHeader(bytes, header);
    gearman::Arguments arguments;
    const gearman::Shape shape{.arguments = 2, .data = true};
    gearman::ParseArguments(bytes.substr(gearman::kHeaderSize), header.size, shape, arguments);
    benchmark::DoNotOptimize(arguments);
  }
}
BENCHMARK(GearmanSubmit);

}  // namespace
}  // namespace gearstalk
