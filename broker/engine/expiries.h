#pragma once

#include "broker/base/clock.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"

namespace gearstalk {

// When waiting jobs expire. Part of the store.
//
// An expiry is fixed when a job comes or is kicked, and stays in the heap while the job is ready or
// delayed. BadEnds removes what is due in bounded steps; whoever would hand a job out looks at its
// expiry first, so that none is handed out late.
class Expiries {
 public:
  // As the policy of its tube has it, counted from then.
  static void Set(Job& job, Time from);
  // The job gets ready or delayed, or is so no more. It has a JobRest.
  void Await(Job& job);
  void Forget(Job& job);
  // The job, which is in the heap, comes up at this time instead.
  void PutOff(Job& job, Time until) { heap_.Move(&job.OwnRest()->expiry, until); }
  Time next() const { return heap_.top_time(); }
  Job& front() const { return *heap_.top()->job; }  // there is one

 private:
  IndexedHeap<Expiry> heap_;
};

}  // namespace gearstalk
