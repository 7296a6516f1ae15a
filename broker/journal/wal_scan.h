#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/journal/record.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/wal_recovery.h"

namespace gearstalk {

// Something of a log that cannot be read.
struct WalGap {
  std::string path;
  std::uint64_t from = 0, to = 0;  // offsets; both 0: the file is missing
  Lsn first = 1, last = 0;         // the records that are missing; last < first: none is known
  std::string why;
  bool torn = false;  // the end of the log, where a write was not finished: a crash leaves that

  // "0000000003.wal at offset 100 to 200: why; records 7 to 9 are missing"
  std::string ToString() const;
};

struct WalScanSegment {
  std::string path;
  std::uint64_t number = 0, size = 0, records = 0;
};

// Reads all of a log that can be read, damaged or not, and lists what cannot. WalRecovery is the
// strict reader; this one is for looking and for rescue.
class WalScan {
 public:
  using Visit = std::function<void(const Record&, std::uint64_t segment)>;

  WalScan(FileSystem& file_system, std::string directory);

  // Not ok if a file cannot be read at all, or is of a newer version.
  Status Run(const Visit& visit);

  const std::vector<WalScanSegment>& segments() const { return segments_; }
  const std::vector<WalGap>& gaps() const { return gaps_; }
  std::uint64_t oldest() const { return oldest_; }
  bool damaged() const;
  // At most so many records are in the gaps.
  std::uint64_t lost_records() const;

 private:
  Status FindOldest(const std::vector<FoundSegment>& found);
  Status ReadSegment(const FoundSegment& segment);
  void ReadRecord(const SegmentReader& reader, const FoundSegment& segment);
  bool PassOver(SegmentReader& reader, SegmentReader::Item item, const FoundSegment& segment);
  void TakeMark(const Mark& mark, const FoundSegment& segment, std::uint64_t offset);
  void Stop(WalGap gap, bool certain);

  FileSystem& file_system_;
  const std::string directory_;
  Visit visit_;
  ByteBuffer bytes_;
  RecordCodec codec_;
  std::uint64_t oldest_ = 0;
  Lsn next_ = 0;  // of the record to come; 0: not known
  // Where reading stopped. The next mark tells whether something is missing, unless it is certain.
  std::optional<WalGap> stop_;
  bool stop_is_gap_ = false;
  std::vector<WalScanSegment> segments_;
  std::vector<WalGap> gaps_;
};

}  // namespace gearstalk
