#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/load/clients.h"
#include "tests/bench/load/process.h"
#include "tests/bench/load/surroundings.h"
#include "tests/bench/load/verification.h"

namespace gearstalk::bench {

using Json = nlohmann::ordered_json;

// One server under one load, measured once or several times.
class Measurement {
 public:
  Measurement(const Options& options, const Process& server, const std::vector<Process>& routers);

  // Runs the load for its extent, waits until all its jobs are finished, and says what it took.
  Json Run();

  // What is wrong with the jobs that came so far; empty: nothing, or they are not verified.
  std::string Complaint() const;

 private:
  struct Usage {
    int64_t time;
    CpuUse server;
    CpuUse routers{};  // of all of them
    CpuUse load;
    int64_t memory = 0;
    int64_t routers_memory = 0;
  };
  Usage Used() const;

  // Until the server has nothing more to do with what the clients said when they connected.
  void Settle();
  void AwaitDue();
  void WarmUp();
  void RunLoad();
  void Quiesce();
  void RunRound(int64_t deadline);
  Verification::Counts Verified() const;
  Json Report(const Usage& before, const Usage& after) const;

  const Options options_;
  const Process& server_;
  const std::vector<Process>& routers_;
  const Process self_;
  const Endpoint endpoint_;
  const int64_t memory_at_first_;
  const int64_t routers_memory_at_first_;
  const Surroundings surroundings_;
  Loop loop_;
  Flow flow_;
  std::optional<Verification> verification_;
  const Clients clients_;
  int64_t measured_ops_ = 0;
};

}  // namespace gearstalk::bench
