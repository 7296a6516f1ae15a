#include "tests/support/kept_journal.h"

namespace gearstalk {

KeptRecord::KeptRecord(const Record& record)
    : record_(record),
      tube_(record.tube),
      unique_(record.unique),
      reducer_(record.reducer),
      body_(record.body),
      cause_text_(record.failure.cause_text),
      origin_(record.failure.origin),
      put_key_(record.put_key),
      schedule_(record.schedule.name),
      transfer_(record.transfer.name),
      mark_(record.transfer.mark),
      group_(record.group.name),
      group_source_(record.group.source),
      home_(record.home.name),
      home_source_(record.home.source),
      policy_(record.policy.begin(), record.policy.end()) {}

Record KeptRecord::View() const {
  Record record = record_;
  record.tube = tube_;
  record.unique = unique_;
  record.reducer = reducer_;
  record.body = body_;
  record.failure.cause_text = cause_text_;
  record.failure.origin = origin_;
  record.put_key = put_key_;
  record.schedule.name = schedule_;
  policy_views_.assign(policy_.begin(), policy_.end());
  record.policy = policy_views_;
  record.transfer.name = transfer_;
  record.transfer.mark = mark_;
  record.group = {group_, group_source_};
  record.home = {home_, home_source_};
  return record;
}

Status KeptJournal::Start(LiveState& state, JournalEvents& events) {
  for (const KeptRecord& record : records_) {
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
