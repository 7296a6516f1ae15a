#include "broker/journal/wal/wal_check.h"

#include <set>

#include "broker/journal/live_jobs.h"
#include "broker/journal/wal/wal_scan.h"

namespace gearstalk {

Status CheckJournal(FileSystem& file_system, const std::string& directory, std::string& report) {
  const auto lock = GS_TRY(LockForReading(file_system, directory));
  Census census;
  WalScan scan(file_system, directory);
  std::set<std::string> tubes;
  GS_TRY(scan.Run([&](const Record& record, std::uint64_t segment) {
    census.Count(record, segment);
    if (record.kind == Record::Kind::kTube) tubes.emplace(record.tube);
  }));
  for (const WalScanSegment& segment : scan.segments()) {
    report += segment.path + ": " + std::to_string(segment.size) + " bytes, " +
              std::to_string(segment.records) + " records, " +
              std::to_string(census.JobsIn(segment.number)) + " live jobs\n";
  }
  for (const WalGap& gap : scan.gaps()) {
    report += (gap.torn ? "cut off: " : "damaged: ") + gap.ToString() + "\n";
  }
  report += std::to_string(census.records()) + " records, " + std::to_string(census.jobs()) +
            " live jobs, settings of " + std::to_string(tubes.size()) + " tubes, next id " +
            std::to_string(census.next_id()) + "\n";
  if (scan.ended()) report += "the log ended in order\n";
  if (!scan.damaged()) return {};
  return {Code::kCorrupt, directory + ": the journal is damaged; --journal-salvage " + directory +
                              " starts a new one from what can be read"};
}

}  // namespace gearstalk
