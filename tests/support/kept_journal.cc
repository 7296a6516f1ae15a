#include "tests/support/kept_journal.h"

namespace gearstalk {

KeptRecord::KeptRecord(const Record& record)
    : record_(record),
      tube_(record.tube),
      unique_(record.unique),
      reducer_(record.reducer),
      body_(record.body) {}

Record KeptRecord::View() const {
  Record record = record_;
  record.tube = tube_;
  record.unique = unique_;
  record.reducer = reducer_;
  record.body = body_;
  return record;
}

Status KeptJournal::Replay(LiveState& state) {
  for (const KeptRecord& record : records_) {
    if (Status status = state.Apply(record.View()); !status.ok()) return status;
  }
  return {};
}

Lsn KeptJournal::Append(const Record& record) {
  if (Accepts(record.kind)) records_.emplace_back(record);
  return last();
}

Status KeptJournal::Health() const {
  return refused_.empty() ? Status{} : Status{Code::kIo, "the disk is full"};
}

void KeptJournal::Flush(Time /*now*/) {
  if (holds_back_ && durable_ < last()) MakeDurable(last());
}

void KeptJournal::SetOnDurable(std::function<void(Lsn)> on_durable) {
  on_durable_ = std::move(on_durable);
}

JournalStats KeptJournal::Stats() const {
  JournalStats stats;
  stats.appends = last();
  return stats;
}

void KeptJournal::MakeDurable(Lsn lsn) {
  durable_ = lsn;
  if (on_durable_) on_durable_(lsn);
}

void KeptJournal::RefuseAll() {
  for (const auto kind : {Record::Kind::kPut, Record::Kind::kChange, Record::Kind::kDelete,
                          Record::Kind::kTube, Record::Kind::kNextId}) {
    Refuse(kind);
  }
}

}  // namespace gearstalk
