#include "broker/engine/expiries.h"

#include "broker/engine/tube.h"

namespace gearstalk {

void Expiries::Set(Job& job, Time from) {
  const Time after = PolicyOf(job.tube()).expire_after;
  if (after > 0) {
    job.MakeRest().expiry.time = Later(from, after);
  } else if (JobRest* const rest = job.OwnRest()) {
    rest->expiry.time = kNever;
  }
}

void Expiries::Await(Job& job) {
  Expiry& expiry = job.OwnRest()->expiry;
  if (expiry.time != kNever) heap_.Push(expiry.time, &expiry);
}

void Expiries::Forget(Job& job) {
  Expiry& expiry = job.OwnRest()->expiry;
  if (expiry.slot == Expiry::kIdle) return;
  heap_.Remove(&expiry);
  expiry.slot = Expiry::kIdle;
}

}  // namespace gearstalk
