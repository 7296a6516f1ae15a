#include "tests/bench/load/clients.h"

#include <algorithm>

#include "tests/bench/load/beanstalk_consumer.h"
#include "tests/bench/load/beanstalk_producer.h"
#include "tests/bench/load/churn.h"
#include "tests/bench/load/gearman_client.h"
#include "tests/bench/load/gearman_worker.h"

namespace gearstalk::bench {

namespace {

Tubes TubesOf(const Options& options) { return {.prefix = "bench", .count = options.tubes}; }

// What gearstalkd gives a job of Gearman that says nothing else.
constexpr int64_t kGearmanPriority = 65536;

bool HasProducers(Workload workload) {
  return workload == Workload::kCycle || workload == Workload::kForeground ||
         workload == Workload::kStore;
}

bool HasConsumers(Workload workload) {
  return workload == Workload::kCycle || workload == Workload::kForeground ||
         workload == Workload::kDrain;
}

}  // namespace

JobShape ShapeOf(const Options& options) {
  JobShape shape;
  shape.tubes = TubesOf(options);
  shape.body_bytes = options.body_bytes;
  shape.groups = options.groups;
  shape.verified = options.verify;
  shape.random_priorities = options.random_priorities;
  if (options.mixed) shape.priority = kGearmanPriority;  // so that all jobs stand in one line
  if (options.unique_keys) shape.key_prefix = "load-";
  if (options.workload == Workload::kStore) {
    shape.spread = Spread::kBlocks;
    shape.jobs_each = std::max<int64_t>(options.ops / options.tubes, 1);
  } else if (options.protocol == Protocol::kGearman) {
    shape.spread = Spread::kRotate;
  }
  return shape;
}

FlowLimits LimitsOf(const Options& options) {
  FlowLimits limits;
  limits.per_second = options.rate;
  if (options.ops > 0) limits.jobs = options.ops;
  if (options.workload == Workload::kDrain) limits.jobs = 0;
  if (options.workload == Workload::kCycle && options.rate == 0) {
    limits.unfinished = 2 * options.producers * options.depth + options.held * options.consumers;
    if (!options.sleep &&
        (options.mixed || options.protocol == Protocol::kGearman || options.depth > 1)) {
      limits.unfinished += options.consumers * options.depth;
    }
  }
  return limits;
}

Clients::Clients(const Options& options, Loop& loop, const Endpoint& endpoint, Flow& flow,
                 Verification* verification)
    : loop_(loop), endpoint_(endpoint), flow_(flow), verification_(verification) {
  if (HasConsumers(options.workload)) {
    for (int i = 0; i < options.consumers; ++i) AddConsumer(options, i);
  }
  if (HasProducers(options.workload)) {
    for (int i = 0; i < options.producers; ++i) AddProducer(options, i);
  }
  if (options.workload == Workload::kChurn) {
    for (int i = 0; i < options.producers; ++i) AddChurn(options);
  }
}

void Clients::AddProducer(const Options& options, int index) {
  const Role role{.index = index,
                  .count = options.producers,
                  .depth = options.depth,
                  .finishes_jobs = options.workload == Workload::kStore};
  const JobShape shape = ShapeOf(options);
  if (ProtocolOf(options, index) == Protocol::kBeanstalk) {
    connections_.push_back(
        std::make_unique<BeanstalkProducer>(loop_, endpoint_, flow_, shape, role));
  } else {
    connections_.push_back(std::make_unique<GearmanClient>(
        loop_, endpoint_, flow_, shape, role, options.workload == Workload::kForeground));
  }
}

void Clients::AddConsumer(const Options& options, int index) {
  const Role role{.index = index, .count = options.consumers, .depth = options.depth};
  const bool foreground = options.workload == Workload::kForeground;
  if (ProtocolOf(options, index) == Protocol::kBeanstalk) {
    const BeanstalkTaking taking{
        .tubes = TubesOf(options),
        .held = options.held,
        .waits = options.workload == Workload::kCycle && options.depth == 1 && !options.mixed,
        .verification = verification_};
    connections_.push_back(
        std::make_unique<BeanstalkConsumer>(loop_, endpoint_, flow_, taking, role));
  } else {
    const GearmanTaking taking{.functions = TubesOf(options),
                               .sleeps = options.sleep || (foreground && options.depth == 1),
                               .foreground = foreground,
                               .verification = verification_};
    connections_.push_back(std::make_unique<GearmanWorker>(loop_, endpoint_, flow_, taking, role));
  }
}

void Clients::AddChurn(const Options& options) {
  connections_.push_back(
      std::make_unique<Churn>(loop_, endpoint_, flow_, ShapeOf(options), options.protocol));
}

}  // namespace gearstalk::bench
