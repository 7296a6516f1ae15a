#include "tests/bench/load/fill.h"

#include <memory>
#include <vector>

#include "tests/bench/load/beanstalk_producer.h"
#include "tests/bench/load/clock.h"
#include "tests/bench/load/gearman_client.h"

namespace gearstalk::bench {

int64_t Fill(const Endpoint& endpoint, const FillPlan& plan) {
  constexpr int kConnections = 2;
  constexpr int kDepth = 256;
  Loop loop;
  Flow flow(FlowLimits{.jobs = plan.jobs});
  std::vector<std::unique_ptr<Connection>> producers;
  for (int i = 0; i < kConnections; ++i) {
    const Role role{.index = i, .count = kConnections, .depth = kDepth, .finishes_jobs = true};
    if (plan.protocol == Protocol::kBeanstalk) {
      producers.push_back(
          std::make_unique<BeanstalkProducer>(loop, endpoint, flow, plan.shape, role));
    } else {
      producers.push_back(
          std::make_unique<GearmanClient>(loop, endpoint, flow, plan.shape, role, false));
    }
  }
  while (flow.done() < plan.jobs) {
    if (Now() > plan.give_up) flow.Stop();
    if (Now() > plan.give_up && flow.unfinished() == 0) break;
    loop.RunRound(Now() + 100 * kMillisecond);
  }
  return flow.done();
}

}  // namespace gearstalk::bench
