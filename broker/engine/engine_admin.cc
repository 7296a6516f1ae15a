// What is done to jobs and tubes from outside.

#include "broker/engine/engine.h"

namespace gearstalk {

Outcome Engine::Cancel(Time /*now*/, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (!Accepts(*job, Record::Kind::kDelete)) return {Code::kJournal};
  Count(*job->tube_, &JobCounts::cancelled);
  return {Code::kOk, Finished(*job, Finish::Kind::kFailed, {})};
}

Lsn Engine::KickOne(Job& job) {
  LeaveState(job);
  ++job.MakeExtra().kicks;
  Count(*job.tube_, &JobCounts::kicks);
  EnterReady(job);
  return Append(job, Record::Kind::kChange);
}

Engine::Kicked Engine::Kick(Time now, Consumer& consumer, std::uint64_t bound,
                            std::optional<bool>& delayed) {
  Tube& tube = *consumer.used_;
  if (!delayed.has_value()) delayed = tube.buried_.empty();
  Kicked kicked;
  while (kicked.count < bound) {
    Job* job = tube.buried_.front();
    if (*delayed) job = tube.delayed_.empty() ? nullptr : tube.delayed_.top();
    if (job == nullptr) break;
    if (!Accepts(*job, Record::Kind::kChange)) {
      kicked.code = Code::kJournal;
      break;
    }
    kicked.lsn = KickOne(*job);
    ++kicked.count;
  }
  Serve(now, tube);
  return kicked;
}

Outcome Engine::KickJob(Time now, JobId id) {
  Job* job = jobs_.Find(id);
  if (job == nullptr) return {Code::kNotFound};
  if (job->state_ != JobState::kBuried && job->state_ != JobState::kDelayed) {
    return {Code::kNotFound};
  }
  if (!Accepts(*job, Record::Kind::kChange)) return {Code::kJournal};
  const Lsn lsn = KickOne(*job);
  Serve(now, *job->tube_, job);
  return {Code::kOk, lsn};
}

Outcome Engine::Pause(Time now, std::string_view name, std::uint32_t seconds) {
  Tube* tube = tubes_.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  ++tube->pauses;
  EndPause(*tube);
  if (seconds > 0) {
    tube->pause_s_ = seconds;
    tube->pause_until_ = After(now, seconds);
  }
  ArmTube(*tube);
  const Lsn lsn = AppendSettings(*tube);
  Serve(now, *tube);
  return {Code::kOk, lsn};
}

Outcome Engine::CreateFunction(std::string_view name) {
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const found = TubeForUse(name);
  if (found == nullptr) return {CountRefused(Code::kTooManyTubes)};
  Tube& tube = *found;
  if (tube.created_function_) return {Code::kOk, settings_lsn_};
  tube.created_function_ = true;
  return {Code::kOk, AppendSettings(tube)};
}

Outcome Engine::DropFunction(std::string_view name) {
  Tube* tube = tubes_.Find(name);
  if (tube == nullptr) return {Code::kNotFound};
  if (tube->workers() > 0 || tube->unfinished() > 0 || tube->buried() > 0 || !tube->line_.empty()) {
    return {Code::kInUse};
  }
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  tube->created_function_ = false;
  tube->max_queue_ = ConfiguredMaxQueue(name);
  const Lsn lsn = AppendSettings(*tube);
  ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

Outcome Engine::SetMaxQueue(std::string_view name, const MaxQueue& limits) {
  if (!journal_.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube* const tube = TubeForUse(name);
  if (tube == nullptr) return {CountRefused(Code::kTooManyTubes)};
  tube->max_queue_ = limits;
  const Lsn lsn = AppendSettings(*tube);
  ReleaseTube(*tube);
  return {Code::kOk, lsn};
}

}  // namespace gearstalk
