#include "tests/bench/load/measurement.h"

#include <unistd.h>

#include <algorithm>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

double PerOp(double amount, int64_t ops) {
  return amount / static_cast<double>(std::max<int64_t>(ops, 1));
}

Json Percentiles(const Histogram& histogram) {
  return {{"count", histogram.count()},
          {"p50", Microseconds(histogram.Quantile(0.5))},
          {"p99", Microseconds(histogram.Quantile(0.99))},
          {"p999", Microseconds(histogram.Quantile(0.999))},
          {"max", Microseconds(histogram.max())}};
}

Json AsJson(const Verification::Counts& counts) {
  return {{"jobs", counts.jobs},
          {"wrong", counts.wrong},
          {"doubled", counts.doubled},
          {"missing", counts.missing},
          {"out_of_order", counts.out_of_order}};
}

std::optional<Verification> VerificationOf(const Options& options) {
  const bool takes = options.workload != Workload::kStore && options.workload != Workload::kChurn;
  if (!options.verify || !takes) return {};
  return Verification(ShapeOf(options), options.tubes == 1 && !options.random_priorities);
}

Json AnswersOf(const Disturbance& disturbance) {
  Json answers = Json::object();
  for (const auto& asker : disturbance.askers()) {
    answers[asker->question()] = Percentiles(asker->answers());
    answers[asker->question()]["bytes"] = asker->largest_answer();
  }
  return answers;
}

}  // namespace

Measurement::Measurement(const Options& options, const Process& server,
                         const std::vector<Process>& routers)
    : options_(options),
      server_(server),
      routers_(routers),
      self_(getpid()),
      endpoint_(options.server, options.tls),
      memory_at_first_(server.ReadMemory()),
      routers_memory_at_first_(Used().routers_memory),
      surroundings_(options_, endpoint_),
      flow_(LimitsOf(options_)),
      verification_(VerificationOf(options_)),
      clients_(options_, loop_, endpoint_, flow_, verification_ ? &*verification_ : nullptr) {
  if (options_.workload == Workload::kDrain && options_.ops == 0) Fail("drain needs --ops");
  if (options_.workload == Workload::kForeground && options_.mixed)
    Fail("foreground is of Gearman");
  flow_.Stop();
  Settle();
  if (options_.workload == Workload::kDrain) flow_.Stored(surroundings_.ready());
}

void Measurement::Settle() {
  constexpr int64_t kPatience = 20 * kSecond;
  constexpr int64_t kInterval = 20 * kMillisecond;
  constexpr int64_t kQuiet = kMillisecond / 5;
  int64_t used = server_.ReadCpu().run_ns;
  for (const int64_t start = Now(); Now() < start + kPatience;) {
    for (const int64_t end = Now() + kInterval; Now() < end;) loop_.RunRound(end);
    const int64_t now_used = server_.ReadCpu().run_ns;
    if (now_used - used < kQuiet) return;
    used = now_used;
  }
}

void Measurement::RunRound(int64_t deadline) {
  loop_.RunRound(std::min({deadline, flow_.next_start(), Now() + kMillisecond}));
}

Measurement::Usage Measurement::Used() const {
  Usage usage{.time = bench::Now(), .server = server_.ReadCpu(), .load = self_.ReadCpu()};
  for (const Process& router : routers_) {
    const CpuUse use = router.ReadCpu();
    usage.routers.run_ns += use.run_ns;
    usage.routers.context_switches += use.context_switches;
    usage.routers_memory += router.ReadMemory();
  }
  usage.memory = server_.ReadMemory();
  return usage;
}

Json Measurement::Run() {
  AwaitDue();
  flow_.Resume(Now());
  WarmUp();
  Disturbance disturbance(options_, endpoint_);
  const Usage before = Used();
  flow_.BeginMeasuring(before.time);
  RunLoad();
  measured_ops_ = flow_.done();
  const Usage after = Used();
  disturbance.End();
  Json report = Report(before, after);
  if (!options_.questions.empty()) report["answers_us"] = AnswersOf(disturbance);
  if (options_.burst > 0) report["bursts"] = disturbance.burst()->finished();
  Quiesce();
  if (verification_) report["verified"] = AsJson(Verified());
  return report;
}

void Measurement::AwaitDue() {
  constexpr int64_t kLead = kSecond / 2;
  if (surroundings_.due() == 0) return;
  while (Now() < surroundings_.due() - kLead) loop_.RunRound(surroundings_.due() - kLead);
}

void Measurement::WarmUp() {
  if (options_.ops > 0 || options_.workload == Workload::kIdle) return;
  constexpr int64_t kMinJobs = 50;
  constexpr int64_t kPatience = 60 * kSecond;
  const int64_t start = Now();
  const int64_t end = start + FromSeconds(options_.warm_up);
  flow_.BeginMeasuring(start);
  while (Now() < end || flow_.done() < kMinJobs) {
    if (Now() > start + kPatience) Fail("the server does not get through the warm-up");
    RunRound(end);
  }
}

void Measurement::RunLoad() {
  const int64_t start = Now();
  const int64_t end = start + FromSeconds(options_.seconds);
  if (options_.ops == 0) {
    while (Now() < end) RunRound(end);
    return;
  }
  constexpr int64_t kPatience = 60 * kSecond;
  int64_t done = 0;
  for (int64_t progress = start; done < options_.ops; RunRound(Now() + kMillisecond)) {
    if (flow_.done() > done) progress = Now();
    done = flow_.done();
    if (Now() > progress + kPatience) {
      Fail("stuck after " + std::to_string(done) + " jobs, with " +
           std::to_string(flow_.refusals()) + " refusals; " + Complaint());
    }
  }
}

void Measurement::Quiesce() {
  constexpr int64_t kPatience = 20 * kSecond;
  flow_.Stop();
  const int64_t kept = options_.held * options_.consumers;
  for (const int64_t start = Now(); flow_.unfinished() > kept; RunRound(Now() + kMillisecond)) {
    if (Now() > start + kPatience) Fail("jobs are missing after the load");
  }
}

Verification::Counts Measurement::Verified() const {
  return verification_->Count(surroundings_.ready() + flow_.started());
}

std::string Measurement::Complaint() const {
  return verification_ ? Verified().Complaint() : std::string();
}

Json Measurement::Report(const Usage& before, const Usage& after) const {
  const int64_t ops = measured_ops_;
  const double seconds = ToSeconds(after.time - before.time);
  const int64_t server_ns = after.server.run_ns - before.server.run_ns;
  const int64_t ticks_ns = after.server.user_system_ns - before.server.user_system_ns;
  const int64_t load_ns = after.load.run_ns - before.load.run_ns;
  const int64_t switches = after.server.context_switches - before.server.context_switches;
  return {{"ops", ops},
          {"seconds", seconds},
          {"ops_per_second", static_cast<double>(ops) / seconds},
          {"cpu_us_per_op", PerOp(Microseconds(server_ns), ops)},
          {"cpu_us_per_op_by_ticks", PerOp(Microseconds(ticks_ns), ops)},
          {"routers_cpu_us_per_op",
           PerOp(Microseconds(after.routers.run_ns - before.routers.run_ns), ops)},
          {"cpu_share", ToSeconds(server_ns) / seconds},
          {"load_cpu_us_per_op", PerOp(Microseconds(load_ns), ops)},
          {"context_switches_per_op", PerOp(static_cast<double>(switches), ops)},
          {"rss_at_first", memory_at_first_},
          {"rss_before", before.memory},
          {"rss_after", after.memory},
          {"routers_rss_at_first", routers_memory_at_first_},
          {"routers_rss_after", after.routers_memory},
          {"stored", surroundings_.stored()},
          {"store_seconds", ToSeconds(surroundings_.nanoseconds())},
          {"refusals", flow_.refusals()},
          {"cycle_us", Percentiles(flow_.cycles())},
          {"command_us", Percentiles(flow_.commands())}};
}

}  // namespace gearstalk::bench
