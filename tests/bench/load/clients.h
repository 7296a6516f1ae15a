#pragma once

#include <memory>
#include <vector>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/options.h"
#include "tests/bench/load/verification.h"

namespace gearstalk::bench {

FlowLimits LimitsOf(const Options& options);
JobShape ShapeOf(const Options& options);

// The connections of the measured load.
class Clients {
 public:
  // `verification`: of what consumers get; nullptr: none.
  Clients(const Options& options, Loop& loop, const Endpoint& endpoint, Flow& flow,
          Verification* verification);

 private:
  void AddProducer(const Options& options, int index);
  void AddConsumer(const Options& options, int index);
  void AddChurn(const Options& options);

  Loop& loop_;
  const Endpoint& endpoint_;
  Flow& flow_;
  Verification* const verification_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace gearstalk::bench
