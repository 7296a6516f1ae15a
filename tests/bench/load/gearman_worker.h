#pragma once

#include <deque>
#include <string>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/gearman_packet.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/role.h"
#include "tests/bench/load/verification.h"

namespace gearstalk::bench {

struct GearmanTaking {
  Tubes functions;
  bool sleeps = false;  // sleeps when there is no job, as client libraries do; otherwise it grabs
                        // only jobs that are known to be there
  bool foreground = false;               // somebody waits for the result, and counts the job
  Verification* verification = nullptr;  // what it has to say of each job; nullptr: nothing
};

// Grabs and completes jobs; the result is the stamp of the job.
class GearmanWorker : public Connection, public RoundObserver {
 public:
  GearmanWorker(Loop& loop, const Endpoint& endpoint, Flow& flow, const GearmanTaking& taking,
                const Role& role);

  void OnRound(int64_t now) override;

 private:
  struct Job {
    std::string handle;
    std::string result;
  };

  size_t OnInput(std::string_view input) override;
  void OnPacket(const Packet& packet);
  void OnNoop();
  void OnNoJob();
  void OnJobAssign(std::string_view payload);
  void Grab();
  void Complete(const Job& job);
  void CompleteOldest();

  Flow& flow_;
  const GearmanTaking taking_;
  const Role role_;
  int in_flight_ = 0;
  bool asleep_ = false;
  std::deque<Job> assigned_;
};

}  // namespace gearstalk::bench
