// How many buried jobs a tube keeps, and how long. One deadline of the tube: its buried jobs are in
// the order of burial, and only the first is looked at.

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// When the journal takes no deletion, the job stays, and is tried again so much later.
constexpr Time kTryAgain = kSecond;

}  // namespace

// One of which no time is known counts from the start of the broker.
Time Engine::BurialTime(const Job& job) const {
  return job.extra().ended == 0 ? started_ : job.extra().ended;
}

// When the first of the buried is one too many or too old.
Time Engine::RetentionDue(const Tube& tube) const {
  const Policy& policy = PolicyOf(tube);
  if (tube.buried_.empty()) return kNever;
  if (policy.keep_buried_jobs > 0 && tube.buried_size_ > policy.keep_buried_jobs) return 0;
  if (policy.keep_buried == 0) return kNever;
  return Later(BurialTime(*tube.buried_.front()), policy.keep_buried);
}

// False: the journal takes no deletion now.
bool Engine::Prune(Time now, Tube& tube, int& steps) {
  for (; steps > 0 && RetentionDue(tube) <= now; --steps) {
    Job& job = *tube.buried_.front();
    if (!Accepts(job, Record::Kind::kDelete)) {
      deadlines_.Arm(tube, now + kTryAgain);
      return false;
    }
    CountPolicy(tube, &PolicyCounts::pruned);
    Finished(job, Finish::Kind::kFailed, {});
  }
  return true;
}

}  // namespace gearstalk
