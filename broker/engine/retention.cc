#include "broker/engine/retention.h"

#include "broker/engine/store.h"

namespace gearstalk {

// For a job with an unknown time of burial, the start of the broker.
Time Retention::BurialTime(const Job& job) const {
  return job.extra().ended == 0 ? store_.started : job.extra().ended;
}

// When the oldest buried job is one too many or too old.
Time Retention::Due(const Tube& tube) const {
  const Policy& policy = PolicyOf(tube);
  if (tube.buried() == 0) return kNever;
  if (policy.keep_buried_jobs > 0 && tube.buried() > policy.keep_buried_jobs) return 0;
  if (policy.keep_buried == 0) return kNever;
  return Later(BurialTime(*tube.NextBuried()), policy.keep_buried);
}

void Retention::Note(Tube& tube) {
  if (tube.policy() != nullptr) store_.deadlines.Arm(tube, Due(tube));
}

void Retention::Prune(Time now, Tube& tube, int& steps) {
  for (; steps > 0 && Due(tube) <= now; --steps) {
    Job& job = *tube.NextBuried();
    if (!store_.Accepts(job, Record::Kind::kDelete)) {
      store_.deadlines.Arm(tube, now + kTryAgain);
      return;
    }
    store_.CountPolicy(tube, &PolicyCounts::pruned);
    store_.Finished(job, Finish::Kind::kFailed, kNoReport);
  }
  store_.deadlines.Arm(tube, Due(tube));
}

}  // namespace gearstalk
