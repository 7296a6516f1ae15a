#pragma once

#include <memory>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/server/access.h"

namespace gearstalk {

// Whether a connection may take jobs from what it watches. Looked at when its rights have changed,
// not for each job: what is watched later is allowed or refused when it comes.
class WatchRights {
 public:
  // Ends the watches that `access` does not allow.
  void Apply(const std::shared_ptr<const Access>& access, Engine& engine, Time now,
             Consumer& consumer);

 private:
  std::shared_ptr<const Access> applied_;
};

}  // namespace gearstalk
