// What time takes away: waiting jobs past their expiry, and buried ones beyond what a tube keeps.
//
// An expiry is fixed when a job comes or is kicked, and stays in `expiries_` while the job is ready
// or delayed. Tick removes what is due in bounded steps; whoever would hand a job out looks at its
// expiry first, so that none is handed out late. Retention is one deadline of the tube: its buried
// jobs are in the order of burial, and only the first is looked at.

#include <algorithm>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// When the journal takes no record of it, the job stays, and is tried again so much later.
constexpr Time kTryAgain = kSecond;

}  // namespace

void Engine::SetExpiry(Job& job, Time from) {
  const Time after = PolicyOf(*job.tube_).expire_after;
  if (after > 0) {
    job.MakeExtra().expiry.time = Later(from, after);
  } else if (job.extra_ != nullptr) {
    job.extra_->expiry.time = kNever;
  }
}

void Engine::AwaitExpiry(Job& job) {
  Expiry& expiry = job.extra_->expiry;
  if (expiry.time != kNever) expiries_.Push(expiry.time, &expiry);
}

void Engine::ForgetExpiry(Job& job) {
  Expiry& expiry = job.extra_->expiry;
  if (expiry.slot == Expiry::kIdle) return;
  expiries_.Remove(&expiry);
  expiry.slot = Expiry::kIdle;
}

// The job is finished, and its key stays taken. This record takes the place of the deletion.
Lsn Engine::Remember(const Job& job, Time until) {
  while (seen_.size() >= SeenKeys::kMost) ForgetFirst();
  SeenKeys::Seen seen{.id = job.id_,
                      .tube = job.tube_->name(),
                      .key = SeenKeys::KeyOf(job),
                      .until = until,
                      .stored = persistent_ && job.durable_};
  Record record;
  records_.Fill(seen, record);
  const Lsn lsn = seen.stored ? journal_.Append(record) : 0;
  seen_.Add(std::move(seen));
  return lsn;
}

void Engine::ForgetFirst() {
  const SeenKeys::Seen& first = seen_.First();
  Record record;
  record.kind = Record::Kind::kDelete;
  record.id = first.id;
  const bool stored = first.stored;
  seen_.RemoveFirst();
  if (stored) journal_.Append(record);
}

void Engine::ForgetKeys(Time now, int& steps) {
  for (; steps > 0 && seen_.next() <= now; --steps) ForgetFirst();
}

// False: the journal takes no record of it, and the job may not be handed out.
bool Engine::Expire(Time now, Job& job) {
  const Verdict verdict = JudgeExpired(job, PolicyOf(*job.tube_));
  const bool gone = verdict.fate == Verdict::Fate::kGone;
  if (!Accepts(job, gone ? Record::Kind::kDelete : Record::Kind::kChange)) {
    expiries_.Move(&job.extra_->expiry, now + kTryAgain);
    return false;
  }
  LeaveState(job);
  job.extra_->cause = verdict.cause;
  if (job.extra_->texts != nullptr) job.extra_->texts->cause_text.clear();
  Carry(now, job, verdict, Finish::Kind::kFailed, {});
  return true;
}

void Engine::ExpireDue(Time now, int& steps) {
  for (; steps > 0 && expiries_.top_time() <= now; --steps) Expire(now, *expiries_.top()->job);
}

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
