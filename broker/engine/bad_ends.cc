#include "broker/engine/bad_ends.h"

#include <algorithm>
#include <array>

#include "broker/base/log.h"
#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// Bytes of a WORK_EXCEPTION that are kept with the job.
constexpr std::size_t kCauseText = 255;

using Fate = Verdict::Fate;

bool IsRelease(BadEnd how) { return how == BadEnd::kReleased || how == BadEnd::kTakenBack; }

// Whether somebody waits for the answer, and hears of a refusal.
bool IsAskedFor(BadEnd how) {
  switch (how) {
    case BadEnd::kFailed:
    case BadEnd::kException:
    case BadEnd::kReleased:
    case BadEnd::kBuried:
    case BadEnd::kTakenBack:
      return true;
    case BadEnd::kTimeout:
    case BadEnd::kRunLimit:
    case BadEnd::kLost:
    case BadEnd::kReturned:
      break;
  }
  return false;
}

bool RunsAgain(Fate fate) { return fate == Fate::kReady || fate == Fate::kDelayed; }

std::string_view NameOf(Fate fate) {
  static constexpr std::array<std::string_view, 5> kNames = {"ready", "delayed", "buried",
                                                             "deleted", "moved"};
  return kNames[static_cast<std::size_t>(fate)];
}

}  // namespace

BadEnds::Ended BadEnds::End(Time now, Job& job, const Ending& ending) {
  Tube& tube = *job.tube_;
  const double draw = static_cast<double>(random_()) / static_cast<double>(random_.max());
  Verdict verdict = Judge(job, ending, now, PolicyOf(tube), engine_.options_.job_retries, draw);
  const bool gone = verdict.fate == Fate::kGone;
  if (!engine_.Accepts(job, gone ? Record::Kind::kDelete : Record::Kind::kChange)) {
    if (IsAskedFor(ending.how)) return {{Code::kJournal}};
    verdict = {};
  }
  if (job.abandoned_ && gone && !verdict.failed) engine_.Count(tube, &JobCounts::dropped);
  CountEnd(job, ending.how);
  if (verdict.failed) {
    engine_.Count(tube, &JobCounts::failed);
    if (tube.policy_ != nullptr) LogFailure(job, verdict);
  }
  engine_.LeaveState(job);
  if (ending.priority.has_value()) job.priority = *ending.priority;
  if (IsRelease(ending.how)) job.delay_s = ending.delay_s;
  if (verdict.fate != Fate::kGone) NoteCause(job, verdict, ending.text);
  if (verdict.attempt && RunsAgain(verdict.fate)) engine_.CountPolicy(tube, &PolicyCounts::retries);
  if (RunsAgain(verdict.fate)) {
    return {{Code::kOk, RunAgain(now, job, verdict, ending.how)}, verdict.fate == Fate::kReady};
  }
  const bool exception = ending.how == BadEnd::kException;
  const auto kind = exception ? Finish::Kind::kException : Finish::Kind::kFailed;
  return {{Code::kOk, Carry(now, job, verdict, kind, exception ? ending.text : ReportData())}};
}

Outcome BadEnds::EndHeld(Time now, const Consumer& holder, JobId id, const Ending& ending) {
  Job* const job = engine_.HeldBy(holder, id);
  if (job == nullptr) return {Code::kNotFound};
  const Ended ended = End(now, *job, ending);
  if (ended.ready) engine_.dispatch_.Serve(now, *job->tube_, job);
  engine_.pace_.ServeFreed(now);
  return ended.outcome;
}

// Counts the end, whatever happens to the job after it.
void BadEnds::CountEnd(Job& job, BadEnd how) {
  Tube& tube = *job.tube_;
  switch (how) {
    case BadEnd::kTimeout:
    case BadEnd::kRunLimit:
      engine_.Count(tube, &JobCounts::timeouts);
      ++job.MakeExtra().timeouts;
      if (how == BadEnd::kRunLimit) ++job.MakeRest().lost_tries;
      break;
    case BadEnd::kLost:
      engine_.Count(tube, &JobCounts::lost);
      ++job.MakeRest().lost_tries;
      break;
    case BadEnd::kReleased:
    case BadEnd::kTakenBack:
      engine_.Count(tube, &JobCounts::releases);
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
    engine_.EnterReady(job);
  } else {
    const Time seconds = (verdict.wait - 1) / kSecond + 1;
    job.delay_s = static_cast<std::uint32_t>(std::min<Time>(seconds, UINT32_MAX));
    if (verdict.attempt) job.extra_->retrying = true;
    engine_.EnterDelayed(job, Later(now, verdict.wait));
  }
  const bool counted_only = !verdict.attempt && !IsRelease(how);
  // On a full disk, counters would take the space of deletions.
  if (counted_only && !engine_.Accepts(job, Record::Kind::kCount)) return 0;
  return engine_.Append(job, counted_only ? Record::Kind::kCount : Record::Kind::kChange);
}

Lsn BadEnds::Carry(Time now, Job& job, const Verdict& verdict, Finish::Kind kind,
                   const ReportData& text) {
  if (verdict.expired) engine_.CountPolicy(*job.tube_, &PolicyCounts::expired);
  if (verdict.fate == Fate::kGone) return engine_.Finished(job, kind, text);
  const bool moves = verdict.fate == Fate::kMoved && !MoveBuries(job);
  if (!moves) return Bury(now, job, kind, text);
  return MoveDead(now, job, kind, text, PolicyOf(*job.tube_).dead_ready);
}

Lsn BadEnds::Bury(Time now, Job& job, Finish::Kind kind, const ReportData& text) {
  job.abandoned_ = false;
  ++job.MakeExtra().buries;
  job.extra_->ended = now;
  engine_.Count(*job.tube_, &JobCounts::buries);
  engine_.EnterBuried(job, engine_.next_burial_);
  const Lsn lsn = engine_.Append(job, Record::Kind::kChange);
  engine_.HoldLine(job, lsn);
  engine_.Tell(job, kind, text, lsn);
  return lsn;
}

void BadEnds::BuryDamaged(Time now, JobId id, bool taken) {
  Job* const job = engine_.jobs_.Find(id);
  if (job == nullptr) return;
  if (job->state_ == JobState::kBuried) return NoteDamage(*job);
  const bool held = job->state_ == JobState::kReserved;
  if (held && !taken) return;
  if (!engine_.Accepts(*job, Record::Kind::kChange)) {
    if (held) engine_.Given(now, *job->holder(), id);  // it comes back when its TTR ends
    return;
  }
  if (held) {
    --job->reserves;
    --job->tube_->reserves;
    --engine_.totals_.reserves;
  }
  engine_.LeaveState(*job);
  job->MakeExtra().cause = Cause::kBuried;
  job->MakeTexts().cause_text = kDamagedText;
  const bool moves = PolicyOf(*job->tube_).on_failure == Policy::OnFailure::kMove;
  if (moves && !MoveBuries(*job)) {
    MoveDead(now, *job, Finish::Kind::kFailed, {}, /*ready=*/false);
  } else {
    Bury(now, *job, Finish::Kind::kFailed, {});
  }
  engine_.pace_.ServeFreed(now);
}

// A job that is buried already stays where it is: what it was buried for does not matter any more.
void BadEnds::NoteDamage(Job& job) {
  if (IsDamaged(job) || !engine_.Accepts(job, Record::Kind::kChange)) return;
  engine_.failures_.Remove(job);
  job.MakeExtra().cause = Cause::kBuried;
  job.MakeTexts().cause_text = kDamagedText;
  engine_.failures_.Add(job);
  engine_.Append(job, Record::Kind::kChange);
}

Lsn BadEnds::MoveDead(Time now, Job& job, Finish::Kind kind, const ReportData& text, bool ready) {
  Tube& before = *job.tube_;
  const Policy& policy = PolicyOf(before);
  Tube& dead = engine_.TubeNamed(policy.DeadTubeOf(before.name()));
  const std::optional<std::string> line = Engine::LineOf(job);
  engine_.CountPolicy(before, &PolicyCounts::dead);
  engine_.MoveTo(job, dead, before.name());
  job.abandoned_ = false;
  job.MakeExtra().ended = now;
  if (ready) {
    job.extra_->attempts = 0;
    job.MakeRest().expiry.time = kNever;
    engine_.EnterReady(job);
  } else {
    ++job.extra_->buries;
    engine_.Count(dead, &JobCounts::buries);
    engine_.EnterBuried(job, engine_.next_burial_);
  }
  const Lsn lsn = engine_.Append(job, Record::Kind::kChange, {.moved = true});
  engine_.HoldLine(before, line, lsn);
  engine_.Tell(job, kind, text, lsn);
  engine_.ReleaseTube(before);
  engine_.dispatch_.Serve(now, dead, &job);
  return lsn;
}

void BadEnds::LogFailure(const Job& job, const Verdict& verdict) const {
  const bool buries = verdict.fate == Fate::kMoved && MoveBuries(job);
  const std::string_view outcome = NameOf(buries ? Fate::kBuried : verdict.fate);
  LogOfClient(LogLevel::kInfo, "job failed",
              {{"tube", job.tube_->name()},
               {"job", job.id_},
               {"cause", gearstalk::NameOf(verdict.cause)},
               {"attempts", std::uint64_t{job.extra().attempts} + (verdict.attempt ? 1 : 0)},
               {"outcome", outcome}});
}

}  // namespace gearstalk
