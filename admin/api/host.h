#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk::api {

// Facts about the parts around the engine.
struct ServerFacts {
  std::string version, commit, server_name;
  std::vector<std::string> listen, admin;
  std::string sync;  // "always", "never", "50ms", "memory"
  Time started = 0;
  std::uint64_t connection_limit = 0;
  std::uint64_t stalled = 0;
  std::uint64_t received_bytes = 0, sent_bytes = 0;
  std::uint64_t max_job_size = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> connections;  // by protocol
  std::vector<std::pair<std::string_view, std::uint64_t>> refused;      // by the server
};

// What the API needs of the broker around it.
class Host {
 public:
  virtual ServerFacts Facts() const = 0;
  // Empty: the broker serves.
  virtual std::string WhyNotReady() const = 0;
  // Why the engine must not be asked: the jobs are not all back. Empty: it may.
  virtual std::string WhyNotStarted() const = 0;
  // Why the engine may not be changed here. Code "": it may.
  struct NoActs {
    std::string_view code;  // of a problem
    std::string detail;
  };
  virtual NoActs WhyNoActs() const = 0;
  // With a shared journal: lets another broker take over soon.
  virtual void StepDown() = 0;
  // Reserves a transfer until GiveTransfer. False: it is in use.
  virtual bool TakeTransfer(const std::string& name) = 0;
  virtual void GiveTransfer(const std::string& name) = 0;
  virtual void SetDraining(bool draining, std::string_view asked_by) = 0;
  virtual std::string_view LogLevelName() const = 0;
  // Holds until the configuration is read again.
  virtual void SetLogLevel(std::string_view level) = 0;
  // Closes a client's connection at the end of the round, if it is this one.
  virtual void CloseConnection(int fd, std::uint64_t id) = 0;

 protected:
  ~Host() = default;
};

}  // namespace gearstalk::api
