// Bytes to commands.

#include <benchmark/benchmark.h>

#include <string>
#include <string_view>

#include "broker/policy/json_value.h"
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

// What a body says of the class of its job: it is read as JSON up to there.
constexpr std::string_view kLaravel =
    R"({"uuid":"5b7a1c9e-4a37-4a3b-8d7c-5f2f0ac4c3f1","displayName":"App\\Jobs\\SendInvoice",)"
    R"("job":"Illuminate\\Queue\\CallQueuedHandler@call","maxTries":null,"maxExceptions":null,)"
    R"("failOnTimeout":false,"backoff":null,"timeout":null,"retryUntil":null,)"
    R"("data":{"commandName":"App\\Jobs\\SendInvoice","command":"O:20:\"App\\Jobs\\SendInvoice\":1:)"
    R"({s:7:\"invoice\";i:4711;s:5:\"queue\";s:4:\"mail\";}"}})";
constexpr std::string_view kSymfony =
    R"({"body":"O:36:\\\"Symfony\\\\Component\\\\Messenger\\\\Envelope\\\":2:{}",)"
    R"("headers":{"type":"App\\Message\\SendInvoice","Content-Type":"application/json"}})";
constexpr std::string_view kActiveJob =
    R"({"job_class":"SendInvoiceJob","job_id":"5b7a1c9e-4a37-4a3b-8d7c-5f2f0ac4c3f1",)"
    R"("provider_job_id":null,"queue_name":"mail","priority":null,"arguments":[4711],)"
    R"("executions":0,"exception_executions":{},"locale":"en","timezone":"UTC"})";

void ClassOfJob(benchmark::State& state, std::string_view body, std::string_view text) {
  const JsonPointer pointer(text);
  std::string unescaped;
  for (auto _ : state) {
    benchmark::DoNotOptimize(body);
    benchmark::DoNotOptimize(JsonValue(body, pointer, unescaped));
  }
  state.counters["body_bytes"] = static_cast<double>(body.size());
}
BENCHMARK_CAPTURE(ClassOfJob, laravel, kLaravel, "/displayName");
BENCHMARK_CAPTURE(ClassOfJob, symfony, kSymfony, "/headers/type");
BENCHMARK_CAPTURE(ClassOfJob, active_job, kActiveJob, "/job_class");

// Only whether the word is there, wherever in the body: less cannot be done.
void WordInBody(benchmark::State& state, std::string_view body, std::string_view word) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(body);
    benchmark::DoNotOptimize(body.find(word));
  }
}
BENCHMARK_CAPTURE(WordInBody, laravel, kLaravel, R"("displayName":")");
BENCHMARK_CAPTURE(WordInBody, none, kActiveJob, R"("displayName":")");

}  // namespace
}  // namespace gearstalk
