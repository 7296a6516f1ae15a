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
  const Lsn lsn = journal_.Append(NextIdRecord(id + kBlock));
  // A full disk has kept space for it, as for deletions. One that fails will never have it: nobody
  // waits, and the rest of the block is not known as taken.
  const bool kept = journal_.Accepts(Record::Kind::kDelete);
  recorded_ = kept ? id + kBlock : next_;
  if (kept) lsn_ = lsn;
  return id;
}

void JobIds::TakeRecorded(JobId next) {
  next_ = std::max(next_, next);
  recorded_ = std::max(recorded_, next);
}

Record JobIds::Capture() {
  recorded_ = std::max(recorded_, next_);
  return NextIdRecord(recorded_);
}

void JobIds::DropUndurable(Lsn durable) {
  if (lsn_ > durable) recorded_ = next_;  // the rest of that block is not known as taken
  lsn_ = std::min(lsn_, durable);
}

}  // namespace gearstalk
