#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/engine/consumer.h"

namespace gearstalk {

// A consumer that writes down what the engine tells it.
class RecordingConsumer final : public Consumer {
 public:
  // What it was told since the last call: "reserved <id>", "deadline soon", "timed out", "noop".
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }
  // What has to be durable before the last reserved job may be shown.
  Lsn lsn() const { return lsn_; }

  void OnReserved(Job& job, Lsn lsn) override {
    heard_.push_back("reserved " + std::to_string(job.id()));
    lsn_ = lsn;
  }
  void OnDeadlineSoon() override { heard_.push_back("deadline soon"); }
  void OnTimedOut() override { heard_.push_back("timed out"); }
  void OnJobsAvailable() override { heard_.push_back("noop"); }

 private:
  std::vector<std::string> heard_;
  Lsn lsn_ = 0;
};

}  // namespace gearstalk
