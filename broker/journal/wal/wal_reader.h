#pragma once

#include <cstdint>
#include <string_view>

#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

// Walks the items of one segment. Pure: the bytes of the whole file in, records out.
class SegmentReader {
 public:
  enum class Item {
    kRecord,
    kMark,
    kEnd,  // nothing more was written
    kBad,  // neither: torn, damaged, or what the file held in an earlier use
  };

  // `bytes` must outlive it.
  SegmentReader(std::string_view bytes, const SegmentHeader& header)
      : bytes_(bytes), header_(header) {}

  // Steps to the next item; stays at a kEnd or kBad.
  Item Next();

  // Of the item that Next found.
  std::uint64_t offset() const { return offset_; }
  const Frame& frame() const { return frame_; }
  const Mark& mark() const { return mark_; }

  // Goes on behind a kEnd or kBad at the first readable mark; false if there is none. Next then
  // returns that mark.
  bool SkipToMark();
  // The same at the first readable item of any kind, for rescue.
  bool SkipToAny();
  // Where Next will look.
  std::uint64_t next() const { return next_; }

 private:
  std::string_view bytes_;
  const SegmentHeader header_;
  std::uint64_t offset_ = 0;
  std::uint64_t next_ = kSegmentHeaderSize;
  Frame frame_;
  Mark mark_;
};

// Of the last readable mark; false if there is none, which means that nothing was stored here.
bool LastMark(std::string_view bytes, const SegmentHeader& header, Mark& last);

// A mark of the segment at or behind `from` says that record `lsn` was on disk.
bool KnownDurable(std::string_view bytes, const SegmentHeader& header, std::uint64_t from, Lsn lsn);

}  // namespace gearstalk
