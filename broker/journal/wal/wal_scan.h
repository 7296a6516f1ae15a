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
#include "broker/journal/wal/wal_recovery.h"

namespace gearstalk {

// A part of a log that cannot be read.
struct WalGap {
  std::string path;
  std::uint64_t from = 0, to = 0;  // offsets; both 0: the file is missing
  std::string why;                 // empty: only `path` is known
  bool torn = false;  // the end of the log, where a write was not finished: a crash leaves that
  // How many records are missing, as far as the log tells, and the first of them; 0: not known.
  std::uint64_t lost = 0;
  Lsn first = 0;
  bool counted = true;  // false: the number is not known

  // "0000000003.wal at offset 100 to 200: why; records 7 to 9 are missing"
  std::string ToString() const;
};

struct WalScanSegment {
  std::string path;
  std::uint64_t number = 0, size = 0, records = 0;
};

// Reads all readable parts of a log, and lists the unreadable ones. WalRecovery is the strict
// reader and decides whether a log is damaged; this one serves --journal-check and
// --journal-salvage.
class WalScan {
 public:
  using Visit = std::function<void(const Record&, std::uint64_t segment)>;

  WalScan(FileSystem& file_system, std::string directory);

  // Not ok if a file cannot be read at all, or is of a newer version; kNotFound if there is no
  // journal.
  Status Run(const Visit& visit);

  const std::vector<WalScanSegment>& segments() const { return segments_; }
  const std::vector<WalGap>& gaps() const { return gaps_; }
  // What is kept beside the segments, if that can be read.
  const std::optional<JournalState>& kept() const { return kept_; }
  std::uint64_t newest() const { return newest_; }  // number of a segment that is there or was
  bool damaged() const;                             // a broker would not start from it
  bool ended() const { return ended_; }             // in order
  // How many records are missing, as far as that is known.
  std::uint64_t lost_records() const;
  bool lost_is_known() const;
  // At most so many are.
  std::uint64_t most_lost_records() const;

 private:
  // What ends reading for a while. Only the next mark tells whether something is missing, unless
  // it is certain.
  struct Stop {
    WalGap gap;
    std::uint64_t segment = 0;
    bool certain = true;
    bool readable = false;  // an end, not what cannot be read
  };

  Status ReadKept();
  Status ReadAll(const std::vector<FoundSegment>& found);
  Status FindEnds(const std::vector<FoundSegment>& found);
  Status ReadSegment(const FoundSegment& segment);
  bool PassOverHeader(const FoundSegment& segment);
  void ReadRecord(const SegmentReader& reader, const FoundSegment& segment);
  bool PassOver(SegmentReader& reader, SegmentReader::Item item, const FoundSegment& segment);
  void TakeMark(const Mark& mark, const FoundSegment& segment, std::uint64_t offset);
  Stop& StopAt(const std::string& path, std::uint64_t segment, std::uint64_t from, std::uint64_t to,
               const std::string& why);
  void Missing(std::uint64_t segment);
  void Settle(std::uint64_t missing);
  void Finish();
  Status Judge();

  FileSystem& file_system_;
  const std::string directory_;
  Visit visit_;
  ByteBuffer bytes_;
  RecordCodec codec_;
  std::optional<JournalState> kept_;
  std::uint64_t oldest_ = 0, newest_ = 0;
  std::uint64_t last_begun_ = 0;  // the last segment with a readable mark
  Lsn next_ = 0;                  // of the record to come, but for those missing; 0: not known
  std::vector<Stop> stops_;       // since the last mark
  bool ended_ = false;
  std::vector<WalScanSegment> segments_;
  std::vector<WalGap> gaps_;
};

// kNotFound: the directory has no file of a journal.
Status FindJournal(FileSystem& file_system, const std::string& directory);

}  // namespace gearstalk
