#pragma once

#include <cstdint>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/tube.h"

namespace gearstalk {

class Engine;

// How fast tubes hand out (max_running, rate), and whose turn it is. Part of the engine.
//
// A tube that is held back hands out nothing, as if it were paused. A hand-out may hold its tube
// back; a place that gets free is noted, and the verb that freed it ends with ServeFreed. A token
// that gets free is a deadline of the tube.
class Pace {
 public:
  explicit Pace(Engine& engine) : engine_(engine) {}

  // Whether the tube is held back, from now on.
  void Limit(Time now, Tube& tube);
  void NoteHandOut(Time now, Tube& tube);
  // Hand-outs that the tube could make at once.
  std::uint64_t Places(Time now, const Tube& tube) const;
  // A job that ran there ended, and the tube was held back for it; or its groups may give others.
  void NoteFreed(Tube& tube) {
    if (freed_.empty() || freed_.back() != &tube) freed_.push_back(&tube);
  }
  // The tube goes.
  void Forget(Tube& tube) { std::erase(freed_, &tube); }
  // First come, first served: those who waited get what a verb just made possible.
  void ServeFreed(Time now) {
    if (!freed_.empty()) ServeAllFreed(now);
  }

 private:
  Time NextHandOut(const Tube& tube) const;
  void ServeAllFreed(Time now);

  Engine& engine_;
  std::vector<Tube*> freed_;  // just now
};

}  // namespace gearstalk
