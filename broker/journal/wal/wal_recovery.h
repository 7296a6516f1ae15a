#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/segment_index.h"
#include "broker/journal/wal/wal_reader.h"

namespace gearstalk {

// A segment file as found on disk.
struct FoundSegment {
  std::uint64_t number = 0;
  std::string path;
  std::uint64_t size = 0;
  SegmentHeader header;
  Status header_status;
};

// All segment files of a directory, by number. The Status is about the directory or a file that
// cannot be read; a damaged header is noted in the segment.
Result<std::vector<FoundSegment>> FindSegments(FileSystem& file_system,
                                               const std::string& directory);

// One of them.
Result<FoundSegment> FindSegment(FileSystem& file_system, const std::string& directory,
                                 std::uint64_t number);

// A larger segment is not read whole in the background.
inline constexpr std::uint64_t kMostReadWhole = 512 << 20;

// The whole file.
Status LoadSegment(FileSystem& file_system, const FoundSegment& segment, ByteBuffer& bytes);

// Replays a log from its oldest segment to its end, and finds that end. Strict: anything damaged,
// missing or of a newer version is an error. What a crash leaves behind is not.
class WalRecovery {
 public:
  // A record and the length of its frame.
  using Visit = std::function<Status(const Record&, std::size_t size)>;

  WalRecovery(FileSystem& file_system, std::string directory);

  // Takes the records of sealed segments from their indexes, without the larger bodies. It is
  // called before Run.
  void UseIndexes() { use_indexes_ = true; }

  // Calls `begin`, if there is one, before the records of each segment.
  Status Run(const Visit& visit, const std::function<void(const FoundSegment&)>& begin = nullptr,
             const std::function<void(const ReplayProgress&)>& on_progress = nullptr);

  // Where the record that is visited lies in its segment.
  std::uint64_t offset() const { return offset_; }

  // What Run found.
  const std::vector<FoundSegment>& segments() const { return log_; }
  const std::vector<FoundSegment>& released() const { return released_; }  // left over, of no use
  const std::vector<FoundSegment>& prepared() const { return prepared_; }  // nothing is in them
  // Those of the log that were read whole, and are worth an index.
  const std::vector<std::uint64_t>& without_index() const { return without_index_; }
  Lsn last() const { return last_; }
  std::uint64_t used() const { return used_; }      // bytes of the last segment that count
  std::uint64_t synced() const { return synced_; }  // up to here it is known to be on disk
  // What is kept beside the segments; nullopt: a version before wrote this log.
  const std::optional<JournalState>& kept() const { return kept_; }
  bool ended() const { return ended_; }  // in order
  // No id from here on was given out, as far as the log itself does not say: 0 if it says all.
  std::uint64_t kept_ids() const;
  // Where the end was cut off: a batch that was never acknowledged. Empty: nothing was.
  const std::string& torn() const { return torn_; }

 private:
  Status Arrange(std::vector<FoundSegment> found);
  Status FindEnd(std::vector<FoundSegment>& found);
  Status ReadSegment(const FoundSegment& segment, bool is_last, const Visit& visit);
  std::optional<IndexReader> OpenIndex(const FoundSegment& segment);
  Status ReadIndex(const FoundSegment& segment, IndexReader index, const Visit& visit);
  Status TakeRecord(const FoundSegment& segment, const IndexReader::Entry& entry,
                    const Visit& visit);
  Status CheckStart() const;
  Status CheckKept();
  void DropEmptyLast();
  void NoteTorn(const std::string& path, std::uint64_t offset);
  Status CheckEnd(const SegmentReader& reader, SegmentReader::Item item,
                  const FoundSegment& segment, bool is_last);
  Status Continue(Lsn next, std::uint64_t offset, const FoundSegment& segment);

  FileSystem& file_system_;
  const std::string directory_;
  bool use_indexes_ = false;
  ByteBuffer bytes_;
  RecordCodec codec_;
  std::vector<FoundSegment> log_, released_, prepared_;
  std::vector<std::uint64_t> without_index_;
  std::uint64_t oldest_ = 0;
  bool started_ = false;
  Lsn last_ = 0;
  std::uint64_t used_ = 0, synced_ = 0;
  std::uint64_t offset_ = 0;
  std::string stopped_;  // where the segment before ended
  std::string torn_;
  std::string torn_path_;
  std::uint64_t torn_at_ = 0;
  std::optional<JournalState> kept_;
  bool ended_ = false;
  ReplayProgress progress_;
  std::function<void(const ReplayProgress&)> on_progress_;
};

}  // namespace gearstalk
