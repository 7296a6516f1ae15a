#pragma once

#include <cstdint>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/ready_tubes.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// How fast tubes hand out (max_running, rate), and whose turn it is. Part of the store.
//
// A tube that is held back hands out nothing, as if it were paused. A hand-out may hold its tube
// back; a place that gets free is noted, and the verb that freed it ends with Dispatch::ServeFreed.
// A token that gets free is a deadline of the tube.
class Pace {
 public:
  // They outlive it.
  Pace(Deadlines& deadlines, ReadyTubes& ready) : deadlines_(deadlines), ready_(ready) {}

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
  bool has_freed() const { return !freed_.empty(); }
  // One of them, looked at again.
  Tube& TakeFreed(Time now);

 private:
  static Time NextHandOut(const Tube& tube);

  Deadlines& deadlines_;
  ReadyTubes& ready_;
  std::vector<Tube*> freed_;  // just now
};

}  // namespace gearstalk
