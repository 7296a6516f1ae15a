#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "broker/base/clock.h"
#include "broker/engine/tube.h"

namespace gearstalk {

class Engine;

// Which tubes are paused, and until when. Part of the engine.
//
// As in beanstalkd, a pause is over at its time and not when somebody notices: whoever looks for a
// job ends all that are over first (EndDue), and what they kept back counts by its priority.
class Pauses {
 public:
  explicit Pauses(Engine& engine) : engine_(engine) {}

  // The tube's settings.pause_until may have changed. O(log n) in the paused tubes.
  void Note(Tube& tube);
  void End(Tube& tube);
  // Those who waited are served first.
  void EndDue(Time now) {
    if (next_ <= now) EndAllDue(now);
  }

 private:
  void EndAllDue(Time now);

  Engine& engine_;
  std::set<std::pair<Time, std::uint64_t>> ends_;  // of which tube
  Time next_ = kNever;
};

}  // namespace gearstalk
