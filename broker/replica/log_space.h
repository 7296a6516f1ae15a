#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/journal/compactor.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/record.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

// The segments of a shard's log, their size, and which are still needed. A segment is a run of
// batches; the oldest one is removed once its live jobs were carried forward:
//
//   Drop      nothing in the segment is needed once everything appended so far is durable
//   Declare   it is durable: batches say from now on that the log begins behind the segment
//   Declared  one of those batches is durable: the keys below may be deleted
//   Trimmed   they are gone
//
// Where bodies stay in the store, it also knows in which parts the frame of a job is: frames lie
// one behind the other in the payloads of a segment's parts, whose sequence numbers have no gaps.
class LogSpace {
 public:
  // `compactor`: of the log. `keeps_bodies`: of the store.
  explicit LogSpace(Compactor& compactor, bool keeps_bodies = false)
      : compactor_(compactor), keeps_bodies_(keeps_bodies) {}

  static constexpr std::uint64_t kSegmentBytes = 4 << 20;  // usual, without settings

  // Begin to OnStored: both while following and while writing.
  void Begin(std::uint64_t segment);
  // The frame of a record was added to the current segment.
  Compactor::Frame OnFrame(const Record& record, std::size_t size);
  // Parts of `segment` from `seq` on are in the log: `bytes` in all, each with so much payload.
  void OnStored(std::uint64_t segment, std::uint64_t seq, std::uint64_t bytes,
                const std::vector<std::uint32_t>& pieces);

  // The compactor has dropped segments; `last` is the position of the last record appended.
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
  // Whether a new segment should begin behind one with so many bytes of settings, in a log of at
  // most `max_bytes`. What follows the settings is at least as long as a usual segment, and up to
  // three times as long as they are, so that they are not most of what is written.
  bool SegmentIsFull(std::uint64_t settings, std::uint64_t max_bytes) const;

  // Of a body: what is read back is compared with it.
  static std::uint32_t CheckOf(std::uint64_t id, std::string_view body);
  // Whether the bytes up to `end` of a segment's frames are in the store.
  bool IsStored(std::uint64_t segment, std::uint64_t end) const;
  // Where the bytes `from` to `to` of a segment's frames, which are stored, are: adds the pieces.
  void Locate(std::uint64_t segment, std::uint64_t from, std::uint64_t to,
              std::vector<PartPiece>& pieces) const;
  // Whether a segment left the log.
  bool IsGone(std::uint64_t segment) const {
    return segments_.empty() || segment < segments_.front().number;
  }
  // The first part of a segment; UINT64_MAX: none is in the store.
  std::uint64_t FirstOf(std::uint64_t segment) const {
    const Segment* const found = Find(segment);
    return found == nullptr || found->first == 0 ? UINT64_MAX : found->first;
  }

 private:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t first = 0;          // sequence number; 0: not sent yet
    std::uint64_t bytes = 0;          // of its parts
    std::vector<std::uint32_t> ends;  // of the payload of each part; where bodies stay there
  };

  // nullptr: it is not in the store any more.
  const Segment* Find(std::uint64_t number) const;
  Segment* Find(std::uint64_t number) {
    return const_cast<Segment*>(std::as_const(*this).Find(number));
  }

  Compactor& compactor_;
  const bool keeps_bodies_;
  // In the store, also those that are not needed any more; their numbers are consecutive.
  std::deque<Segment> segments_;
  std::uint64_t bytes_ = 0;
  std::uint64_t current_size_ = 0;  // of frames in the current segment
  std::uint64_t oldest_ = 1, declared_ = 1;
  std::uint64_t dropping_ = 0;  // number of the segment that the log will begin with; 0: none
  Lsn dropping_after_ = 0;      // when this is durable
};

}  // namespace gearstalk
