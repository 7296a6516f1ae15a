#include "tests/journal/model.h"

#include <algorithm>
#include <utility>

namespace gearstalk {
namespace {

void TakeCounters(const Record& record, Model::Job& job) {
  const Record::Counters& c = record.counters;
  job.counters = {c.reserves, c.timeouts, c.releases, c.buries, c.kicks, c.lost_tries};
}

void TakeState(const Record& record, Model::Job& job) {
  job.state = record.state;
  job.priority = record.priority;
  job.delay_s = record.delay_s;
  job.due = record.due;
  job.burial = record.burial;
  TakeCounters(record, job);
}

}  // namespace

Record Model::RecordOf(std::uint64_t id, const Job& job, Record::Kind kind) {
  Record record;
  record.kind = kind;
  record.id = id;
  record.state = job.state;
  record.priority = job.priority;
  record.delay_s = job.delay_s;
  record.due = job.due;
  record.burial = job.burial;
  const auto& c = job.counters;
  record.counters = {c[0], c[1], c[2], c[3], c[4], c[5]};
  if (kind != Record::Kind::kPut) return record;
  record.keep_on_failure = job.keep_on_failure;
  record.unique_is_body = job.unique_is_body;
  record.ttr_s = job.ttr_s;
  record.created = job.created;
  record.tube = job.tube;
  record.unique = job.unique;
  record.reducer = job.reducer;
  record.body = job.body;
  return record;
}

Record Model::RecordOf(const std::string& name, const Tube& tube) {
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = name;
  record.settings = tube;
  return record;
}

Lsn Model::Put(Journal& journal, std::string_view tube, std::string body) {
  Job job;
  job.tube = tube;
  job.body = std::move(body);
  job.priority = 1024;
  job.created = 1'700'000'000 * kSecond;
  return Put(journal, std::move(job));
}

Lsn Model::Put(Journal& journal, Job job) {
  const std::uint64_t id = state_.next_id++;
  const Job& kept = state_.jobs.emplace(id, std::move(job)).first->second;
  return journal.Append(RecordOf(id, kept, Record::Kind::kPut));
}

Lsn Model::Release(Journal& journal, std::uint64_t id, std::uint32_t delay_s, Time due) {
  Job& job = state_.jobs.at(id);
  job.state = Record::State::kDelayed;
  job.delay_s = delay_s;
  job.due = due;
  ++job.counters[2];
  return journal.Append(RecordOf(id, job, Record::Kind::kChange));
}

Lsn Model::Bury(Journal& journal, std::uint64_t id, std::uint64_t burial) {
  Job& job = state_.jobs.at(id);
  job.state = Record::State::kBuried;
  job.due = 0;
  job.burial = burial;
  ++job.counters[3];
  return journal.Append(RecordOf(id, job, Record::Kind::kChange));
}

Lsn Model::Delete(Journal& journal, std::uint64_t id) {
  state_.jobs.erase(id);
  Record record;
  record.kind = Record::Kind::kDelete;
  record.id = id;
  return journal.Append(record);
}

Lsn Model::Set(Journal& journal, const std::string& tube, const Tube& settings) {
  if (settings == Tube{}) {
    state_.tubes.erase(tube);
  } else {
    state_.tubes[tube] = settings;
  }
  return journal.Append(RecordOf(tube, settings));
}

Lsn Model::TakeId(Journal& journal) {
  Record record;
  record.kind = Record::Kind::kNextId;
  record.id = ++state_.next_id;
  return journal.Append(record);
}

Status Model::Apply(const Record& record) {
  switch (record.kind) {
    case Record::Kind::kPut: {
      Job& job = state_.jobs[record.id] = {};
      job.keep_on_failure = record.keep_on_failure;
      job.unique_is_body = record.unique_is_body;
      job.ttr_s = record.ttr_s;
      job.created = record.created;
      job.tube = record.tube;
      job.unique = record.unique;
      job.reducer = record.reducer;
      job.body = record.body;
      TakeState(record, job);
      state_.next_id = std::max(state_.next_id, record.id + 1);
      break;
    }
    case Record::Kind::kChange:
      if (const auto job = state_.jobs.find(record.id); job != state_.jobs.end()) {
        TakeState(record, job->second);
      }
      break;
    case Record::Kind::kDelete:
      state_.jobs.erase(record.id);
      break;
    case Record::Kind::kTube: {
      state_.tubes.erase(std::string(record.tube));
      if (record.settings != Tube{}) state_.tubes[std::string(record.tube)] = record.settings;
      break;
    }
    case Record::Kind::kCount:
      if (const auto job = state_.jobs.find(record.id); job != state_.jobs.end()) {
        TakeCounters(record, job->second);
      }
      break;
    case Record::Kind::kSchedule:
    case Record::Kind::kSeen:
    case Record::Kind::kMark:
      break;
    case Record::Kind::kNextId:
    case Record::Kind::kEnd:
      state_.next_id = std::max(state_.next_id, record.id);
      break;
  }
  return {};
}

bool Model::Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) {
  const auto job = state_.jobs.find(id);
  if (job == state_.jobs.end()) return false;
  emit(RecordOf(id, job->second, Record::Kind::kPut));
  return true;
}

void Model::CaptureSettings(const std::function<void(const Record&)>& emit) {
  Record next;
  next.kind = Record::Kind::kNextId;
  next.id = state_.next_id;
  emit(next);
  for (const auto& [name, tube] : state_.tubes) emit(RecordOf(name, tube));
}

}  // namespace gearstalk
