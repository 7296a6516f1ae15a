#include "broker/engine/job_ids.h"

namespace gearstalk {
namespace {

constexpr JobId kBlock = 1024;

}  // namespace

// The first of a new block.
JobId JobIds::TakeOfBlock() {
  if (journal_.SpareIds() != 0 && !journal_.Accepts(Record::Kind::kNextId)) {
    return journal_.SpareIds() + spare_given_++;
  }
  const JobId id = next_++;
  recorded_ = id + kBlock;
  const Lsn lsn = journal_.Append(RecordOf(recorded_));
  // A foreground job does not wait for the record while the disk fails.
  if (journal_.Accepts(Record::Kind::kNextId)) lsn_ = lsn;
  return id;
}

void JobIds::TakeRecorded(JobId next) {
  next_ = std::max(next_, next);
  recorded_ = std::max(recorded_, next);
}

Record JobIds::RecordOf(JobId next) {
  Record record;
  record.kind = Record::Kind::kNextId;
  record.id = next;
  return record;
}

Record JobIds::Capture() {
  recorded_ = std::max(recorded_, next_);
  return RecordOf(recorded_);
}

void JobIds::DropUndurable(Lsn durable) {
  if (lsn_ > durable) recorded_ = next_;  // the rest of that block is not known as taken
  lsn_ = std::min(lsn_, durable);
}

}  // namespace gearstalk
