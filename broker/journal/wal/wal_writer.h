#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "broker/base/descriptor.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/base/sync.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/journal.h"
#include "broker/journal/wal/segment_files.h"

namespace gearstalk {

// Records to be written to one place in one segment.
struct Batch {
  std::uint64_t segment = 0;
  std::uint64_t segment_size = 0;
  std::uint64_t offset = 0;   // of `bytes` in the segment
  Lsn first = 1, last = 0;    // the records in it; none if last < first
  std::uint64_t oldest = 0;   // segments below are not needed once what was before is on disk
  std::uint64_t next_id = 1;  // ids from here on are in no record up to these
  // A barrier: everything before it is on disk when it is written, and it is synced at once. A
  // batch with a higher `oldest` is one, and empty.
  bool barrier = false;
  ByteBuffer bytes;  // room for a mark, then frames
};

// A look at the free space of the journal's file system.
struct DiskLook {
  FileSystem::Space space;
  Time at = 0;  // by the file system's clock
};

struct WriterProgress {
  Lsn durable = 0;                 // as the sync mode has it
  Lsn on_disk = 0;                 // whatever the sync mode
  std::uint64_t done_batches = 0;  // written or, after a failure, dropped
  std::uint64_t done_bytes = 0;
  Status failure;        // for good
  Status full;           // no space: until there is some
  bool stalled = false;  // full, and a batch waits for space
  std::uint64_t syncs = 0;
  SyncTimes sync_times;
  std::uint64_t disk_bytes = 0;
  std::uint64_t spare_bytes = 0;  // of them, of the segment that is prepared
};

// Writes batches and syncs them in groups, on a thread of its own; while one group is synced, the
// next gathers. All public functions are for the loop's thread and take a short lock at most.
class WalWriter {
 public:
  // The state file keeps an id so far above the last one given out, so that it is seldom written.
  static constexpr std::uint64_t kKeptIds = 1U << 18U;

  struct Options {
    Sync sync = Sync::kAlways;
    Time interval = 0;
    Status full;        // why the disk was found full already
    JournalState kept;  // what is kept beside the segments when it begins
  };

  WalWriter(FileSystem& file_system, SegmentFiles files, Lsn durable, Options options);
  ~WalWriter() { Stop(); }
  WalWriter(const WalWriter&) = delete;
  WalWriter& operator=(const WalWriter&) = delete;

  // An empty batch; its memory was used before.
  Batch NewBatch();
  void Submit(Batch batch);
  // Whether there is room on the disk for a segment prepared ahead.
  void WantSpare(bool wanted);
  // Readable when Progress has news, or after Notify; Progress resets it.
  int notify_fd() const { return notify_fd_; }
  void Notify();
  WriterProgress Progress();
  // The last one, half a second old at most. Only a large change is news.
  DiskLook Look();

  // kIo: the system gives no thread.
  Status Start();
  // Writes and syncs all submitted batches, as far as possible, and ends the thread.
  void Stop();

  // One round of the work, for callers that did not call Start. Returns when the next one is due if
  // nothing is submitted, from now; 0: at once.
  Time Work();

 private:
  void Run();
  void Gather(std::unique_lock<std::mutex>& lock);
  void TakeSubmitted();
  void WritePending();
  Fault WriteBatch(Batch& batch);
  Fault Keep(const Batch& batch);
  Fault SyncNow();
  void SyncIfDue();
  void LookAtDisk();
  void PrepareSpare();
  void Settle(const Fault& fault);
  void Done(Batch batch);
  void Publish();
  void NotifyLocked();
  Time NextDue() const;

  static constexpr Time kRetry = 500 * kMillisecond;  // while there is no space or no descriptor
  static constexpr Time kLook = 500 * kMillisecond;   // between two looks at the free space
  static constexpr std::uint64_t kSmallChange = std::uint64_t{16} << 20U;  // of free space, bytes
  static constexpr std::size_t kKeptBytes = 8 << 20;                       // of buffers for reuse
  static constexpr Time kLongestGather = 2 * kMillisecond;
  static constexpr int kMostGathersLeftOut = 63;
  // The number of records; an empty batch counts as one.
  static std::uint64_t Weight(const Batch& batch) {
    return std::max<std::uint64_t>(batch.last + 1 - batch.first, 1);
  }

  FileSystem& file_system_;
  const Options options_;
  const Descriptor notify_fd_;
  std::thread thread_;

  // The thread's own.
  SegmentFiles files_;
  std::deque<Batch> pending_;
  std::vector<Batch> used_;
  WriterProgress state_;
  Lsn written_;
  Lsn durable_;
  JournalState kept_;
  std::uint64_t oldest_ = 0;
  bool dirty_ = false;
  Time dirty_since_ = 0;
  bool spare_wanted_now_ = false;
  Time next_try_ = 0;  // for space, or a descriptor
  bool news_ = false;
  Time last_sync_ = 0;          // how long it took
  std::uint64_t expected_ = 0;  // if all who were answered last come again, with those who wait
  Time gather_until_ = 0;
  int gather_seldom_ = 0;  // how many times it is left out
  int gathers_left_out_ = 0;

  DiskLook look_;  // the last one

  std::mutex mutex_;  // guards what follows
  std::condition_variable submitted_;
  std::deque<Batch> queue_;
  std::uint64_t queued_ = 0;  // weight of them all
  std::uint64_t enough_ = 1;  // of that to wake the thread
  std::vector<Batch> free_;
  std::size_t free_bytes_ = 0;
  WriterProgress progress_;
  DiskLook shown_look_;
  bool spare_wanted_ = false;
  bool stop_ = false;
  bool notified_ = false;
};

}  // namespace gearstalk
