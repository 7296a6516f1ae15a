#include "broker/journal/wal/wal_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "broker/journal/journal.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/wal/wal_scan.h"

namespace gearstalk {
namespace {

// Counts what is live at the end of the log.
class Census {
 public:
  void Count(const Record& record, std::uint64_t segment) {
    ++records_;
    next_id_ = std::max(next_id_, NextIdAfter(record));
    if (record.kind == Record::Kind::kTube) tubes_.emplace(record.tube);
    const Keeps keeps = KeptAfter(record.kind);
    if (keeps == Keeps::kSame) return;
    Leave(jobs_.Erase(record.id));
    if (keeps != Keeps::kJob) return;
    jobs_.Set(record.id, {segment, 1});
    ++live_in_[segment];
  }

  std::uint64_t LiveIn(std::uint64_t segment) const {
    const auto found = live_in_.find(segment);
    return found == live_in_.end() ? 0 : found->second;
  }

  std::string Summary() const {
    return std::to_string(records_) + " records, " + std::to_string(jobs_.size()) +
           " live jobs, settings of " + std::to_string(tubes_.size()) + " tubes, next id " +
           std::to_string(next_id_) + "\n";
  }

 private:
  void Leave(const LiveJobs::Place& place) {
    if (place.segment != 0) --live_in_[place.segment];
  }

  LiveJobs jobs_;
  std::map<std::uint64_t, std::uint64_t> live_in_;
  std::set<std::string> tubes_;
  std::uint64_t records_ = 0, next_id_ = 1;
};

}  // namespace

Status CheckJournal(FileSystem& file_system, const std::string& directory, std::string& report) {
  const auto lock = GS_TRY(LockForReading(file_system, directory));
  Census census;
  WalScan scan(file_system, directory);
  GS_TRY(scan.Run(
      [&census](const Record& record, std::uint64_t segment) { census.Count(record, segment); }));
  for (const WalScanSegment& segment : scan.segments()) {
    report += segment.path + ": " + std::to_string(segment.size) + " bytes, " +
              std::to_string(segment.records) + " records, " +
              std::to_string(census.LiveIn(segment.number)) + " live jobs\n";
  }
  for (const WalGap& gap : scan.gaps()) {
    report += (gap.torn ? "cut off: " : "damaged: ") + gap.ToString() + "\n";
  }
  report += census.Summary();
  if (scan.ended()) report += "the log ended in order\n";
  if (!scan.damaged()) return {};
  return {Code::kCorrupt, directory + ": the journal is damaged; --journal-salvage " + directory +
                              " starts a new one from what can be read"};
}

}  // namespace gearstalk
