#include "tests/support/kept_journal.h"

namespace gearstalk {

Status KeptJournal::Start(LiveState& state, JournalEvents& events) {
  for (const OwnedRecord& record : records_) {
    if (Status status = state.Apply(record.View()); !status.ok()) return status;
  }
  events.OnActive();
  events.OnServing();
  return {};
}

Lsn KeptJournal::Append(const Record& record) {
  // As on a real disk: what is full has kept space for deletions, and for the ids that are taken.
  const bool has_kept_space =
      record.kind == Record::Kind::kNextId && Accepts(Record::Kind::kDelete);
  if (Accepts(record.kind) || has_kept_space) {
    records_.emplace_back(record);
  } else {
    ++dropped_;
  }
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
