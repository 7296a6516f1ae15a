#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/ready_tubes.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// Which tubes are paused, and until when. Part of the store.
//
// As in beanstalkd, a pause is over at its time and not when somebody notices: whoever looks for a
// job ends all that are over first (TakeDue), and what they kept back counts by its priority.
class Pauses {
 public:
  // They outlive it.
  Pauses(TubeTable& tubes, ReadyTubes& ready) : tubes_(tubes), ready_(ready) {}

  // The tube's settings.pause_until may have changed. O(log n) in the paused tubes.
  void Note(Tube& tube);
  void End(Tube& tube);
  Time next() const { return next_; }
  // Ends those that are over; returns their tubes.
  std::vector<Tube*> TakeDue(Time now);

 private:
  TubeTable& tubes_;
  ReadyTubes& ready_;
  std::set<std::pair<Time, std::uint64_t>> ends_;  // of which tube
  Time next_ = kNever;
};

}  // namespace gearstalk
