// Transfers over restarts: held jobs and marks as records.

#include <utility>

#include "broker/engine/live_records.h"
#include "broker/engine/store.h"
#include "broker/engine/transfers.h"

namespace gearstalk {

using transfer::Mark;

// --- Replay and compaction

void Transfers::ApplyMark(const Record::Transfer& of) {
  Mark mark;
  if (of.mark.empty() || !Mark::Decode(of.mark, mark)) return;
  if (mark.whole) {
    marks_.insert_or_assign(std::string(of.name), std::move(mark));
  } else {
    Mark& known = marks_[std::string(of.name)];
    known.Advance(std::move(mark));
    known.whole = true;
  }
}

bool Transfers::Apply(const Record& record) {
  switch (record.kind) {
    case Record::Kind::kMark:
      if (record.transfer.settled) {
        marks_.erase(std::string(record.transfer.name));
      } else {
        ApplyMark(record.transfer);
      }
      return true;
    case Record::Kind::kPut:
      return ApplyPut(record);
    case Record::Kind::kChange:
      return ApplyChange(record);
    case Record::Kind::kDelete:
      return Lose(held_.find(record.id));
    default:
      return false;
  }
}

bool Transfers::ApplyPut(const Record& record) {
  ApplyMark(record.transfer);
  if (record.transfer.held == Record::Held::kNot) {
    if (!held_.empty()) Lose(held_.find(record.id));  // carried forward: the newer one counts
    return false;
  }
  if (Job* const job = store_.jobs.Find(record.id)) store_.Erase(*job);
  store_.ids.NoteTaken(record.id);
  Keep(record.id, record, record.transfer.name);
  return true;
}

bool Transfers::ApplyChange(const Record& record) {
  const Record::Held phase = record.transfer.held;
  const auto held = held_.find(record.id);
  if (phase == Record::Held::kNot) {
    if (held == held_.end()) return false;
    const OwnedRecord owned = std::move(held->second.record);
    Lose(held);
    Record job = owned.View();  // committed
    job.kind = Record::Kind::kPut;
    job.transfer = {};
    job.state = record.state;
    job.due = record.due;
    job.burial = record.burial;
    records_.ApplyPut(job);
    return true;
  }
  if (held != held_.end()) {
    held->second.record.SetPhase(phase);
  } else if (Job* const job = store_.jobs.Find(record.id)) {
    TakeOut(*job, record.transfer.name, phase);
  }
  return true;
}

// Moves the job from its queue to the held jobs.
void Transfers::TakeOut(Job& job, std::string_view name, Record::Held phase) {
  Record record;
  store_.records.Fill(job, record);
  record.transfer.name = name;
  record.transfer.held = phase;
  Keep(job.id(), record, name);
  store_.Erase(job);
}

std::vector<JobId> Transfers::MissingBodies() const {
  std::vector<JobId> missing;
  for (const auto& [id, held] : held_) {
    if (held.record.View().body_left_out > 0) missing.push_back(id);
  }
  return missing;
}

void Transfers::OnBody(JobId id, std::string_view body) {
  const auto held = held_.find(id);
  if (held == held_.end() || held->second.record.View().body_left_out == 0) return;
  held->second.record.SetBody(body);
  held->second.memory += body.size();
  CountJobMemory(static_cast<std::ptrdiff_t>(body.size()));
}

bool Transfers::Capture(JobId id, const std::function<void(const Record&)>& emit) const {
  const auto held = held_.find(id);
  if (held == held_.end()) return false;
  Record record = held->second.record.View();
  record.kind = Record::Kind::kPut;
  emit(record);
  return true;
}

void Transfers::CaptureMarks(const std::function<void(const Record&)>& emit) const {
  for (const auto& [name, mark] : marks_) {
    const std::string text = mark.Encode();
    emit({.kind = Record::Kind::kMark, .transfer = {.name = name, .mark = text}});
  }
}

}  // namespace gearstalk
