#pragma once

#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"

namespace gearstalk {

// Finds an observer's wait for a job among many. The first wait for a job is not in it: most jobs
// have no other.
class WaiterIndex {
 public:
  // nullptr: it is not in here.
  Waiter* Find(const Job& job, const JobObserver& observer) const;
  void Insert(Waiter& waiter);
  void Remove(Waiter& waiter);

 private:
  LinearHash<Waiter> waiters_;
};

}  // namespace gearstalk
