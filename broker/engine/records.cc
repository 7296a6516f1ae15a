#include "broker/engine/records.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// The policy values that an administrator set for a tube, in the form of a record.
class SetTexts {
 public:
  explicit SetTexts(const PolicyValues& set) {
    texts_.reserve(set.size());
    for (const auto& [key, value] : set) {
      texts_.emplace_back(key).append("=").append(value);
    }
    views_.assign(texts_.begin(), texts_.end());
  }
  std::span<const std::string_view> views() const { return views_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

// `set` outlives it.
Record SettingsOf(const Tube& tube, const TubeSettings& settings, const SetTexts& set) {
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = tube.name();
  record.settings = settings;
  record.policy = set.views();
  return record;
}

}  // namespace

Lsn Records::Append(const Job& job, Record::Kind kind, Beside beside) {
  Record record;
  record.kind = kind;
  record.id = job.id_;
  if (kind != Record::Kind::kDelete) Fill(job, record);
  if (beside.moved) {
    record.tube = job.tube_->name();
    FillGroups(job, record);
  }
  if (beside.schedule != nullptr) record.schedule = *beside.schedule;
  const Lsn lsn = engine_.journal_.Append(record);
  if (kind == Record::Kind::kPut) {
    NoteUnsynced(job.id_, lsn);
    engine_.bodies_.OnPut(job, lsn);
  }
  return lsn;
}

Lsn Records::AppendSettings(const Tube& tube) {
  if (!engine_.persistent_) return 0;
  const SetTexts set(tube.policy_state().set);
  const Record record = SettingsOf(tube, engine_.OwnSettings(tube), set);
  tubes_.insert(tube.id());
  settings_lsn_ = engine_.journal_.Append(record);
  return settings_lsn_;
}

void Records::NoteUnsynced(JobId id, Lsn lsn) {
  const Lsn durable = engine_.journal_.Durable();
  while (!unsynced_puts_.empty() && unsynced_puts_.front().lsn <= durable) {
    unsynced_puts_.pop_front();
  }
  // Nearly always the last: only a foreground job that becomes durable is older.
  const auto at = std::lower_bound(unsynced_puts_.begin(), unsynced_puts_.end(), id);
  unsynced_puts_.insert(at, {id, lsn});
}

Lsn Records::FindUnsynced(JobId id) const {
  const auto at = std::lower_bound(unsynced_puts_.begin(), unsynced_puts_.end(), id);
  return at != unsynced_puts_.end() && at->job == id ? at->lsn : 0;
}

void Records::TakeUndurable(Lsn durable, const std::function<void(Job&)>& visit) {
  for (const UnsyncedPut& put : std::exchange(unsynced_puts_, {})) {
    Job* const job = put.lsn > durable ? engine_.jobs_.Find(put.job) : nullptr;
    if (job != nullptr) visit(*job);
  }
}

void Records::Forget(const Tube& tube) { tubes_.erase(tube.id()); }

void Records::FillFailure(const Job& job, Record& record) {
  const JobExtra& extra = job.extra();
  record.failure.attempts = extra.attempts;
  record.failure.waits = extra.retrying;
  record.failure.cause = extra.cause;
  if (job.texts() == nullptr) return;
  record.failure.cause_text = job.texts()->cause_text;
  record.failure.origin = job.texts()->origin;
}

Record::Group Records::RecordOf(const GroupHead* head) {
  if (head == nullptr) return {};
  const auto& group = static_cast<const Group&>(*head);
  if (group.unread()) return {};
  return {group.name(), static_cast<const Groups&>(group.groups).source_text()};
}

void Records::FillGroups(const Job& job, Record& record) {
  record.group = RecordOf(job.group_head());
  if (job.texts() != nullptr) record.home = RecordOf(job.texts()->home);
}

void Records::Fill(const Job& job, Record& record) const {
  record.id = job.id_;
  record.priority = job.priority;
  record.delay_s = job.delay_s;
  const JobExtra& extra = job.extra();
  record.counters = {job.reserves, extra.timeouts, extra.releases,
                     extra.buries, extra.kicks,    job.rest().lost_tries};
  if (job.state_ == JobState::kDelayed) {
    record.state = Record::State::kDelayed;
    record.due = job.tube_->delayed_.TimeAt(job.link_.held.slot);
    if (IsForATime(job)) record.due = Later(record.due, engine_.wall_ahead_);
  } else if (job.state_ == JobState::kBuried) {
    record.state = Record::State::kBuried;
    record.burial = extra.burial;
  }
  if (Failed(job)) record.failure.ended = extra.ended;
  FillFailure(job, record);
  record.expires = job.rest().expiry.time == kNever ? 0 : job.rest().expiry.time;
  if (record.kind != Record::Kind::kPut) return;
  record.tube = job.tube_->name();
  record.ttr_s = job.ttr_s;
  record.created = job.created;
  record.keep_on_failure = job.keep_on_failure_;
  record.unique_is_body = job.unique_is_body_;
  record.unique = job.unique();
  record.reducer = job.rest().reducer;
  if (job.has_body()) {
    record.body = job.body();
  } else {
    record.body_left_out = job.body_size();
    record.put_key = job.body_hash();
  }
  FillGroups(job, record);
}

std::uint32_t Records::BodyLeftOut(JobId id) const {
  const Job* const job = engine_.jobs_.Find(id);
  return job == nullptr || job->has_body() ? 0 : job->body_size();
}

bool Records::RestsDamaged(JobId id) const {
  const Job* const job = engine_.jobs_.Find(id);
  return job != nullptr && job->state_ == JobState::kBuried && IsDamaged(*job);
}

bool Records::TakesBodiesLater() const { return engine_.bodies_.counts().limit > 0; }

std::vector<JobId> Records::MissingBodies() const { return engine_.transfers_.MissingBodies(); }

void Records::OnBody(JobId id, const BodyRead& read) {
  if (read.result == BodyRead::Result::kWhole) engine_.transfers_.OnBody(id, read.body);
  const Time now = engine_.ticked_;
  const auto found = engine_.bodies_.OnRead(now, id, read);
  if (!found) return;
  found->damaged ? engine_.bad_ends_.BuryDamaged(now, id, found->taken)
                 : engine_.KickWhole(now, id);
}

bool Records::Capture(JobId id, const std::function<void(const Record&)>& emit) {
  const Job* job = engine_.jobs_.Find(id);
  Record record;
  const SeenKeys::Seen* const seen = job == nullptr ? engine_.seen_.FindById(id) : nullptr;
  if (seen != nullptr && seen->stored) {
    SeenKeys::Fill(*seen, record);
    emit(record);
    return true;
  }
  if (job == nullptr) return engine_.transfers_.Capture(id, emit);
  if (!job->durable_) return false;
  GS_CHECK(engine_.options_.keep_bodies);
  Fill(*job, record);
  emit(record);
  return true;
}

void Records::CaptureSettings(const std::function<void(const Record&)>& emit) {
  emit(engine_.ids_.Capture());
  engine_.schedules_.Capture(emit);
  engine_.transfers_.CaptureMarks(emit);
  std::erase_if(tubes_, [&](std::uint64_t id) {
    const Tube& tube = *engine_.tubes_.FindById(id);
    const SetTexts set(tube.policy_state().set);
    const Record record = SettingsOf(tube, engine_.OwnSettings(tube), set);
    if (record.settings == TubeSettings{} && record.policy.empty()) return true;
    emit(record);
    return false;
  });
}

}  // namespace gearstalk
