#include "broker/engine/records.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "broker/engine/store.h"

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
  return {.kind = Record::Kind::kTube,
          .tube = tube.name(),
          .settings = settings,
          .policy = set.views()};
}

}  // namespace

Lsn Records::Append(const Job& job, Record::Kind kind, Beside beside) {
  Record record{.kind = kind, .id = job.id()};
  if (kind != Record::Kind::kDelete) Fill(job, record);
  if (beside.moved) {
    record.tube = job.tube().name();
    FillGroups(job, record);
  }
  if (beside.schedule != nullptr) record.schedule = *beside.schedule;
  const Lsn lsn = store_.journal.Append(record);
  if (kind == Record::Kind::kPut) {
    NoteUnsynced(job.id(), lsn);
    store_.bodies.OnPut(job, lsn);
  }
  return lsn;
}

Lsn Records::AppendSettings(const Tube& tube) {
  if (!store_.persistent) return 0;
  const SetTexts set(tube.policy_state().set);
  const Record record = SettingsOf(tube, store_.OwnSettings(tube), set);
  tubes_.insert(tube.id());
  settings_lsn_ = store_.journal.Append(record);
  return settings_lsn_;
}

void Records::NoteUnsynced(JobId id, Lsn lsn) {
  const Lsn durable = store_.journal.Durable();
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
    Job* const job = put.lsn > durable ? store_.jobs.Find(put.job) : nullptr;
    if (job != nullptr) visit(*job);
  }
}

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
  record.group = RecordOf(job.place.group());
  if (job.texts() != nullptr) record.home = RecordOf(job.texts()->home);
}

void Records::Fill(const Job& job, Record& record) const {
  record.id = job.id();
  record.priority = job.priority;
  record.delay_s = job.delay_s;
  const JobExtra& extra = job.extra();
  record.counters = {job.reserves, extra.timeouts, extra.releases,
                     extra.buries, extra.kicks,    job.rest().lost_tries};
  if (job.state() == JobState::kDelayed) {
    record.state = Record::State::kDelayed;
    record.due = job.tube().DueOf(job);
    if (IsForATime(job)) record.due = Later(record.due, store_.wall_ahead);
  } else if (job.state() == JobState::kBuried) {
    record.state = Record::State::kBuried;
    record.burial = extra.burial;
  }
  if (Failed(job)) record.failure.ended = extra.ended;
  FillFailure(job, record);
  record.expires = job.rest().expiry.time == kNever ? 0 : job.rest().expiry.time;
  if (record.kind != Record::Kind::kPut) return;
  record.tube = job.tube().name();
  record.ttr_s = job.ttr_s;
  record.created = job.created;
  record.keep_on_failure = job.keep_on_failure;
  record.unique_is_body = job.unique_is_body;
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

void Records::Forget(const Tube& tube) { tubes_.erase(tube.id()); }

void Records::CaptureTubes(const std::function<void(const Record&)>& emit) {
  std::erase_if(tubes_, [&](std::uint64_t id) {
    const Tube& tube = *store_.tubes.FindById(id);
    const SetTexts set(tube.policy_state().set);
    const Record record = SettingsOf(tube, store_.OwnSettings(tube), set);
    if (record.settings == TubeSettings{} && record.policy.empty()) return true;
    emit(record);
    return false;
  });
}

// --- Burials in a replay

Records::BurialKey Records::BurialKeyOf(const Job& job) {
  return {job.tube().id(), job.extra().burial, job.id()};
}

Job* Records::InsertBuried(Job& job) {
  const auto at = burials_.emplace(BurialKeyOf(job), &job).first;
  const auto next = std::next(at);
  const bool last = next == burials_.end() || &next->second->tube() != &job.tube();
  return last ? nullptr : next->second;
}

void Records::EndReplay() {
  replaying_ = false;
  burials_.clear();
}

}  // namespace gearstalk
