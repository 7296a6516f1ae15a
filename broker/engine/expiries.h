#pragma once

#include "broker/base/clock.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"

namespace gearstalk {

class Engine;

// Waiting jobs that are past their expiry. Part of the engine.
//
// An expiry is fixed when a job comes or is kicked, and stays in the heap while the job is ready or
// delayed. Tick removes what is due in bounded steps; whoever would hand a job out looks at its
// expiry first, so that none is handed out late.
class Expiries {
 public:
  explicit Expiries(Engine& engine) : engine_(engine) {}

  // As the policy of its tube has it, counted from then.
  void Set(Job& job, Time from);
  // The job gets ready or delayed, or is so no more. It has a JobRest.
  void Await(Job& job);
  void Forget(Job& job);
  // False: the journal takes no record of it, and the job is delayed until the next try.
  bool Expire(Time now, Job& job);
  // Expires what is due, at most `steps`, which are used up then.
  void Tick(Time now, int& steps);
  Time next() const { return heap_.top_time(); }

 private:
  void PutOff(Job& job, Time until);

  Engine& engine_;
  IndexedHeap<Expiry> heap_;
};

}  // namespace gearstalk
