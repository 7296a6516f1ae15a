// The replay: applies records to the engine.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/engine.h"
#include "broker/engine/records.h"
#include "broker/journal/record.h"

namespace gearstalk {
namespace {

// The record of a job whose body is damaged may have gone on without it.
bool LostItsBody(const Record& record) {
  return record.body.empty() && record.body_left_out == 0 &&
         record.state == Record::State::kBuried && record.failure.cause == Cause::kBuried &&
         record.failure.cause_text == kDamagedText;
}

// A job in the tube that it came from is not dead: an import may give its dead tube that name.
std::string_view OriginIn(const Tube& tube, const Record& record) {
  return record.failure.origin == tube.name() ? std::string_view() : record.failure.origin;
}

}  // namespace

Status Records::Apply(const Record& record) {
  replaying_ = true;
  if (engine_.transfers_.Apply(record)) return {};
  switch (record.kind) {
    case Record::Kind::kPut:
      ApplyPut(record);
      return {};
    case Record::Kind::kTube:
      ApplySettings(record);
      return {};
    case Record::Kind::kNextId:
    case Record::Kind::kEnd:
      engine_.ids_.TakeRecorded(record.id);
      return {};
    case Record::Kind::kSeen:
      ApplySeen(record);
      return {};
    case Record::Kind::kSchedule:
      engine_.schedules_.Apply(record);
      return {};
    case Record::Kind::kChange:
    case Record::Kind::kCount:
    case Record::Kind::kDelete:
      ApplyOfJob(record);
      return {};
    case Record::Kind::kMark:
      break;
  }
  return {Code::kInvalid, "a record of a kind that this broker does not keep"};
}

// The job may be gone already: its deletion can lie in an older segment than a change that was
// carried forward.
void Records::ApplyOfJob(const Record& record) {
  Job* const job = engine_.jobs_.Find(record.id);
  if (job == nullptr) {
    if (record.kind == Record::Kind::kDelete) engine_.seen_.Remove(record.id);
    return;
  }
  if (record.kind == Record::Kind::kDelete) {
    engine_.Erase(*job);
  } else if (record.kind == Record::Kind::kCount) {
    ApplyCounters(*job, record.counters);
  } else {
    ApplyState(*job, record);
  }
}

static_assert(kLeastLeftOut >= Job::kBlockFrom, "what a replay leaves out can have no block");

void Records::ApplyPut(const Record& record) {
  // A put that was carried forward replaces the older one.
  if (Job* const known = engine_.jobs_.Find(record.id)) engine_.Erase(*known);
  const bool keep = engine_.options_.keep_bodies || record.unique_is_body;
  const std::string_view body = keep ? record.body : std::string_view();
  const bool lost = LostItsBody(record) && engine_.journal_.KeepsBodies();
  const bool left_out = keep && (record.body_left_out > 0 || lost);
  auto size = static_cast<std::uint32_t>(body.size());
  if (left_out)
    size = lost ? kLeastLeftOut : record.body_left_out;  // of a lost one nobody knows it
  BodyHash hash{};
  std::string_view unique = record.unique;
  if (record.unique_is_body && size >= Job::kBlockFrom) {
    if (!left_out) hash = HashOfBody(body);
    if (left_out) record.put_key.copy(hash.data(), hash.size());
    unique = View(hash);
  }
  JobPtr job = left_out ? Job::NewWithoutBody(size, unique) : Job::New(size, unique);
  if (!left_out) std::copy(body.begin(), body.end(), job->space().begin());
  job->id_ = record.id;
  job->ttr_s = record.ttr_s;
  job->created = record.created;
  job->durable_ = true;
  job->keep_on_failure_ = record.keep_on_failure;
  job->unique_is_body_ = record.unique_is_body;
  if (!record.reducer.empty()) job->MakeRest().reducer = record.reducer;
  engine_.ids_.NoteTaken(record.id);
  Job& inserted = *job;
  engine_.Insert(std::move(job), engine_.TubeNamed(record.tube));
  JoinRecorded(inserted, record);
  ApplyState(inserted, record);
  if (replaying_) engine_.bodies_.OnReplayed(inserted);
  if (!record.schedule.name.empty()) engine_.schedules_.Apply(record);
}

// The name in the record is good if it was found where the tube would look for it.
void Records::JoinRecorded(Job& job, const Record& record) {
  const Groups* const groups = job.tube_->groups();
  if (groups == nullptr || record.group.source != groups->source_text()) return;
  Engine::JoinGroup(job, job.tube_->groups_->Named(record.group.name));
}

// The job is finished, and its key stays taken.
void Records::ApplySeen(const Record& record) {
  if (Job* const job = engine_.jobs_.Find(record.id)) engine_.Erase(*job);
  engine_.ids_.NoteTaken(record.id);
  engine_.seen_.Add({.id = record.id,
                     .tube = std::string(record.tube),
                     .key = std::string(record.put_key),
                     .until = record.seen_until});
}

void Records::ApplyCounters(Job& job, const Record::Counters& counters) {
  job.reserves = counters.reserves;
  const bool others = (counters.timeouts | counters.releases | counters.buries | counters.kicks |
                       counters.lost_tries) != 0;
  if (job.extra_ == nullptr && !others) return;
  JobExtra& extra = job.MakeExtra();
  extra.timeouts = counters.timeouts;
  extra.releases = counters.releases;
  extra.buries = counters.buries;
  extra.kicks = counters.kicks;
  if (extra.rest != nullptr || counters.lost_tries > 0) {
    job.MakeRest().lost_tries = counters.lost_tries;
  }
}

void Records::ApplyState(Job& job, const Record& record) {
  engine_.LeaveState(job);
  if (!record.tube.empty() && record.tube != job.tube_->name()) {
    Tube& before = *job.tube_;
    Tube& tube = engine_.TubeNamed(record.tube);
    engine_.MoveTo(job, tube, OriginIn(tube, record));
    JoinRecorded(job, record);
    engine_.ReleaseTube(before);
  }
  job.priority = record.priority;
  job.delay_s = record.delay_s;
  ApplyCounters(job, record.counters);
  ApplyFate(job, record);
  switch (record.state) {
    case Record::State::kReady:
      engine_.EnterReady(job);
      break;
    case Record::State::kDelayed:
      NoteBegin(record.due, record.delay_s);
      engine_.EnterDelayed(job,
                           IsForATime(job) ? Later(record.due, -engine_.wall_ahead_) : record.due);
      break;
    case Record::State::kBuried:
      engine_.EnterBuried(job, record.burial);
      break;
  }
}

// What policies keep with the job.
void Records::ApplyFate(Job& job, const Record& record) {
  const Record::Failure& failure = record.failure;
  const std::string_view origin = OriginIn(*job.tube_, record);
  const bool plain = failure.attempts == 0 && failure.cause == Cause::kNone && !failure.waits &&
                     origin.empty() && failure.ended == 0 && record.expires == 0;
  if (plain && job.extra_ == nullptr) return;
  JobExtra& extra = job.MakeExtra();
  extra.attempts = failure.attempts;
  extra.cause = failure.cause;
  extra.ended = failure.ended;
  extra.retrying = failure.waits && record.state == Record::State::kDelayed;
  if (extra.rest != nullptr || record.expires != 0) {
    job.MakeRest().expiry.time = record.expires == 0 ? kNever : record.expires;
  }
  if (job.texts() == nullptr && origin.empty() && failure.cause_text.empty()) return;
  JobTexts& texts = job.MakeTexts();
  texts.cause_text = failure.cause_text;
  // Only for a job that comes whole: MoveTo has set the origin of one that changes its tube.
  if (texts.origin == origin) return;
  engine_.FreeKey(job);
  texts.origin = origin;
  extra.key_free = !origin.empty();
  engine_.TakeKey(job);
  if (origin.empty()) {
    engine_.ForgetHome(job);
  } else {
    engine_.FindHome(job, record.home);
  }
}

void Records::ApplySettings(const Record& record) {
  Tube& tube = engine_.TubeNamed(record.tube);
  tube.settings_ = record.settings;
  NoteBegin(record.settings.pause_until, record.settings.pause_s);
  if (tube.state_ != nullptr || !record.policy.empty()) {
    tube.MakeState().set.clear();
    for (const std::string_view text : record.policy) {
      const std::size_t at = std::min(text.find('='), text.size());
      tube.state_->set.emplace(text.substr(0, at), text.substr(std::min(at + 1, text.size())));
    }
    engine_.policies_.Resolve(tube);
  }
  MaxQueue& limits = tube.settings_.max_queue;
  if (limits == MaxQueue{}) limits = engine_.ConfiguredMaxQueue(tube);
  engine_.ArmTube(tube);
  // Its jobs may come later in the log than its settings: it stays until BecomeActive.
  if (tubes_.insert(tube.id()).second) ++tube.using_;
}

Records::BurialKey Records::BurialKeyOf(const Job& job) {
  return {job.tube_->id(), job.extra_->burial, job.id_};
}

void Records::InsertBuried(Job& job) {
  const auto at = burials_.emplace(BurialKeyOf(job), &job).first;
  const auto next = std::next(at);
  const bool last = next == burials_.end() || next->second->tube_ != job.tube_;
  job.tube_->buried_.Insert(&job, last ? nullptr : next->second);
}

void Records::RemoveBuried(const Job& job) { burials_.erase(BurialKeyOf(job)); }

void Records::BecomeActive(Time now) {
  replaying_ = false;
  burials_.clear();
  while (engine_.ReadGroups(now, Engine::kSlice) != kNever) continue;
  engine_.AwaitNames();
  if (now < newest_) ShortenTimes(now);
  const std::vector<std::uint64_t> kept(tubes_.begin(), tubes_.end());
  for (const std::uint64_t id : kept) {
    Tube& tube = *engine_.tubes_.FindById(id);
    --tube.using_;
    engine_.ReleaseTube(tube);
  }
}

void Records::NoteBegin(Time end, std::uint32_t seconds) {
  if (seconds > 0) newest_ = std::max(newest_, end - Time{seconds} * kSecond);
}

void Records::ShortenTimes(Time now) {
  std::vector<Job*> late;
  for (Job* job = engine_.jobs_.Next(0); job != nullptr; job = engine_.jobs_.Next(job->id_)) {
    if (job->state_ != JobState::kDelayed || IsForATime(*job)) continue;
    const Time due = job->tube_->delayed_.TimeAt(job->link_.held.slot);
    if (due > After(now, job->delay_s)) late.push_back(job);
  }
  for (Job* job : late) {
    const bool retrying = job->extra().retrying;
    engine_.LeaveState(*job);
    if (retrying) job->extra_->retrying = true;
    engine_.EnterDelayed(*job, After(now, job->delay_s));
  }
  for (const std::uint64_t id : tubes_) {
    Tube& tube = *engine_.tubes_.FindById(id);
    TubeSettings& settings = tube.settings_;
    settings.pause_until = std::min(settings.pause_until, After(now, settings.pause_s));
    engine_.ArmTube(tube);
  }
}

}  // namespace gearstalk
