#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/state_file.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

// The files of a log that is being written: the current segment, the one prepared ahead, and the
// older ones until they are released. Used by one thread.
//
// The next segment is prepared as kSpareName: a file of zeros, or a released segment, because a
// sync of blocks that were written before costs half. It gets its header and its number when the
// rest of it is on disk: so a segment with a damaged header is always damage, never a segment that
// was being made.
class SegmentFiles {
 public:
  // `opened` is the directory, `state` the state file in it. Both outlive this.
  SegmentFiles(FileSystem& file_system, std::string directory, Directory& opened, StateFile& state,
               std::uint64_t segment_size, std::uint64_t journal_salt);

  // Called first: adds the existing segments, in rising order.
  void Adopt(std::uint64_t number, std::uint64_t size);
  // The first new segment gets the next number.
  void SetCurrent(std::uint64_t number) { current_number_ = number; }
  // A segment of no use, such as one that an earlier process had prepared and not begun, becomes
  // the next spare or is removed.
  Fault Discard(std::uint64_t number, std::uint64_t size);

  // Makes `number` the current segment, once the one before is on disk; uses the prepared file if
  // there is one. May be called again after a failure for lack of space.
  Fault Begin(std::uint64_t number, std::uint64_t size);
  // Writes the state file; it is on disk when this returns.
  Fault Keep(const JournalState& state) { return state_.Keep(state); }
  // `used` is how much of it counts as content of the segment.
  Fault Write(std::uint64_t offset, std::string_view bytes, std::size_t used);
  Fault Sync();

  // Removes the segments below `oldest`; one of them may become the next spare.
  Fault Release(std::uint64_t oldest);

  // A step of preparing the next segment, of at most `step` bytes.
  Fault Prepare(std::uint64_t step = kPrepareStep);
  // All steps; on a full disk, of a smaller segment than asked for, if there is room for one.
  Fault PrepareWhatFits();
  bool Prepared() const { return spare_ == Spare::kReady; }
  std::uint64_t prepared_size() const { return Prepared() ? spare_size_ : 0; }
  // The segment that Begin would use, and its space on the disk.
  std::uint64_t spare_bytes() const { return spare_ == Spare::kNone ? 0 : spare_size_; }

  std::uint64_t current() const { return current_number_; }
  SegmentHeader header() const {
    return {kWalVersion, current_number_, SegmentSalt(journal_salt_, current_number_)};
  }
  std::uint64_t DiskBytes() const;
  FileSystem::Space Space() const { return file_system_.SpaceOf(directory_); }

  static constexpr std::uint64_t kPrepareStep = 512 * 1024;

 private:
  enum class Spare {
    kNone,
    kEmpty,    // kSpareName, new
    kFilling,  // its blocks are allocated, zeros are written up to spare_filled_
    kFilled,   // all its blocks are written
    kNamed,    // it has a header and its number, which is not known to be on disk
    kReady,    // it has a header and the number after the current one
  };
  struct Segment {
    std::uint64_t number, size;
  };

  std::string Path(std::uint64_t number) const;
  Fault SealCurrent();
  Fault Recycle(const std::string& path);
  Fault Remove(const std::string& path);
  Fault OpenSpare(std::uint64_t size);
  Fault AllocateSpare();
  Fault FillSpare(std::uint64_t step);
  Fault NameSpare(std::uint64_t number);
  Fault SyncName();
  Fault AllocateMore(std::uint64_t number, std::uint64_t size);

  FileSystem& file_system_;
  std::string directory_;
  Directory& opened_;
  StateFile& state_;
  std::string spare_path_;
  std::uint64_t segment_size_;
  std::uint64_t journal_salt_;

  std::deque<Segment> segments_;  // the last is the current one, once there is one
  std::unique_ptr<File> current_;
  std::uint64_t current_number_ = 0;
  std::uint64_t current_used_ = 0;

  Spare spare_ = Spare::kNone;
  std::unique_ptr<File> spare_file_;
  std::uint64_t spare_size_ = 0;
  std::uint64_t spare_filled_ = 0;
  std::uint64_t spare_blocks_ = 0;  // bytes for which it has blocks
};

inline constexpr char kSpareName[] = "spare.tmp";

}  // namespace gearstalk
