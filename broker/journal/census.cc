#include "broker/journal/census.h"

#include <algorithm>

#include "broker/journal/journal.h"

namespace gearstalk {

void Census::Count(const Record& record, std::uint64_t segment, std::size_t bytes) {
  ++records_;
  next_id_ = std::max(next_id_, NextIdAfter(record));
  const Keeps keeps = KeptAfter(record.kind);
  if (keeps == Keeps::kSame) return;
  const LiveJobs::Place job = jobs_.Erase(record.id);
  if (job.segment != 0) --jobs_in_[job.segment];
  bytes_ -= job.bytes + keys_.Erase(record.id).bytes;
  if (keeps == Keeps::kNothing) return;
  (keeps == Keeps::kJob ? jobs_ : keys_).Set(record.id, {segment, bytes});
  bytes_ += bytes;
  if (keeps == Keeps::kJob) ++jobs_in_[segment];
}

std::uint64_t Census::JobsIn(std::uint64_t segment) const {
  const auto found = jobs_in_.find(segment);
  return found == jobs_in_.end() ? 0 : found->second;
}

bool Census::Needs(const Record& record) const {
  switch (KeptAfter(record.kind)) {
    case Keeps::kJob:
      return jobs_.Find(record.id).segment != 0;
    case Keeps::kKey:
      return keys_.Find(record.id).segment != 0;
    case Keeps::kNothing:
      return false;
    case Keeps::kSame:
      break;
  }
  const bool changes = record.kind == Record::Kind::kChange || record.kind == Record::Kind::kCount;
  if (changes) return jobs_.Find(record.id).segment != 0;
  return record.kind != Record::Kind::kEnd;
}

}  // namespace gearstalk
