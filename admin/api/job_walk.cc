#include "admin/api/job_walk.h"

#include <algorithm>

namespace gearstalk::api {

BodyMatch::Found FilterWalk::Look(const Job& job, Time now, std::uint64_t& budget) {
  if (!filter_.MatchesRecord(job, now) || !grant_.Sees(job.tube().name())) {
    return BodyMatch::Found::kNo;
  }
  if (bodies_ && !brought_.Knows(now, job)) return BodyMatch::Found::kNotYet;
  const std::uint64_t before = budget;
  const BodyMatch::Found found = body_.Advance(job, budget);
  body_bytes_ += before - budget;
  return found;
}

JobWalk::Place JobWalk::Begin(const Engine& engine, const Filter& filter) {
  Place place;
  place.after = filter.from() == 0 ? 0 : filter.from() - 1;
  place.as_of = std::min(engine.next_id() - 1, filter.to());
  place.left = UINT64_MAX;
  place.moves = engine.moves();
  if (!filter.tube()) return place;
  // Jobs have no index by tube, but when all of a tube were seen the walk can end.
  const Tube* const tube = engine.FindTube(*filter.tube());
  if (tube == nullptr) {
    place.left = 0;
  } else if (filter.from() == 0) {
    place.left = tube->unfinished() + tube->buried();
  }
  return place;
}

// Jobs that were moved into the tube were not counted at the beginning.
bool JobWalk::NoneLeft() const { return place_.left == 0 && place_.moves == engine_.moves(); }

void JobWalk::Slice(Time now, std::uint64_t most, const std::function<bool(const Job&)>& visit) {
  std::uint64_t budget = kBodyBytes;
  ended_ = ended_ || NoneLeft();
  for (std::uint64_t steps = std::min(most, kSteps); steps > 0 && !ended_; --steps) {
    const Job* const job = engine_.NextJob(place_.after);
    if (job == nullptr || job->id() > place_.as_of) {
      place_.after = place_.as_of;
      ended_ = true;
      return;
    }
    const bool there = !filter_.tube() || job->tube().name() == *filter_.tube();
    const BodyMatch::Found found = Look(*job, now, budget);
    if (found == BodyMatch::Found::kNotYet) return;
    place_.after = job->id();
    ++scanned_;
    if (there && place_.left > 0 && place_.left != UINT64_MAX) --place_.left;
    ended_ = NoneLeft() || place_.after == place_.as_of;
    if (found == BodyMatch::Found::kYes && !visit(*job)) return;
    if (budget == 0) return;
  }
}

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
    const auto found = job == nullptr ? BodyMatch::Found::kNo : Look(*job, now, budget);
    if (found == BodyMatch::Found::kNotYet) return;
    place_ = place;
    ++at_;
    ++scanned_;
    ended_ = found == BodyMatch::Found::kYes && !visit(*job);
    if (ended_ || budget == 0) return;
  }
}

}  // namespace gearstalk::api
