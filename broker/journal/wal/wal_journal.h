#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/sync.h"
#include "broker/journal/journal.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/segmented_log.h"
#include "broker/journal/wal/body_reader.h"
#include "broker/journal/wal/disk_watch.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/indexer.h"
#include "broker/journal/wal/state_file.h"
#include "broker/journal/wal/verifier.h"
#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_recovery.h"
#include "broker/journal/wal/wal_writer.h"

namespace gearstalk {

struct WalOptions {
  std::string directory;  // created if missing; its parent must exist
  Sync sync = Sync::kAlways;
  Time interval = 0;                                 // of Sync::kInterval
  std::uint64_t segment_size = kDefaultSegmentSize;  // bytes; at least kLeastSegmentSize
  // For tools and tests.
  FileSystem* file_system = &SystemFileSystem();
  bool own_thread = true;      // false: Flush itself writes and syncs
  bool works_in_flush = true;  // false, without a thread: RunWriter does
  bool compact = true;
  bool indexes = false;               // a start may read indexes, and they are written
  std::uint64_t first_segment = 1;    // number of the first segment of a new journal
  std::optional<std::uint64_t> salt;  // drawn at random if not given
};

// The journal in segment files of one directory. docs/journal-format.md has the files,
// docs/durability.md what is promised.
//
// On the loop's thread: Append encodes a record into the next batch, Flush hands the batch to the
// writer's thread, and OnNotify, called when NotifyFd is readable, takes over the durable position.
// Only Start and Close wait for the disk.
class WalJournal final : public Journal, private Medium {
 public:
  // Locks the directory; kInvalid if another process has locked it.
  static Result<std::unique_ptr<WalJournal>> Open(WalOptions options);

  Status Start(LiveState& state, JournalEvents& events) override;
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override;
  bool Accepts(Record::Kind kind) const override;
  bool HasRoomFor(std::uint64_t body) const override;
  void KeepFree(std::uint64_t bytes) override { disk_.KeepFree(bytes); }
  void Verify(std::uint64_t pace) override { verifier_->SetPace(pace); }
  VerifyStats Verified() const override;
  Time Tick(Time now) override;
  DiskSpace Disk() const override { return disk_.space(); }
  std::uint64_t SpareIds() const override;
  Status Health() const override;
  void Flush(Time now) override;
  Lsn Durable() const override { return progress_.durable; }
  void SetOnDurable(std::function<void(Lsn)> on_durable) override {
    on_durable_ = std::move(on_durable);
  }
  void SetOnStuck(const std::function<void(bool for_good)>& on_stuck) override {
    on_stuck_ = on_stuck;
  }
  std::uint64_t WaitingBytes() const override;
  JournalStats Stats() const override;
  SegmentStats Segments() const override;
  bool KeepsBodies() const override { return true; }
  Lsn OnDisk() const override { return progress_.on_disk; }
  void Fetch(std::uint64_t id, BodyUse use) override;
  int NotifyFd() const override { return writer_->notify_fd(); }
  void OnNotify() override;
  // Writes and syncs everything, and ends the thread. Returns Health().
  Status Close() override;

  // Without a thread of its own: one round of the writer's work. Returns when the next one is due
  // if nothing is handed over, from now.
  Time RunWriter() { return writer_->Work(); }

  // A message about what Start cut off at the end of the journal; empty: nothing. It is logged,
  // too.
  const std::string& torn() const { return torn_; }

 private:
  WalJournal(WalOptions options, std::unique_ptr<File> lock, std::unique_ptr<Directory> directory);

  Status Recover(JournalEvents& events, WalRecovery& recovery);
  Status KeepStart(const WalRecovery& recovery);
  void AppendEnd();
  Status KeepEnd();
  Status Repair(const WalRecovery& recovery);
  Status RewriteTail(const WalRecovery& recovery);
  Status ReadMissing();
  Status StartWriting(const WalRecovery& recovery, JournalEvents& events);
  void StartIndexer(const WalRecovery& recovery);
  Compactor::Frame AppendFrame(const Record& record);
  // All ids in records are below kept_.next_id.
  void NoteId(const Record& record);
  // --- Medium
  Compactor::Frame Write(const Record& record) override;
  bool HasRoomForFrame(std::uint64_t bytes) const override;
  std::optional<std::uint64_t> RoomIfFull() const override;
  bool ReadsBodies() const override { return true; }
  void ReadToCarry(std::uint64_t id, std::uint32_t bytes) override;
  Time Now() const override { return file_system_.Now(); }

  void TakeProgress();
  void LookAtDisk();
  void TakeWritten();
  void TakeDamage();
  std::uint64_t OldestRead() const;
  bool IsWritten(const LiveJobs::Place& place) const;
  void Ask(const BodyReader::Request& request);
  void TakeBodies();
  void TakeCarried(const BodyReader::Answer& answer, const BodyRead& read);
  Status ApplySetAside(const Record& record);
  void NoteSetAside(const Record& record);
  void NoteSetAsideFile(std::uint64_t id, std::uint64_t bytes);
  void DropSetAside(std::uint64_t id);
  void BeginBatch();
  void HandOver();
  void HandOverMark();
  void Roll(std::uint64_t size, std::size_t frame_size = 0);
  void BeginSegment(std::uint64_t size);
  void AddSettings(std::size_t frame_size);
  void AppendSettings();
  void Compact();
  void Release(std::uint64_t oldest);
  // What the writer's thread does, for a journal that has none.
  void WriteAll();
  // Room behind a large record, reserved for deletions while the disk is full.
  std::uint64_t Slack() const { return options_.segment_size / 16; }
  std::uint64_t Limit() const { return Full() ? segment_size_ : limit_; }
  std::uint64_t Room() const {
    const std::uint64_t used = offset_ + batch_.bytes.size();
    return Limit() - std::min(Limit(), used);
  }
  bool Full() const { return !progress_.full.ok(); }

  static constexpr int kReaders = 8;
  static constexpr Time kVerifyEvery = 7 * 24 * 3600 * kSecond;
  static constexpr std::size_t kTakenAtOnce = 4 << 20;  // bytes of bodies in a round
  static constexpr std::size_t kHandOverBytes = 1 << 20;
  static constexpr std::uint64_t kRecordRoom = 64 * 1024;  // of a large job, beside its body

  const WalOptions options_;
  FileSystem& file_system_;
  const std::unique_ptr<File> lock_;
  const std::unique_ptr<Directory> directory_;
  StateFile state_file_;  // of the writer's thread while that runs
  const std::uint64_t journal_salt_;
  LiveState* state_ = nullptr;
  std::unique_ptr<WalWriter> writer_;
  std::function<void(Lsn)> on_durable_;
  std::function<void(bool)> on_stuck_;
  WriterProgress progress_;
  DiskWatch disk_;
  RecordCodec codec_;
  SegmentedLog log_{*this};
  Compactor& compactor_ = log_.compactor();
  JournalStats stats_;
  std::string torn_;

  // The segment being written, as far as it was handed over, and the batch that gathers.
  std::uint64_t segment_ = 0;
  std::uint64_t segment_size_ = 0;
  std::uint64_t limit_ = 0;  // of what is written while the disk is not full
  std::uint64_t salt_ = 0;
  std::uint64_t offset_ = 0;
  Batch batch_;
  Lsn lsn_ = 0;
  std::uint64_t oldest_ = 0;  // as the last batch says
  std::uint64_t handed_bytes_ = 0;
  std::uint64_t handed_batches_ = 0;

  // Bodies that are read back.
  struct Handed {
    std::uint64_t batch = 0;  // its number among those handed over
    std::uint64_t segment = 0;
    std::uint64_t end = 0;  // offset
  };
  std::unique_ptr<BodyReader> reader_;
  std::deque<Handed> handed_;  // batches that are not known to be written
  std::uint64_t written_segment_ = 0, written_end_ = 0;
  std::unique_ptr<Verifier> verifier_;
  VerifyStats verified_;              // without what the verifier knows
  std::uint64_t verified_to_ = 0;     // the newest segment that it reads
  Time verify_next_ = 0;              // when it begins anew
  Time now_ = 0;                      // of the last Tick
  Time look_again_ = 0;               // at the disk
  std::unique_ptr<Indexer> indexer_;  // nullptr: no indexes are wanted
  std::uint64_t left_out_ = 0;        // bytes that an index of the current segment leaves out
  std::deque<std::uint64_t> sealed_;  // worth an index, and not known to be written
  std::vector<BodyReader::Request> unwritten_;  // asked for before they were written
  struct SetAsideBody {
    std::uint32_t bytes = 0;  // 0: the file cannot be read
    bool used = false;        // the job's record is without its body
    Lsn gone = 0;             // the file goes when this is durable; 0: it is needed
    std::uint64_t file = 0;   // its bytes
  };
  std::map<std::uint64_t, SetAsideBody> aside_;           // by job
  std::uint64_t aside_bytes_ = 0;                         // of all files
  std::deque<std::pair<Lsn, std::uint64_t>> aside_gone_;  // what is gone, oldest first
  bool rolling_ = false;          // the segment takes any record, and grows to hold it
  bool settings_missed_ = false;  // there was no room for them
  bool spare_wanted_ = false;
  JournalState kept_;  // as of the start; next_id as of now
  bool start_is_kept_ = false;
  bool ended_ = false;
};

}  // namespace gearstalk
