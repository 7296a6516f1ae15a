#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "broker/journal/live_jobs.h"

namespace gearstalk {

// Decides what is carried forward and when a segment is done with; the journal does it.
//
// Segments leave the log oldest first: then a deletion never leaves before the put it belongs to,
// nor cleared settings before the set ones. The sealed segments are kept below kMost times the
// live records: once they are above kWanted times, every byte that becomes useless pays for
// carrying kPace bytes forward. Carrying all L live bytes takes L/kPace bytes of new garbage, by
// when at least (1 - 1/kPace) L are still live, and all garbage there was at the start is gone:
// the sealed segments never exceed kWanted / (1 - 1/kPace) = 2.7 times the live records.
class Compactor {
 public:
  // A new segment is written from now on. Sizes count the whole file.
  void Begin(std::uint64_t segment, std::uint64_t size);
  // The size of the current segment, if it turns out to be another one.
  void Resize(std::uint64_t size);
  // The current segment turns out to be empty and is no part of the log.
  void DropCurrent();

  // What was appended to the current segment, and how long the frame is.
  void OnPut(std::uint64_t id, std::uint64_t bytes);
  void OnCarried(std::uint64_t id, std::uint64_t bytes);
  void OnDelete(std::uint64_t id, std::uint64_t bytes);
  void OnOther(std::uint64_t bytes) { garbage_ += bytes; }
  // The settings that every segment begins with.
  void OnSettings(std::uint64_t bytes);

  // How many bytes may be carried forward now; 0: none need to be. A part of what is allowed, so
  // that no call takes long. `room`: the disk is full and this much is left, so that the oldest
  // segment is to be set free if what lives in it fits there.
  std::uint64_t Allowance(std::optional<std::uint64_t> room);
  // The next job to carry out of the oldest segment, which must not be the current one; looks at
  // `steps` records at most and counts them down. nullopt when it has run out of steps.
  std::optional<std::uint64_t> NextLive(int& steps);
  // How long the record of the job is if it lies in the oldest segment; else 0.
  std::uint64_t InOldest(std::uint64_t id) const;
  // The job that NextLive named is not live after all.
  void Forget(std::uint64_t id);

  // Whether nothing of the oldest segment is needed any more.
  bool OldestIsDone() const { return segments_.size() > 1 && segments_.front().live == 0; }
  void DropOldest();
  // Lets the whole log be carried once if it is too large, after a restart.
  void EarnFromStart();

  std::uint64_t current() const { return segments_.empty() ? 0 : segments_.back().number; }
  std::uint64_t oldest() const { return segments_.empty() ? 0 : segments_.front().number; }
  std::uint64_t live_bytes() const { return live_ + settings_; }
  std::uint64_t live_jobs() const { return jobs_.size(); }
  std::size_t segments() const { return segments_.size(); }
  // Whether a segment more on the disk leaves it below the bound.
  bool RoomForSpare() const { return SealedBytes() <= kMost * live_bytes(); }

 private:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t size = 0;
    std::uint64_t live = 0;         // bytes of frames of live jobs
    std::vector<std::uint8_t> ids;  // of the puts in it: differences, as variable-length numbers
    std::uint64_t last_id = 0;      // where the differences are
  };

  static constexpr std::uint64_t kWanted = 2, kPace = 4, kMost = 3;
  static constexpr std::uint64_t kLeastShare = 64 * 1024, kMostShare = 1024 * 1024;

  Segment& Of(std::uint64_t number) {
    return segments_[static_cast<std::size_t>(number - segments_.front().number)];
  }
  std::uint64_t SealedBytes() const { return total_ - segments_.back().size; }
  bool Wanted() const { return SealedBytes() > kWanted * live_bytes(); }
  // Both return the bytes that this makes useless.
  std::uint64_t Settle(std::uint64_t id, std::uint64_t bytes);
  std::uint64_t Remove(const LiveJobs::Place& place);
  static void NoteId(Segment& segment, std::uint64_t id);

  LiveJobs jobs_;
  std::deque<Segment> segments_;  // numbers are consecutive
  std::uint64_t total_ = 0;       // bytes of all segments
  std::uint64_t live_ = 0;
  std::uint64_t settings_ = 0;
  std::uint64_t allowed_ = 0;
  std::uint64_t garbage_ = 0;  // since the last Allowance
  std::size_t walk_ = 0;       // where NextLive is in the ids of the oldest segment
  std::uint64_t walk_id_ = 0;
};

}  // namespace gearstalk
