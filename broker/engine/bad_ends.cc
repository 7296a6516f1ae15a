#include "broker/engine/bad_ends.h"

#include <algorithm>
#include <array>

#include "broker/base/log.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/store.h"

namespace gearstalk {
namespace {

// Bytes of a WORK_EXCEPTION that are kept with the job.
constexpr std::size_t kCauseText = 255;

using Fate = Verdict::Fate;

bool IsRelease(BadEnd how) { return how == BadEnd::kReleased || how == BadEnd::kTakenBack; }

bool RunsAgain(Fate fate) { return fate == Fate::kReady || fate == Fate::kDelayed; }

std::string_view NameOf(Fate fate) {
  static constexpr std::array<std::string_view, 5> kNames = {"ready", "delayed", "buried",
                                                             "deleted", "moved"};
  return kNames[static_cast<std::size_t>(fate)];
}

}  // namespace

BadEnds::Ended BadEnds::End(Time now, Job& job, const Ending& ending) {
  Tube& tube = job.tube();
  const double draw = static_cast<double>(random_()) / static_cast<double>(random_.max());
  Verdict verdict = Judge(job, ending, now, PolicyOf(tube), store_.options.job_retries, draw);
  const bool gone = verdict.fate == Fate::kGone;
  if (!store_.Accepts(job, gone ? Record::Kind::kDelete : Record::Kind::kChange)) {
    if (TraitsOf(ending.how).asked_for) return {{Code::kJournal}};
    verdict = {};
  }
  if (job.abandoned && gone && !verdict.failed) store_.Count(tube, &JobCounts::dropped);
  CountEnd(job, ending.how);
  if (verdict.failed) {
    store_.Count(tube, &JobCounts::failed);
    if (tube.policy() != nullptr) LogFailure(job, verdict);
  }
  store_.LeaveState(job);
  if (ending.priority.has_value()) job.priority = *ending.priority;
  if (IsRelease(ending.how)) job.delay_s = ending.delay_s;
  if (verdict.fate != Fate::kGone) NoteCause(job, verdict, ending.text);
  if (verdict.attempt && RunsAgain(verdict.fate)) store_.CountPolicy(tube, &PolicyCounts::retries);
  if (RunsAgain(verdict.fate)) {
    return {{Code::kOk, RunAgain(now, job, verdict, ending.how)}, verdict.fate == Fate::kReady};
  }
  const bool exception = ending.how == BadEnd::kException;
  const auto kind = exception ? Finish::Kind::kException : Finish::Kind::kFailed;
  return {{Code::kOk, Carry(now, job, verdict, kind, exception ? ending.text : ReportData())}};
}

Outcome BadEnds::EndHeld(Time now, const Consumer& holder, JobId id, const Ending& ending) {
  Job* const job = dispatch_.HeldBy(holder, id);
  if (job == nullptr) return {Code::kNotFound};
  const Ended ended = End(now, *job, ending);
  if (ended.ready) dispatch_.Serve(now, job->tube(), job);
  dispatch_.ServeFreed(now);
  return ended.outcome;
}

// Counts the end, whatever happens to the job after it.
void BadEnds::CountEnd(Job& job, BadEnd how) {
  Tube& tube = job.tube();
  switch (how) {
    case BadEnd::kTimeout:
    case BadEnd::kRunLimit:
      store_.Count(tube, &JobCounts::timeouts);
      ++job.MakeExtra().timeouts;
      if (how == BadEnd::kRunLimit) ++job.MakeRest().lost_tries;
      break;
    case BadEnd::kLost:
      store_.Count(tube, &JobCounts::lost);
      ++job.MakeRest().lost_tries;
      break;
    case BadEnd::kReleased:
    case BadEnd::kTakenBack:
      store_.Count(tube, &JobCounts::releases);
      ++job.MakeExtra().releases;
      break;
    case BadEnd::kFailed:
    case BadEnd::kException:
    case BadEnd::kBuried:
    case BadEnd::kReturned:
      break;
  }
}

void BadEnds::NoteCause(Job& job, const Verdict& verdict, std::string_view text) {
  if (verdict.cause == Cause::kNone) return;
  JobExtra& extra = job.MakeExtra();
  extra.cause = verdict.cause;
  if (verdict.attempt) ++extra.attempts;
  job.ForgetCauseText();
  if (verdict.cause == Cause::kException && !text.empty()) {
    job.MakeTexts().cause_text = text.substr(0, kCauseText);
  }
}

// Ready or delayed. An end that changes nothing but counters has a short record.
Lsn BadEnds::RunAgain(Time now, Job& job, const Verdict& verdict, BadEnd how) {
  if (verdict.fate == Fate::kReady) {
    store_.EnterReady(job);
  } else {
    const Time seconds = (verdict.wait - 1) / kSecond + 1;
    job.delay_s = static_cast<std::uint32_t>(std::min<Time>(seconds, UINT32_MAX));
    if (verdict.attempt) job.MakeExtra().retrying = true;
    store_.EnterDelayed(job, Later(now, verdict.wait));
  }
  const bool counted_only = !verdict.attempt && !IsRelease(how) && !job.extra().untold;
  const Record::Kind kind = counted_only ? Record::Kind::kCount : Record::Kind::kChange;
  // On a full disk, counters would take the space of deletions.
  if (!store_.Accepts(job, kind)) return 0;
  if (!counted_only) job.MakeExtra().untold = false;
  return store_.Append(job, kind);
}

Lsn BadEnds::Carry(Time now, Job& job, const Verdict& verdict, Finish::Kind kind,
                   const ReportData& text) {
  if (verdict.expired) store_.CountPolicy(job.tube(), &PolicyCounts::expired);
  if (verdict.fate == Fate::kGone) return store_.Finished(job, kind, text);
  const bool moves = verdict.fate == Fate::kMoved && !MoveBuries(job);
  if (!moves) return Bury(now, job, kind, text);
  return MoveDead(now, job, kind, text, PolicyOf(job.tube()).dead_ready);
}

Lsn BadEnds::Bury(Time now, Job& job, Finish::Kind kind, const ReportData& text) {
  job.abandoned = false;
  ++job.MakeExtra().buries;
  job.MakeExtra().ended = now;
  store_.Count(job.tube(), &JobCounts::buries);
  store_.EnterBuried(job, store_.next_burial);
  const Lsn lsn = store_.Append(job, Record::Kind::kChange);
  store_.grouping.HoldLine(job, lsn);
  store_.waiters.Tell(job, kind, text, lsn);
  return lsn;
}

void BadEnds::BuryDamaged(Time now, JobId id, bool taken) {
  Job* const job = store_.jobs.Find(id);
  if (job == nullptr) return;
  if (job->state() == JobState::kBuried) return NoteDamage(*job);
  const bool held = job->state() == JobState::kReserved;
  if (held && !taken) return;
  if (!store_.Accepts(*job, Record::Kind::kChange)) {
    if (held) dispatch_.Given(now, *job->holder(), id);  // it comes back when its TTR ends
    return;
  }
  if (held) {
    --job->reserves;
    --job->tube().reserves;
    --store_.totals.reserves;
  }
  store_.LeaveState(*job);
  job->MakeExtra().cause = Cause::kBuried;
  job->MakeTexts().cause_text = kDamagedText;
  const bool moves = PolicyOf(job->tube()).on_failure == Policy::OnFailure::kMove;
  if (moves && !MoveBuries(*job)) {
    MoveDead(now, *job, Finish::Kind::kFailed, {}, /*ready=*/false);
  } else {
    Bury(now, *job, Finish::Kind::kFailed, {});
  }
  dispatch_.ServeFreed(now);
}

// A job that is buried already stays where it is: what it was buried for does not matter any more.
void BadEnds::NoteDamage(Job& job) {
  if (IsDamaged(job) || !store_.Accepts(job, Record::Kind::kChange)) return;
  store_.failures.Remove(job);
  job.MakeExtra().cause = Cause::kBuried;
  job.MakeTexts().cause_text = kDamagedText;
  store_.failures.Add(job);
  store_.Append(job, Record::Kind::kChange);
}

Lsn BadEnds::MoveDead(Time now, Job& job, Finish::Kind kind, const ReportData& text, bool ready) {
  Tube& before = job.tube();
  const Policy& policy = PolicyOf(before);
  Tube& dead = store_.TubeNamed(policy.DeadTubeOf(before.name()));
  const std::optional<std::string> line = Grouping::LineOf(job);
  store_.CountPolicy(before, &PolicyCounts::dead);
  store_.MoveTo(job, dead, before.name());
  job.abandoned = false;
  job.MakeExtra().ended = now;
  if (ready) {
    job.MakeExtra().attempts = 0;
    job.MakeRest().expiry.time = kNever;
    store_.EnterReady(job);
  } else {
    ++job.MakeExtra().buries;
    store_.Count(dead, &JobCounts::buries);
    store_.EnterBuried(job, store_.next_burial);
  }
  const Lsn lsn = store_.Append(job, Record::Kind::kChange, {.moved = true});
  store_.grouping.HoldLine(before, line, lsn);
  store_.waiters.Tell(job, kind, text, lsn);
  store_.ReleaseTube(before);
  dispatch_.Serve(now, dead, &job);
  return lsn;
}

void BadEnds::LogFailure(const Job& job, const Verdict& verdict) const {
  const bool buries = verdict.fate == Fate::kMoved && MoveBuries(job);
  const std::string_view outcome = NameOf(buries ? Fate::kBuried : verdict.fate);
  LogOfClient(LogLevel::kInfo, "job failed",
              {{"tube", job.tube().name()},
               {"job", job.id()},
               {"cause", gearstalk::NameOf(verdict.cause)},
               {"attempts", std::uint64_t{job.extra().attempts} + (verdict.attempt ? 1 : 0)},
               {"outcome", outcome}});
}

bool BadEnds::Expire(Time now, Job& job) {
  const Verdict verdict = JudgeExpired(job, PolicyOf(job.tube()));
  const bool gone = verdict.fate == Fate::kGone;
  if (!store_.Accepts(job, gone ? Record::Kind::kDelete : Record::Kind::kChange)) {
    PutOff(job, now + kTryAgain);
    return false;
  }
  store_.LeaveState(job);
  job.MakeExtra().cause = verdict.cause;
  job.ForgetCauseText();
  Carry(now, job, verdict, Finish::Kind::kFailed, {});
  return true;
}

// A job at the front of its tube would keep back all others: it is delayed instead.
void BadEnds::PutOff(Job& job, Time until) {
  if (job.state() == JobState::kReady) {
    store_.LeaveState(job);
    store_.EnterDelayed(job, until);
  }
  store_.expiries.PutOff(job, until);
}

void BadEnds::ExpireDue(Time now, int& steps) {
  for (; steps > 0 && store_.expiries.next() <= now; --steps) Expire(now, store_.expiries.front());
}

}  // namespace gearstalk
