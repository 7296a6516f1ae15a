#include "tests/bench/load/surroundings.h"

#include <sched.h>

#include <algorithm>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"
#include "tests/bench/load/fill.h"

namespace gearstalk::bench {

namespace {

constexpr int64_t kDaySeconds = 86'400;

FillPlan PlanOf(const Options& options, int64_t jobs, const Tubes& tubes) {
  FillPlan plan;
  plan.protocol = options.protocol;
  plan.jobs = jobs;
  plan.give_up = Now() + FromSeconds(options.fill_limit_seconds);
  plan.shape.tubes = tubes;
  plan.shape.spread = Spread::kBlocks;
  plan.shape.jobs_each = std::max<int64_t>(jobs / tubes.count, 1);
  plan.shape.body_bytes = options.body_bytes;
  plan.shape.groups = options.groups;
  plan.shape.verified = options.verify;
  plan.shape.random_priorities = options.random_priorities;
  if (options.unique_keys) plan.shape.key_prefix = tubes.prefix + "-";
  return plan;
}

Tubes OwnOrOther(const Options& options, const char* other, int64_t others) {
  if (others > 0) return {.prefix = other, .count = others};
  return {.prefix = "bench", .count = options.tubes};
}

int64_t StoreReady(const Options& options, const Endpoint& endpoint, int64_t jobs) {
  if (jobs == 0) return 0;
  const Tubes tubes = OwnOrOther(options, "ready", options.backlog_tubes);
  return Fill(endpoint, PlanOf(options, jobs, tubes));
}

int64_t StoreDelayed(const Options& options, const Endpoint& endpoint) {
  if (options.delayed == 0) return 0;
  const Tubes tubes = OwnOrOther(options, "delayed", options.delayed_tubes);
  FillPlan plan = PlanOf(options, options.delayed, tubes);
  plan.shape.delay_seconds = kDaySeconds;
  return Fill(endpoint, plan);
}

int64_t StoreDue(const Options& options, const Endpoint& endpoint, int64_t last_due) {
  FillPlan plan = PlanOf(options, options.due, {.prefix = "due", .count = 1});
  plan.shape.due = last_due;
  const int64_t stored = Fill(endpoint, plan);
  if (Now() > last_due - 2 * kSecond) Fail("jobs fell due before all were stored: see --due-in");
  return stored;
}

}  // namespace

Surroundings::Surroundings(const Options& options, const Endpoint& endpoint)
    : idle_(endpoint, options.idle_protocol, options.idle) {
  const int64_t start = Now();
  const bool drains = options.workload == Workload::kDrain && !options.filled;
  ready_ = StoreReady(options, endpoint, drains ? options.ops : options.backlog);
  stored_ = ready_ + StoreDelayed(options, endpoint);
  if (options.backlog_tubes > 0) ready_ = 0;
  if (options.filled) ready_ = options.ops;
  if (options.due > 0) {
    const int64_t last_due = start + FromSeconds(options.due_in_seconds);
    stored_ += StoreDue(options, endpoint, last_due);
    due_ = last_due - kSecond;
  }
  nanoseconds_ = Now() - start;
}

Disturbance::Disturbance(const Options& options, const Endpoint& endpoint) {
  const int64_t pause = FromSeconds(options.ask_every_ms / 1000);
  for (const std::string& question : options.questions) {
    askers_.push_back(std::make_unique<Asker>(loop_, endpoint, question, pause));
  }
  if (options.burst > 0) {
    burst_ = std::make_unique<Burst>(loop_, endpoint, options.protocol, options.burst);
  }
  if (!askers_.empty() || burst_ != nullptr) thread_ = std::thread([this] { Run(); });
}

void Disturbance::Run() {
  const sched_param none{};
  if (sched_setscheduler(0, SCHED_IDLE, &none) != 0) Fail("cannot lower a thread's priority");
  while (!ends_) loop_.RunRound(Now() + kMillisecond);
}

void Disturbance::End() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace gearstalk::bench
