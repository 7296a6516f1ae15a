#include "broker/engine/expiries.h"

#include "broker/engine/deadlines.h"
#include "broker/engine/engine.h"

namespace gearstalk {
void Expiries::Set(Job& job, Time from) {
  const Time after = PolicyOf(*job.tube_).expire_after;
  if (after > 0) {
    job.MakeRest().expiry.time = Later(from, after);
  } else if (JobRest* const rest = job.OwnRest()) {
    rest->expiry.time = kNever;
  }
}

void Expiries::Await(Job& job) {
  Expiry& expiry = job.extra_->rest->expiry;
  if (expiry.time != kNever) heap_.Push(expiry.time, &expiry);
}

void Expiries::Forget(Job& job) {
  Expiry& expiry = job.extra_->rest->expiry;
  if (expiry.slot == Expiry::kIdle) return;
  heap_.Remove(&expiry);
  expiry.slot = Expiry::kIdle;
}

bool Expiries::Expire(Time now, Job& job) {
  const Verdict verdict = JudgeExpired(job, PolicyOf(*job.tube_));
  const bool gone = verdict.fate == Verdict::Fate::kGone;
  if (!engine_.Accepts(job, gone ? Record::Kind::kDelete : Record::Kind::kChange)) {
    PutOff(job, now + kTryAgain);
    return false;
  }
  engine_.LeaveState(job);
  job.extra_->cause = verdict.cause;
  job.ForgetCauseText();
  engine_.bad_ends_.Carry(now, job, verdict, Finish::Kind::kFailed, {});
  return true;
}

// A job at the front of its tube would keep back all others: it is delayed instead.
void Expiries::PutOff(Job& job, Time until) {
  if (job.state_ == JobState::kReady) {
    engine_.LeaveState(job);
    engine_.EnterDelayed(job, until);
  }
  heap_.Move(&job.extra_->rest->expiry, until);
}

void Expiries::Tick(Time now, int& steps) {
  for (; steps > 0 && heap_.top_time() <= now; --steps) Expire(now, *heap_.top()->job);
}

}  // namespace gearstalk
