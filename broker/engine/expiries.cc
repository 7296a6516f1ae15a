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
  heap_.Await(expiry.time, &expiry);
}

void Expiries::Forget(Job& job) { heap_.Drop(&job.OwnRest()->expiry); }

}  // namespace gearstalk
