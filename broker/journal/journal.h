#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/journal/record.h"

namespace gearstalk {

// Whoever knows the live state: the engine. The journal calls it on the loop's thread only.
class LiveState {
 public:
  // A record read back; called in log order during Replay. An error ends the replay.
  virtual Status Apply(const Record& record) = 0;

  // Calls `emit` with a kPut record that holds job `id` as it is now, if it lives and belongs in
  // the journal; returns whether it did. This is how live jobs are carried forward out of old
  // segments (or re-appended by a replicated journal).
  virtual bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) = 0;

  // Calls `emit` for every tube whose settings outlive a restart, and once with the next id.
  virtual void CaptureSettings(const std::function<void(const Record&)>& emit) = 0;

 protected:
  ~LiveState() = default;
};

// How many syncs took how long.
struct SyncTimes {
  // Upper bounds, inclusive; what took longer than the last is counted behind it.
  static constexpr std::array<Time, 14> kBounds = {
      50 * kMicrosecond,  100 * kMicrosecond, 200 * kMicrosecond, 500 * kMicrosecond,
      1 * kMillisecond,   2 * kMillisecond,   5 * kMillisecond,   10 * kMillisecond,
      20 * kMillisecond,  50 * kMillisecond,  100 * kMillisecond, 200 * kMillisecond,
      500 * kMillisecond, 1 * kSecond};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  // each sync is in one of them
  Time sum = 0;

  void Add(Time took) {
    const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), took);
    ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
    sum += took;
  }
};

// What counts, counts since the start.
struct JournalStats {
  std::uint64_t appends = 0;  // records
  std::uint64_t appended_bytes = 0;
  std::uint64_t batches = 0;  // writes to the disk
  std::uint64_t syncs = 0;
  SyncTimes sync_times{};
  std::uint64_t oldest_segment = 0;  // 0 where there are no segments
  std::uint64_t current_segment = 0;
  std::uint64_t segments = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t live_bytes = 0;         // of records that still say something
  std::uint64_t segment_size = 0;       // bytes
  std::uint64_t migrated = 0;           // records carried forward by compaction
  std::uint64_t migrated_bytes = 0;     // of them
  std::uint64_t segments_released = 0;  // that left the log
  bool failed = false;                  // for good: it needs a restart
  bool full = false;                    // there is no space, until there is some
};

// Where changes become durable. Everything is called, and calls back, on the loop's thread; what
// waits for a disk or a network does so elsewhere. Implementations: memory_journal.h (nothing is
// kept), wal_journal.h (segment files); later a replicated log: its sequence is the Lsn, its
// batches are what lies between two Flush calls.
class Journal {
 public:
  virtual ~Journal() = default;

  // Reads everything back into `state`, once, before the first Append. On return the journal is
  // ready for appends; `state` must outlive it.
  virtual Status Replay(LiveState& state) = 0;

  // Whether it keeps anything: if not, nobody needs to make records for it.
  virtual bool Persistent() const = 0;

  // Takes one record and returns its position. Never blocks. A journal that keeps nothing returns
  // 0. After a failure the record is dropped: callers ask `Accepts` before they change anything.
  virtual Lsn Append(const Record& record) = 0;

  // Whether records of this kind can still be made durable; Health says why not.
  // Deletions are accepted longer than the rest, so that a full disk can be drained.
  virtual bool Accepts(Record::Kind kind) const = 0;

  // Why it does not accept everything; ok while it does.
  virtual Status Health() const = 0;

  // End of a round of the loop: what was appended goes to the disk as one batch.
  virtual void Flush(Time now) = 0;

  // Everything up to here is durable. Grows; `on_durable` is called after each growth.
  virtual Lsn Durable() const = 0;
  virtual void SetOnDurable(std::function<void(Lsn)> on_durable) = 0;

  // `on_stuck` is called when the journal learns that what was appended and is not durable will
  // not be: never any more (for_good), or not before there is space again. Who waits for it waits
  // in vain.
  virtual void SetOnStuck(const std::function<void(bool for_good)>& /*on_stuck*/) {}

  // Bytes appended that are not yet written: whoever takes in jobs slows down when it gets large.
  virtual std::uint64_t WaitingBytes() const = 0;

  virtual JournalStats Stats() const = 0;
};

}  // namespace gearstalk
