#include "broker/journal/wal/wal_check.h"

#include <set>
#include <string>

#include "broker/journal/live_jobs.h"
#include "broker/journal/wal/wal_scan.h"

namespace gearstalk {
namespace {

std::string Count(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what;
}

}  // namespace

Status CheckJournal(FileSystem& file_system, const std::string& directory, std::string& report) {
  const auto lock = GS_TRY(LockForReading(file_system, directory));
  Census census;
  WalScan scan(file_system, directory);
  std::set<std::string> tubes;
  GS_TRY(scan.Run([&](const Record& record, std::uint64_t segment) {
    census.Count(record, segment, 1);
    if (record.kind == Record::Kind::kTube) tubes.emplace(record.tube);
  }));
  for (const WalScanSegment& segment : scan.segments()) {
    report += segment.path + ": " + Count(segment.size, "bytes, ") +
              Count(segment.records, "records, ") +
              Count(census.JobsIn(segment.number), "live jobs\n");
  }
  for (const WalGap& gap : scan.gaps()) {
    report += (gap.torn ? "cut off: " : "damaged: ") + gap.ToString() + "\n";
  }
  report += Count(census.records(), "records, ") + Count(census.jobs(), "live jobs, ") +
            "settings of " + Count(tubes.size(), "tubes, ") + "next id " +
            std::to_string(census.next_id()) + "\n";
  if (scan.ended()) report += "the log ended in order\n";
  if (!scan.damaged()) return {};
  return {Code::kCorrupt, directory + ": the journal is damaged; --journal-salvage " + directory +
                              " starts a new one from what can be read"};
}

}  // namespace gearstalk
