#include "broker/engine/retention.h"

#include "broker/engine/deadlines.h"
#include "broker/engine/engine.h"

namespace gearstalk {
// For a job with an unknown time of burial, the start of the broker.
Time Retention::BurialTime(const Job& job) const {
  return job.extra().ended == 0 ? engine_.started_ : job.extra().ended;
}

// When the oldest buried job is one too many or too old.
Time Retention::Due(const Tube& tube) const {
  const Policy& policy = PolicyOf(tube);
  if (tube.buried_.empty()) return kNever;
  if (policy.keep_buried_jobs > 0 && tube.buried_size_ > policy.keep_buried_jobs) return 0;
  if (policy.keep_buried == 0) return kNever;
  return Later(BurialTime(*tube.buried_.front()), policy.keep_buried);
}

void Retention::Note(Tube& tube) {
  if (tube.policy_ != nullptr) engine_.deadlines_.Arm(tube, Due(tube));
}

void Retention::Prune(Time now, Tube& tube, int& steps) {
  for (; steps > 0 && Due(tube) <= now; --steps) {
    Job& job = *tube.buried_.front();
    if (!engine_.Accepts(job, Record::Kind::kDelete)) {
      engine_.deadlines_.Arm(tube, now + kTryAgain);
      return;
    }
    engine_.CountPolicy(tube, &PolicyCounts::pruned);
    engine_.Finished(job, Finish::Kind::kFailed, kNoReport);
  }
  engine_.deadlines_.Arm(tube, Due(tube));
}

}  // namespace gearstalk
