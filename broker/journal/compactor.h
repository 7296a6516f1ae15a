#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "broker/journal/journal.h"
#include "broker/journal/live_jobs.h"

namespace gearstalk {

// Carries records forward, and decides when a segment is released; the journal appends and removes.
//
// Segments leave the log oldest first: then a deletion never leaves before the put it belongs to,
// nor cleared settings before the set ones. The sealed segments are kept below kMost times the
// live records: above kWanted times, every byte that becomes garbage allows carrying kPace bytes
// forward. To carry all L live bytes takes L/kPace bytes of new garbage. By then at least
// (1 - 1/kPace) L are still live, and the garbage of the start is gone: so the sealed segments
// never exceed kWanted / (1 - 1/kPace) = 2.7 times the live records.
class Compactor {
 public:
  // A new segment is written from now on. Sizes count the whole file.
  void Begin(std::uint64_t segment, std::uint64_t size);
  // Corrects the size of the current segment.
  void Resize(std::uint64_t size);
  // Removes the current segment, which is empty, from the log.
  void DropCurrent();

  // Where a frame is in the current segment.
  struct Frame {
    std::uint64_t bytes = 0;
    std::uint64_t offset = 0;  // 0 as well where the log has no use for it
    std::uint32_t check = 0;   // LiveJobs::Place has it
  };
  // Notes a record appended to the current segment, and its frame.
  void OnRecord(const Record& record, const Frame& frame);
  // The settings that every segment begins with.
  void OnSettings(std::uint64_t bytes);

  struct Carrier {
    LiveState& state;
    // Appends a record to the current segment, and returns its frame.
    std::function<Frame(const Record&)> append;
    // Whether there is space for a frame of this length; empty: always.
    std::function<bool(std::uint64_t)> fits;
    // The log is full and has so many bytes left: the oldest segment is released if its live
    // records fit there.
    std::optional<std::uint64_t> room;
    // Whether a job can be captured now; begins to fetch what is missing. Empty: all can. It is
    // asked some time before.
    std::function<bool(std::uint64_t id)> ready = {};
  };
  // Carries live records out of the oldest segment: a part of what is allowed, so that no call
  // takes long. False: the search for the next one has not ended, so another call is wanted even if
  // nothing is appended until then.
  bool CarryForward(const Carrier& carrier);

  // Has all live records carried forward out of the segments up to this one.
  void CarryThrough(std::uint64_t segment) { through_ = std::max(through_, segment); }
  // Removes segments without live records from the log, oldest first; returns how many.
  std::uint64_t DropDone();
  // The same for the oldest one, if its number is `segment`: another broker released it, so it is
  // not counted.
  void DropIfDone(std::uint64_t segment);
  // After a restart: allows carrying the whole log once if it is too large.
  void EarnFromStart();

  // Whether at least half of a segment of the log is live.
  bool MostlyLives(std::uint64_t segment) const;

  // Calls `visit` with the live jobs whose records are in a segment of the log, at `from` or behind
  // and before `to`.
  void VisitAt(std::uint64_t segment, std::uint64_t from, std::uint64_t to,
               const std::function<void(std::uint64_t id)>& visit) const;
  // The size of those of the segments `first` to `last` that are in the log.
  std::uint64_t BytesOf(std::uint64_t first, std::uint64_t last) const;

  LiveJobs::Place Find(std::uint64_t id) const { return jobs_.Find(id); }
  std::uint64_t current() const { return segments_.empty() ? 0 : segments_.back().number; }
  std::uint64_t oldest() const { return segments_.empty() ? 0 : segments_.front().number; }
  std::uint64_t live_bytes() const { return live_ + settings_; }
  std::size_t segments() const { return segments_.size(); }
  // Whether the log stays below the bound with one more segment.
  bool RoomForSpare() const { return SealedBytes() <= kMost * live_bytes(); }
  // Fills in which segments there are, and what was carried and released; no sizes of files.
  void Describe(SegmentStats& stats) const;

 private:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t size = 0;
    std::uint64_t live = 0;     // bytes of frames of live jobs
    std::string ids;            // of the puts in it: differences, as varints
    std::uint64_t last_id = 0;  // where the differences are
  };

  struct Ahead {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
  };

  static constexpr std::uint64_t kWanted = 2, kPace = 4, kMost = 3;
  static constexpr std::uint64_t kLeastShare = 64 * 1024, kMostShare = 1024 * 1024;
  static constexpr int kSteps = 4096;  // records looked at in one call
  static constexpr std::uint64_t kAhead =
      1024 * 1024;  // bytes that are got ready before their turn

  Segment& Of(std::uint64_t number) {
    return segments_[static_cast<std::size_t>(number - segments_.front().number)];
  }
  const Segment& Of(std::uint64_t number) const {
    return segments_[static_cast<std::size_t>(number - segments_.front().number)];
  }
  std::uint64_t SealedBytes() const { return total_ - segments_.back().size; }
  bool Wanted() const { return SealedBytes() > kWanted * live_bytes(); }
  bool OldestIsDone() const { return segments_.size() > 1 && segments_.front().live == 0; }
  void DropOldest();
  std::uint64_t Allowance(std::optional<std::uint64_t> room);
  bool LookAhead(int& steps, const Carrier& carrier);
  void PopAhead();
  std::optional<std::uint64_t> NextLive(int& steps);
  // The next id of those of a segment; `at` and `id` say where the walk is.
  static void NextId(const Segment& segment, std::size_t& at, std::uint64_t& id);
  std::uint64_t InOldest(std::uint64_t id) const;
  std::uint64_t Carry(std::uint64_t id, const Carrier& carrier);
  // Both return the bytes that become garbage.
  std::uint64_t Settle(std::uint64_t id, const Frame& frame);
  std::uint64_t Remove(const LiveJobs::Place& place);
  static void NoteId(Segment& segment, std::uint64_t id);

  LiveJobs jobs_;
  std::deque<Segment> segments_;  // numbers are consecutive
  std::uint64_t total_ = 0;       // bytes of all segments
  std::uint64_t live_ = 0;
  std::uint64_t settings_ = 0;
  std::uint64_t allowed_ = 0;
  std::uint64_t through_ = 0;  // segments up to here have to go
  std::uint64_t garbage_ = 0;  // since the last Allowance
  std::size_t walk_ = 0;       // where NextLive is in the ids of the oldest segment
  std::uint64_t walk_id_ = 0;
  std::deque<Ahead> ahead_;  // the next to carry, when there is space for them
  std::uint64_t ahead_bytes_ = 0;
  std::uint64_t carried_ = 0, carried_bytes_ = 0, released_ = 0;
};

}  // namespace gearstalk
