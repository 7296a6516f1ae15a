#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/lsn.h"
#include "broker/journal/record.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

// The index of a sealed segment: its records without the larger bodies, so that a start need not
// read those. It is a cache beside the segment. docs/journal-format.md explains the bytes; numbers
// are little-endian.
//
//   index = header (64) block*
//   block = checksum u64, size u32 of its entries, entry*
//   entry = offset u32 of the frame, record size u32, body size u32, record, body
//
// The highest bit of a record size says that the body is not there, that of a body size that its
// hash is there instead: it is its job's unique key.
namespace gearstalk {

// 7 -> "0000000007.index" and back; 0: not the name of an index.
std::string IndexName(std::uint64_t number);
std::uint64_t IndexNumber(std::string_view name);

// The index of a whole segment; empty: it shall have none, as a record of it cannot be read, or the
// index would be larger than half of it. Pure.
std::string MakeIndex(std::string_view segment, const SegmentHeader& header);

// Reads an index. Pure.
class IndexReader {
 public:
  struct Entry {
    std::uint64_t offset = 0;  // of the frame in the segment
    std::uint64_t bytes = 0;   // of the frame
    std::string_view record, body;
    std::uint32_t left_out = 0;  // the length of a body that is in the segment alone
    std::string_view hash = {};  // of such a body, if it is its job's unique key
  };

  // nullopt: `bytes` are not the whole and undamaged index of the segment with this header, or the
  // segment has lost what the index knows. `bytes` outlive it.
  static std::optional<IndexReader> Open(std::string_view bytes, const SegmentHeader& header,
                                         std::uint64_t segment_size);

  Lsn first() const { return first_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t end() const { return end_; }  // offset behind the last item of the segment

  // The next record; false: that was the last.
  bool Next(Entry& entry);

 private:
  static std::optional<Entry> EntryAt(std::string_view bytes);
  bool IsWhole(std::uint64_t salt) const;

  std::string_view bytes_;
  Lsn first_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t end_ = 0;
  std::size_t next_ = 0;       // where the next entry is
  std::size_t block_end_ = 0;  // of the block that it is in
};

}  // namespace gearstalk
