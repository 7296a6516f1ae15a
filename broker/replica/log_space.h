#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "broker/base/lsn.h"
#include "broker/journal/compactor.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

// The segments of a shard's log, their size, and which are still needed. A segment is a run of
// batches; the oldest one is removed once its live jobs were carried forward:
//
//   Drop      nothing in the segment is needed once everything appended so far is durable
//   Declare   it is durable: batches say from now on that the log begins behind the segment
//   Declared  one of those batches is durable: the keys below may be deleted
//   Trimmed   they are gone
class LogSpace {
 public:
  static constexpr std::uint64_t kSegmentBytes = 4 << 20;  // usual, without settings

  // Begin to OnStored: both while following and while writing.
  void Begin(std::uint64_t segment);
  void OnRecord(const Record& record, std::size_t size);
  // A part, or the parts of a batch, of `segment` is in the log.
  void OnStored(std::uint64_t segment, std::uint64_t seq, std::uint64_t bytes);
  // A record that carries a job forward was appended.
  void OnCarried(std::size_t size) { Grow(size); }
  // The settings that the current segment begins with.
  void OnSettings(std::size_t size);

  // Drops segments that are done with; `last` is the position of the last record appended.
  void Drop(Lsn last);
  // Moves the beginning of the log if `durable` allows it. True: a batch has to announce it.
  bool Declare(Lsn durable);
  // The log is needed from this sequence number on, as batches say.
  std::uint64_t oldest() const { return oldest_; }
  // While following: a batch says so.
  void OnOldest(std::uint64_t seq);
  // A part that said `oldest` is durable.
  void OnDeclared(std::uint64_t oldest) { declared_ = oldest; }
  // Keys below it may be deleted.
  std::uint64_t declared() const { return declared_; }
  // Keys below `seq` are gone.
  void OnTrimmed(std::uint64_t seq);

  std::uint64_t bytes() const { return bytes_; }  // of all parts in the store
  std::uint64_t segment() const { return compactor_.current(); }
  // Whether a new segment should begin, in a log of at most `max_bytes`. What follows the settings
  // is at least as long as a usual segment, and up to three times as long as they are, so that they
  // are not most of what is written.
  bool SegmentIsFull(std::uint64_t max_bytes) const;
  Compactor& compactor() { return compactor_; }
  const Compactor& compactor() const { return compactor_; }

 private:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t first = 0;  // sequence number; 0: not sent yet
    std::uint64_t bytes = 0;  // of its parts
  };

  void Grow(std::size_t size);

  Compactor compactor_;
  std::deque<Segment> segments_;  // in the store, also those that are not needed any more
  std::uint64_t bytes_ = 0;
  std::uint64_t current_size_ = 0;  // of frames in the current segment
  std::uint64_t settings_ = 0;      // of them, those of the settings
  std::uint64_t oldest_ = 1, declared_ = 1;
  std::uint64_t dropping_ = 0;  // number of the segment that the log will begin with; 0: none
  Lsn dropping_after_ = 0;      // when this is durable
};

}  // namespace gearstalk
