#include "broker/engine/live_records.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/check.h"
#include "broker/base/threads.h"
#include "broker/engine/bad_ends.h"
#include "broker/engine/operating.h"
#include "broker/engine/schedules.h"
#include "broker/engine/store.h"
#include "broker/engine/transfers.h"

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

// --- The replay ----------------------------------------------------------------------------------

Status LiveRecords::Apply(const Record& record) {
  GS_DCHECK(OnLoop());
  store_.records.BeginReplay();
  if (transfers_.Apply(record)) return {};
  switch (record.kind) {
    case Record::Kind::kPut:
      ApplyPut(record);
      return {};
    case Record::Kind::kTube:
      ApplySettings(record);
      return {};
    case Record::Kind::kNextId:
    case Record::Kind::kEnd:
      store_.ids.TakeRecorded(record.id);
      return {};
    case Record::Kind::kSeen:
      ApplySeen(record);
      return {};
    case Record::Kind::kSchedule:
      schedules_.Apply(record);
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
void LiveRecords::ApplyOfJob(const Record& record) {
  Job* const job = store_.jobs.Find(record.id);
  if (job == nullptr) {
    if (record.kind == Record::Kind::kDelete) store_.seen.Remove(record.id);
    return;
  }
  if (record.kind == Record::Kind::kDelete) {
    store_.Erase(*job);
  } else if (record.kind == Record::Kind::kCount) {
    ApplyCounters(*job, record.counters);
  } else {
    ApplyState(*job, record);
  }
}

static_assert(kLeastLeftOut >= Job::kBlockFrom, "what a replay leaves out can have no block");

void LiveRecords::ApplyPut(const Record& record) {
  // A put that was carried forward replaces the older one.
  if (Job* const known = store_.jobs.Find(record.id)) store_.Erase(*known);
  const bool keep = store_.options.keep_bodies || record.unique_is_body;
  const std::string_view body = keep ? record.body : std::string_view();
  const bool lost = LostItsBody(record) && store_.journal.KeepsBodies();
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
  job->ttr_s = record.ttr_s;
  job->created = record.created;
  job->durable = true;
  job->keep_on_failure = record.keep_on_failure;
  job->unique_is_body = record.unique_is_body;
  if (!record.reducer.empty()) job->MakeRest().reducer = record.reducer;
  store_.ids.NoteTaken(record.id);
  Job& inserted = *job;
  store_.Insert(record.id, std::move(job), store_.TubeNamed(record.tube));
  JoinRecorded(inserted, record);
  ApplyState(inserted, record);
  if (store_.records.replaying()) store_.bodies.OnReplayed(inserted);
  if (!record.schedule.name.empty()) schedules_.Apply(record);
}

// The name in the record is good if it was found where the tube would look for it.
void LiveRecords::JoinRecorded(Job& job, const Record& record) {
  const Groups* const groups = job.tube().groups();
  if (groups == nullptr || record.group.source != groups->source_text()) return;
  Grouping::Join(job, job.tube().groups()->Named(record.group.name));
}

// The job is finished, and its key stays taken.
void LiveRecords::ApplySeen(const Record& record) {
  if (Job* const job = store_.jobs.Find(record.id)) store_.Erase(*job);
  store_.ids.NoteTaken(record.id);
  store_.seen.Add({.id = record.id,
                   .tube = std::string(record.tube),
                   .key = std::string(record.put_key),
                   .until = record.seen_until});
}

void LiveRecords::ApplyCounters(Job& job, const Record::Counters& counters) {
  job.reserves = counters.reserves;
  const bool others = (counters.timeouts | counters.releases | counters.buries | counters.kicks |
                       counters.lost_tries) != 0;
  if (!job.has_extra() && !others) return;
  JobExtra& extra = job.MakeExtra();
  extra.timeouts = counters.timeouts;
  extra.releases = counters.releases;
  extra.buries = counters.buries;
  extra.kicks = counters.kicks;
  if (extra.rest != nullptr || counters.lost_tries > 0) {
    job.MakeRest().lost_tries = counters.lost_tries;
  }
}

void LiveRecords::ApplyState(Job& job, const Record& record) {
  store_.LeaveState(job);
  if (!record.tube.empty() && record.tube != job.tube().name()) {
    Tube& before = job.tube();
    Tube& tube = store_.TubeNamed(record.tube);
    store_.MoveTo(job, tube, OriginIn(tube, record));
    JoinRecorded(job, record);
    store_.ReleaseTube(before);
  }
  job.priority = record.priority;
  job.delay_s = record.delay_s;
  ApplyCounters(job, record.counters);
  ApplyFate(job, record);
  switch (record.state) {
    case Record::State::kReady:
      store_.EnterReady(job);
      break;
    case Record::State::kDelayed:
      NoteBegin(record.due, record.delay_s);
      store_.EnterDelayed(job,
                          IsForATime(job) ? Later(record.due, -store_.wall_ahead) : record.due);
      break;
    case Record::State::kBuried:
      store_.EnterBuried(job, record.burial);
      break;
  }
}

// What policies keep with the job.
void LiveRecords::ApplyFate(Job& job, const Record& record) {
  const Record::Failure& failure = record.failure;
  const std::string_view origin = OriginIn(job.tube(), record);
  const bool plain = failure.attempts == 0 && failure.cause == Cause::kNone && !failure.waits &&
                     origin.empty() && failure.ended == 0 && record.expires == 0;
  if (plain && !job.has_extra()) return;
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
  store_.FreeKey(job);
  texts.origin = origin;
  extra.key_free = !origin.empty();
  store_.TakeKey(job);
  if (origin.empty()) {
    store_.grouping.ForgetHome(job);
  } else {
    store_.grouping.FindHome(job, record.home);
  }
}

void LiveRecords::ApplySettings(const Record& record) {
  Tube& tube = store_.TubeNamed(record.tube);
  tube.settings = record.settings;
  NoteBegin(record.settings.pause_until, record.settings.pause_s);
  if (tube.OwnState() != nullptr || !record.policy.empty()) {
    PolicyValues& set = tube.MakeState().set;
    set.clear();
    for (const std::string_view text : record.policy) {
      const std::size_t at = std::min(text.find('='), text.size());
      set.emplace(text.substr(0, at), text.substr(std::min(at + 1, text.size())));
    }
    store_.policies.Resolve(tube);
  }
  MaxQueue& limits = tube.settings.max_queue;
  if (limits == MaxQueue{}) limits = store_.ConfiguredMaxQueue(tube);
  store_.ArmTube(tube);
  // Its jobs may come later in the log than its settings: it stays until BecomeActive.
  if (store_.records.tubes().insert(tube.id()).second) ++tube.using_count;
}

void LiveRecords::BecomeActive(Time now) {
  store_.records.EndReplay();
  while (store_.grouping.Read(now, JobStore::kSlice) != kNever) continue;
  store_.grouping.AwaitNames();
  if (now < newest_) ShortenTimes(now);
  const std::set<std::uint64_t> kept = store_.records.tubes();
  for (const std::uint64_t id : kept) {
    Tube& tube = *store_.tubes.FindById(id);
    --tube.using_count;
    store_.ReleaseTube(tube);
  }
}

void LiveRecords::NoteBegin(Time end, std::uint32_t seconds) {
  if (seconds > 0) newest_ = std::max(newest_, end - Time{seconds} * kSecond);
}

void LiveRecords::ShortenTimes(Time now) {
  std::vector<Job*> late;
  for (Job* job = store_.jobs.Next(0); job != nullptr; job = store_.jobs.Next(job->id())) {
    if (job->state() != JobState::kDelayed || IsForATime(*job)) continue;
    const Time due = job->tube().DueOf(*job);
    if (due > After(now, job->delay_s)) late.push_back(job);
  }
  for (Job* job : late) {
    const bool retrying = job->extra().retrying;
    store_.LeaveState(*job);
    if (retrying) job->MakeExtra().retrying = true;
    store_.EnterDelayed(*job, After(now, job->delay_s));
  }
  for (const std::uint64_t id : store_.records.tubes()) {
    Tube& tube = *store_.tubes.FindById(id);
    TubeSettings& settings = tube.settings;
    settings.pause_until = std::min(settings.pause_until, After(now, settings.pause_s));
    store_.ArmTube(tube);
  }
}

// --- For compaction ------------------------------------------------------------------------------

std::uint32_t LiveRecords::BodyLeftOut(JobId id) const {
  const Job* const job = store_.jobs.Find(id);
  return job == nullptr || job->has_body() ? 0 : job->body_size();
}

bool LiveRecords::RestsDamaged(JobId id) const {
  const Job* const job = store_.jobs.Find(id);
  return job != nullptr && job->state() == JobState::kBuried && IsDamaged(*job);
}

bool LiveRecords::TakesBodiesLater() const { return store_.bodies.counts().limit > 0; }

std::vector<JobId> LiveRecords::MissingBodies() const { return transfers_.MissingBodies(); }

void LiveRecords::OnBody(JobId id, const BodyRead& read) {
  GS_DCHECK(OnLoop());
  if (read.result == BodyRead::Result::kWhole) transfers_.OnBody(id, read.body);
  const Time now = store_.ticked;
  const auto found = store_.bodies.OnRead(now, id, read);
  if (!found) return;
  found->damaged ? bad_ends_.BuryDamaged(now, id, found->taken) : operating_.KickWhole(now, id);
}

bool LiveRecords::Capture(JobId id, const std::function<void(const Record&)>& emit) {
  GS_DCHECK(OnLoop());
  const Job* job = store_.jobs.Find(id);
  const SeenKeys::Seen* const seen = job == nullptr ? store_.seen.FindById(id) : nullptr;
  if (seen != nullptr && seen->stored) {
    emit(SeenKeys::RecordOf(*seen));
    return true;
  }
  if (job == nullptr) return transfers_.Capture(id, emit);
  if (!job->durable) return false;
  GS_CHECK(store_.options.keep_bodies);
  Record record;
  store_.records.Fill(*job, record);
  emit(record);
  return true;
}

void LiveRecords::CaptureSettings(const std::function<void(const Record&)>& emit) {
  GS_DCHECK(OnLoop());
  emit(store_.ids.Capture());
  schedules_.Capture(emit);
  transfers_.CaptureMarks(emit);
  store_.records.CaptureTubes(emit);
}

}  // namespace gearstalk
