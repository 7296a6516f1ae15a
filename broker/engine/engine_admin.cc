// Acts of administrators and other clients on jobs and tubes.

#include <algorithm>
#include <string>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

Outcome Engine::Cancel(Time now, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::cancelled);
  const Lsn lsn = Finished(*job, Finish::Kind::kFailed, kNoReport);
  pace_.ServeFreed(now);
  return {Code::kOk, lsn};
}

// Kicks one job. A buried job starts its attempts anew, and a dead one goes back to its tube of
// origin. A delayed job only becomes ready. A damaged one stays buried until its body was read
// again: no record makes a job ready without its body. The caller serves the tube that the job is
// in then.
Lsn Engine::KickOne(Time now, Job& job) {
  const bool buried = job.state_ == JobState::kBuried;
  const bool damaged = buried && IsDamaged(job);
  LeaveState(job);
  if (damaged && (!job.has_body() || job.body_size() == 0)) {
    EnterBuried(job, next_burial_);  // behind those that wait for a kick
    if (!job.has_body()) bodies_.BringToKick(job);
    return 0;
  }
  JobExtra& extra = job.MakeExtra();
  ++extra.kicks;
  Tube& before = *job.tube_;
  Count(before, &JobCounts::kicks);
  const bool dead = buried && !job.origin().empty();
  if (dead) MoveTo(job, TubeNamed(std::string(job.origin())), {});
  if (buried) {
    extra.attempts = 0;
    if (extra.rest != nullptr) extra.rest->lost_tries = 0;
    extra.cause = Cause::kNone;
    job.ForgetCauseText();
    expiries_.Set(job, now);
  }
  EnterReady(job);
  const auto kind = damaged ? Record::Kind::kPut : Record::Kind::kChange;
  const Lsn lsn = Append(job, kind, {.moved = dead});
  if (dead) {
    HoldLine(job, lsn);
    ReleaseTube(before);
  }
  return lsn;
}

// The body of a damaged job that was kicked has been read, and is whole.
void Engine::KickWhole(Time now, JobId id) {
  Job* const job = jobs_.Find(id);
  if (job == nullptr || job->state_ != JobState::kBuried) return;
  if (!AcceptsWhole(job->body_size())) return;
  KickOne(now, *job);
  dispatch_.Serve(now, *job->tube_, job);
  pace_.ServeFreed(now);
}

Kicked Engine::Kick(Time now, Consumer& consumer, std::uint64_t bound,
                    std::optional<KickFrom>& from) {
  return KickTube(now, *consumer.used_, bound, from);
}

Kicked Engine::KickTube(Time now, Tube& tube, std::uint64_t bound, std::optional<KickFrom>& from) {
  if (!from) from = KickFrom{.delayed = tube.buried_.empty()};
  if (from->end == 0) from->end = next_burial_;
  Kicked kicked;
  ++tube.using_;
  std::vector<const Job*> sent_home;
  while (kicked.count < bound) {
    Job* job = tube.buried_.front();
    if (from->delayed) job = tube.delayed_.empty() ? nullptr : tube.delayed_.top();
    if (job == nullptr || (!from->delayed && job->extra().burial >= from->end)) break;
    if (!Accepts(*job, Record::Kind::kChange)) {
      kicked.code = Code::kJournal;
      break;
    }
    kicked.lsn = KickOne(now, *job);
    ++kicked.count;
    if (job->tube_ != &tube) sent_home.push_back(job);
  }
  std::sort(sent_home.begin(), sent_home.end(),
            [](const Job* a, const Job* b) { return MoreUrgent(*a, *b); });
  for (const Job* job : sent_home) dispatch_.Serve(now, *job->tube_, job);
  dispatch_.Serve(now, tube);
  --tube.using_;
  ReleaseTube(tube);
  pace_.ServeFreed(now);
  return kicked;
}

Outcome Engine::KickJob(Time now, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (job->state_ != JobState::kBuried && job->state_ != JobState::kDelayed) {
    return {Code::kNotFound};
  }
  if (!Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  const Lsn lsn = KickOne(now, *job);
  dispatch_.Serve(now, *job->tube_, job);
  pace_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Engine::Pause(Time now, std::string_view name, std::uint32_t seconds) {
  Tube* tube = tubes_.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  ++tube->pauses;
  pauses_.End(*tube);
  if (seconds > 0) {
    tube->settings_.pause_s = seconds;
    tube->settings_.pause_until = After(now, seconds);
  }
  ArmTube(*tube);
  const Lsn lsn = records_.AppendSettings(*tube);
  dispatch_.Serve(now, *tube);
  return {Code::kOk, lsn};
}

Outcome Engine::CreateFunction(std::string_view name) {
  if (TakesAnswers(name)) return {CountRefused(Code::kInvalid)};
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const found = TubeForUse(name);
  if (found == nullptr) return {CountRefused(Code::kTooManyTubes)};
  Tube& tube = *found;
  if (tube.settings_.created_function) return {Code::kOk, records_.settings_lsn()};
  tube.settings_.created_function = true;
  return {Code::kOk, records_.AppendSettings(tube)};
}

Outcome Engine::DropFunction(std::string_view name) {
  Tube* tube = tubes_.Find(name);
  if (tube == nullptr) return {idle_functions_.Remove(name) ? Code::kOk : Code::kNotFound};
  if (tube->workers() > 0 || tube->unfinished() > 0 || tube->buried() > 0 || !tube->line_.empty()) {
    return {Code::kInUse};
  }
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  tube->function_ = false;
  tube->settings_.created_function = false;
  tube->settings_.max_queue = ConfiguredMaxQueue(*tube);
  const Lsn lsn = records_.AppendSettings(*tube);
  ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

Outcome Engine::SetMaxQueue(std::string_view name, const MaxQueue& limits) {
  if (TakesAnswers(name)) return {CountRefused(Code::kInvalid)};
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const tube = TubeForUse(name);
  if (tube == nullptr) return {CountRefused(Code::kTooManyTubes)};
  tube->settings_.max_queue = limits;
  const Lsn lsn = records_.AppendSettings(*tube);
  ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

}  // namespace gearstalk
