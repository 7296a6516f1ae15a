#pragma once

#include <deque>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/flow.h"
#include "tests/bench/load/gearman_packet.h"
#include "tests/bench/load/job.h"
#include "tests/bench/load/role.h"

namespace gearstalk::bench {

// Submits jobs, in background or waiting for their results.
class GearmanClient : public Connection, public RoundObserver {
 public:
  GearmanClient(Loop& loop, const Endpoint& endpoint, Flow& flow, const JobShape& shape,
                const Role& role, bool foreground);

  void OnRound(int64_t now) override;

 private:
  size_t OnInput(std::string_view input) override;
  void OnPacket(const Packet& packet);
  void OnJobCreated();
  void OnWorkComplete(std::string_view payload);
  void Submit(const JobStart& start, int64_t now);
  PacketType SubmitType();

  struct Sent {
    int64_t at;
    int64_t stamp;
  };

  Flow& flow_;
  const JobShape shape_;
  const Role role_;
  const bool foreground_;
  BodyMaker body_;
  Random random_;
  int64_t function_index_ = -1;
  std::string function_;
  int in_flight_ = 0;
  std::deque<Sent> uncreated_;
};

}  // namespace gearstalk::bench
