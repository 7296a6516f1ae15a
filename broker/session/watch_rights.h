#pragma once

#include <memory>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/server/access.h"

namespace gearstalk {

// Whether a connection may take jobs from the tubes it watches. Checked when its rights change, not
// for each job; a new watch is checked when it is made.
class WatchRights {
 public:
  // Ends the watches that `access` does not allow.
  void Apply(const std::shared_ptr<const Access>& access, Engine& engine, Time now,
             Consumer& consumer);

 private:
  std::shared_ptr<const Access> applied_;
};

}  // namespace gearstalk
