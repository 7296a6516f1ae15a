#pragma once

#include <string>
#include <string_view>

#include "broker/server/protocol.h"

namespace gearstalk {

// What clients and operators ask of the broker as a process, and have it do. Called on the loop's
// thread, inside a round.
class BrokerControl {
 public:
  // Why it does not serve. Empty: it serves, or, `as_standby`, it could take over.
  virtual std::string WhyNotReady(bool as_standby) const = 0;
  // Why the engine must not be asked: the jobs are not all back. Empty: it may.
  virtual std::string WhyNotStarted() const = 0;
  // Why the engine may not be changed here. Code "": it may.
  struct NoActs {
    std::string_view code;  // of a problem
    std::string detail;
  };
  virtual NoActs WhyNoActs() const = 0;
  virtual void SetDraining(bool draining, std::string_view asked_by) = 0;
  // With a shared journal: lets another broker take over, within a second.
  virtual void StepDown() = 0;
  // `shutdown` of a client that may say so. `graceful`: once its jobs are done.
  virtual void Shutdown(bool graceful, const Peer& peer) = 0;

 protected:
  ~BrokerControl() = default;
};

}  // namespace gearstalk
