#pragma once

#include "broker/base/clock.h"
#include "broker/engine/tube.h"

namespace gearstalk {

class JobStore;

// How many buried jobs a tube keeps, and how long. Part of the store.
//
// One deadline of the tube: its buried jobs are in the order of burial, and only the first is
// looked at.
class Retention {
 public:
  explicit Retention(JobStore& store) : store_(store) {}

  // A job was buried there, or one went.
  void Note(Tube& tube);
  // Removes what is one too many or too old, at most `steps`, which are used up then.
  void Prune(Time now, Tube& tube, int& steps);

 private:
  Time BurialTime(const Job& job) const;
  Time Due(const Tube& tube) const;

  JobStore& store_;
};

}  // namespace gearstalk
