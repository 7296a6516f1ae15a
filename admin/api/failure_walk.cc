#include "admin/api/failure_walk.h"

#include "admin/api/job_walk.h"

namespace gearstalk::api {

void FailureWalk::Fetch() {
  next_ = engine_.failures().Before(place_);
  at_ = 0;
  ended_ = next_.empty();
}

const Job* FailureWalk::JobAt(Place place) const {
  const Job* const job = engine_.Find(place.id);
  return job != nullptr && Failed(*job) && Failures::PlaceOf(*job) == place ? job : nullptr;
}

void FailureWalk::Slice(Time now, const std::function<bool(const Job&)>& visit) {
  if (at_ == next_.size()) return Fetch();
  std::uint64_t budget = JobWalk::kBodyBytes;
  for (std::uint64_t steps = JobWalk::kSteps; steps > 0 && at_ < next_.size(); --steps) {
    const Place place = next_[at_];
    ended_ = window_s_ && Seconds(now - place.ended) > *window_s_;
    if (ended_) return;
    const Job* const job = JobAt(place);
    auto found = BodyMatch::Found::kNo;
    if (job != nullptr && filter_.MatchesRecord(*job, now) && grant_.Sees(job->tube().name())) {
      found = body_.Advance(*job, budget);
    }
    if (found == BodyMatch::Found::kNotYet) return;
    place_ = place;
    ++at_;
    ++scanned_;
    ended_ = found == BodyMatch::Found::kYes && !visit(*job);
    if (ended_ || budget == 0) return;
  }
}

}  // namespace gearstalk::api
