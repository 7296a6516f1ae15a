#include "broker/engine/operating.h"

#include <string>
#include <utility>
#include <vector>

#include "broker/engine/bad_ends.h"
#include "broker/engine/dispatch.h"

namespace gearstalk {

Outcome Operating::Cancel(Time now, JobId id) {
  Job* job = store_.jobs.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (!store_.Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  store_.Count(job->tube(), &JobCounts::cancelled);
  const Lsn lsn = store_.Finished(*job, Finish::Kind::kFailed, kNoReport);
  dispatch_.ServeFreed(now);
  return {Code::kOk, lsn};
}

// Kicks one job. A buried job starts its attempts anew, and a dead one goes back to its tube of
// origin. A delayed job only becomes ready. A damaged one stays buried until its body was read
// again: no record makes a job ready without its body. The caller serves the tube that the job is
// in then.
Lsn Operating::KickOne(Time now, Job& job) {
  const bool buried = job.state() == JobState::kBuried;
  const bool damaged = buried && IsDamaged(job);
  store_.LeaveState(job);
  if (damaged && (!job.has_body() || job.body_size() == 0)) {
    store_.EnterBuried(job, store_.next_burial);  // behind those that wait for a kick
    if (!job.has_body()) store_.bodies.BringToKick(job);
    return 0;
  }
  JobExtra& extra = job.MakeExtra();
  ++extra.kicks;
  Tube& before = job.tube();
  store_.Count(before, &JobCounts::kicks);
  const bool dead = buried && !job.origin().empty();
  if (dead) store_.MoveTo(job, store_.TubeNamed(std::string(job.origin())), {});
  if (buried) {
    extra.attempts = 0;
    if (extra.rest != nullptr) extra.rest->lost_tries = 0;
    extra.cause = Cause::kNone;
    job.ForgetCauseText();
    Expiries::Set(job, now);
  }
  store_.EnterReady(job);
  const auto kind = damaged ? Record::Kind::kPut : Record::Kind::kChange;
  const Lsn lsn = store_.Append(job, kind, {.moved = dead});
  if (dead) {
    store_.grouping.HoldLine(job, lsn);
    store_.ReleaseTube(before);
  }
  return lsn;
}

void Operating::KickWhole(Time now, JobId id) {
  Job* const job = store_.jobs.Find(id);
  if (job == nullptr || job->state() != JobState::kBuried) return;
  if (!store_.AcceptsWhole(job->body_size())) return;
  KickOne(now, *job);
  dispatch_.Serve(now, job->tube(), job);
  dispatch_.ServeFreed(now);
}

Kicked Operating::Kick(Time now, const Consumer& consumer, std::uint64_t bound,
                       std::optional<KickFrom>& from) {
  return KickTube(now, *consumer.used(), bound, from);
}

Kicked Operating::Kick(Time now, std::string_view name, std::uint64_t bound,
                       std::optional<KickFrom>& from) {
  Tube* const tube = store_.tubes.Find(name);
  if (tube == nullptr) return {.code = Code::kNotFound};
  return KickTube(now, *tube, bound, from);
}

Kicked Operating::KickTube(Time now, Tube& tube, std::uint64_t bound,
                           std::optional<KickFrom>& from) {
  if (!from) from = KickFrom{.delayed = tube.buried() == 0};
  if (from->end == 0) from->end = store_.next_burial;
  Kicked kicked;
  ++tube.using_count;
  std::vector<const Job*> sent_home;
  while (kicked.count < bound) {
    Job* job = tube.NextBuried();
    if (from->delayed) job = tube.NextDelayed();
    if (job == nullptr || (!from->delayed && job->extra().burial >= from->end)) break;
    if (!store_.Accepts(*job, Record::Kind::kChange)) {
      kicked.code = Code::kJournal;
      break;
    }
    kicked.lsn = KickOne(now, *job);
    ++kicked.count;
    if (&job->tube() != &tube) sent_home.push_back(job);
  }
  dispatch_.ServeTubesOf(now, std::move(sent_home));
  dispatch_.Serve(now, tube);
  --tube.using_count;
  store_.ReleaseTube(tube);
  dispatch_.ServeFreed(now);
  return kicked;
}

Outcome Operating::KickJob(Time now, JobId id) {
  Job* job = store_.jobs.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (job->state() != JobState::kBuried && job->state() != JobState::kDelayed) {
    return {Code::kNotFound};
  }
  if (!store_.Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  const Lsn lsn = KickOne(now, *job);
  dispatch_.Serve(now, job->tube(), job);
  dispatch_.ServeFreed(now);
  return {Code::kOk, lsn};
}

Outcome Operating::Move(Time now, JobId id, std::string_view name) {
  Job* const job = store_.jobs.Find(id);
  if (job == nullptr || job->state() == JobState::kReserved) return {Code::kNotFound};
  if (TakesAnswers(name)) return {Code::kInvalid};
  Tube& from = job->tube();
  if (from.name() == name) return {Code::kOk, store_.VisibleFrom(*job)};
  if (job->durable && !store_.AcceptsWhole(job->body_size())) {
    return {store_.CountRefused(Code::kJournal)};
  }
  Tube* const to = store_.TubeForUse(name);
  if (to == nullptr) return {store_.CountRefused(Code::kTooManyTubes)};
  const JobState state = job->state();
  if (state != JobState::kBuried && store_.Full(*to, job->priority)) {
    store_.ReleaseTube(*to);
    return {store_.CountRefused(Code::kQueueFull)};
  }
  const Time due = state == JobState::kDelayed ? from.DueOf(*job) : 0;
  const bool retrying = job->extra().retrying;
  const std::optional<std::string> line = Grouping::LineOf(*job);
  store_.LeaveState(*job);
  store_.MoveTo(*job, *to, {});
  if (retrying) job->MakeExtra().retrying = true;
  if (state == JobState::kReady) store_.EnterReady(*job);
  if (state == JobState::kDelayed) store_.EnterDelayed(*job, due);
  if (state == JobState::kBuried) store_.EnterBuried(*job, store_.next_burial);
  const Lsn lsn = job->has_body() ? AppendWhole(*job)
                                  : store_.Append(*job, Record::Kind::kChange, {.moved = true});
  store_.grouping.HoldLine(from, line, lsn);
  store_.grouping.HoldLine(*job, lsn);
  store_.ReleaseTube(from);
  dispatch_.Serve(now, *to, job);
  dispatch_.ServeFreed(now);
  return {Code::kOk, lsn};
}

// In a replay the newer of two such records counts. The put of the job stays as durable as it was.
Lsn Operating::AppendWhole(const Job& job) {
  if (!store_.persistent || !job.durable) return 0;
  Record record;
  store_.records.Fill(job, record);
  return store_.journal.Append(record);
}

Outcome Operating::Bury(JobId id, std::optional<std::uint32_t> priority, bool force) {
  Job* const job = store_.jobs.Find(id);
  if (job == nullptr || job->state() == JobState::kBuried) return {Code::kNotFound};
  if (job->state() == JobState::kReserved && !force) return {Code::kNotFound};
  if (!store_.Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  store_.LeaveState(*job);
  job->priority = priority.value_or(job->priority);
  job->MakeExtra().cause = Cause::kBuried;
  job->ForgetCauseText();
  const Lsn lsn = bad_ends_.Bury(store_.ticked, *job, Finish::Kind::kFailed, {});
  dispatch_.ServeFreed(store_.ticked);
  return {Code::kOk, lsn};
}

Outcome Operating::TakeBack(Time now, JobId id, std::uint32_t delay_s) {
  const Job* const job = store_.jobs.Find(id);
  if (job == nullptr || job->holder() == nullptr) return {Code::kNotFound};
  return bad_ends_.EndHeld(now, *job->holder(), id,
                           {.how = BadEnd::kTakenBack, .delay_s = delay_s});
}

// --- Tubes ---------------------------------------------------------------------------------------

Outcome Operating::Pause(Time now, std::string_view name, std::uint32_t seconds) {
  Tube* tube = store_.tubes.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  ++tube->pauses;
  store_.pauses.End(*tube);
  if (seconds > 0) {
    tube->settings.pause_s = seconds;
    tube->settings.pause_until = After(now, seconds);
  }
  store_.ArmTube(*tube);
  const Lsn lsn = store_.records.AppendSettings(*tube);
  dispatch_.Serve(now, *tube);
  return {Code::kOk, lsn};
}

Outcome Operating::CreateFunction(std::string_view name) {
  if (TakesAnswers(name)) return {store_.CountRefused(Code::kInvalid)};
  if (!store_.journal.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const found = store_.TubeForUse(name);
  if (found == nullptr) return {store_.CountRefused(Code::kTooManyTubes)};
  Tube& tube = *found;
  if (tube.settings.created_function) return {Code::kOk, store_.records.settings_lsn()};
  tube.settings.created_function = true;
  return {Code::kOk, store_.records.AppendSettings(tube)};
}

Outcome Operating::DropFunction(std::string_view name) {
  Tube* tube = store_.tubes.Find(name);
  if (tube == nullptr) return {store_.idle_functions.Remove(name) ? Code::kOk : Code::kNotFound};
  if (tube->workers > 0 || tube->unfinished() > 0 || tube->buried() > 0 || !tube->line.empty()) {
    return {Code::kInUse};
  }
  if (!store_.journal.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  tube->function = false;
  tube->settings.created_function = false;
  tube->settings.max_queue = store_.ConfiguredMaxQueue(*tube);
  const Lsn lsn = store_.records.AppendSettings(*tube);
  store_.ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

Outcome Operating::SetMaxQueue(std::string_view name, const MaxQueue& limits) {
  if (TakesAnswers(name)) return {store_.CountRefused(Code::kInvalid)};
  if (!store_.journal.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const tube = store_.TubeForUse(name);
  if (tube == nullptr) return {store_.CountRefused(Code::kTooManyTubes)};
  tube->settings.max_queue = limits;
  const Lsn lsn = store_.records.AppendSettings(*tube);
  store_.ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

Outcome Operating::ResetMaxQueue(std::string_view name) {
  const Tube* const tube = store_.tubes.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  return SetMaxQueue(name, store_.ConfiguredMaxQueue(*tube));
}

void Operating::SetRules(Time now, PolicyRules rules) {
  store_.policies.SetRules(now, std::move(rules));
  dispatch_.ServeFreed(now);
}

PolicySet Operating::SetPolicy(Time now, std::string_view tube, std::string_view key,
                               std::optional<std::string_view> value) {
  PolicySet set = store_.policies.Set(now, tube, key, value);
  dispatch_.ServeFreed(now);
  return set;
}

}  // namespace gearstalk
