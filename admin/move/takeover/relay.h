#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "admin/move/gearman_client.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl {

// Relays jobs of a worker at one Gearman server to another server, as a foreground client. Results
// go back under the handles of the first server.
class Relay {
 public:
  // `worker` outlives it.
  explicit Relay(GearmanClient& worker) : worker_(worker) {}

  // Connects to the server that is to do the work.
  Status Connect(const Target& target);
  // `submit` is the type of the packet: kSubmit, kSubmitHigh or kSubmitLow. Reduce jobs have no
  // class. A job that the server cannot take now is submitted again; one that it never takes
  // fails, or, where it must `not_fail`, ends the relay.
  void Submit(Assigned job, std::uint32_t submit = packet::kSubmit, bool not_fail = false);
  // Passes on all packets that have arrived; if there were any, or some are sent, sets `idle` to
  // false.
  Status Pump(bool& idle);

  int fd() const { return client_->fd(); }
  std::size_t in_flight() const { return in_flight_.size(); }
  // The server takes no jobs now: more of them would wait here.
  bool full() const { return !refused_.empty(); }
  std::uint64_t ended() const { return ended_; }

 private:
  struct Job {
    Assigned assigned;
    std::uint32_t submit;
    bool not_fail;
    bool tried = false;  // and refused
  };

  void Send(Job job);
  void SendRefused();
  Status OnPacket(const Packet& packet);
  Status OnRefused(const Packet& error);
  void Pass(const Packet& packet);

  GearmanClient& worker_;
  std::unique_ptr<GearmanClient> client_;
  std::string name_{};
  std::deque<Job> submitted_{};                   // until the server has answered, in that order
  std::deque<Job> refused_{};                     // that are submitted again, one by one
  Time again_ = 0;                                // when
  bool told_ = false;                             // of the refusal
  std::set<std::string> in_flight_{};             // handles of the worker, up to the end of the job
  std::map<std::string, std::string> handles_{};  // of the client -> of the worker
  std::uint64_t ended_ = 0;
};

}  // namespace gearstalk::ctl
