#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "broker/journal/file_system.h"
#include "broker/journal/journal.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/wal_compactor.h"
#include "broker/journal/wal_format.h"
#include "broker/journal/wal_recovery.h"
#include "broker/journal/wal_writer.h"

namespace gearstalk {

struct WalOptions {
  std::string directory;  // made if it is not there, its parent must be
  SyncMode sync = SyncMode::kAlways;
  Time interval = 0;                                 // of SyncMode::kInterval
  std::uint64_t segment_size = kDefaultSegmentSize;  // bytes; at least kLeastSegmentSize
  // During Replay, every so often.
  std::function<void(const ReplayProgress&)> on_progress;

  // For tools and tests.
  FileSystem* file_system = nullptr;  // nullptr: SystemFileSystem()
  bool own_thread = true;             // false: Flush itself writes and syncs
  bool compact = true;
  std::uint64_t first_segment = 1;    // number of the first segment of a new journal
  std::optional<std::uint64_t> salt;  // drawn at random if not given
};

// The journal in segment files of one directory. docs/journal-format.md has the files,
// docs/durability.md what is promised.
//
// On the loop's thread: Append encodes into the batch that gathers, Flush hands it to the writer's
// thread, and when NotifyFd gets readable OnNotify learns how far the disk is. Nothing here waits
// for the disk but Replay and Close.
class WalJournal final : public Journal {
 public:
  // Takes the directory; kInvalid if another process has it.
  static Result<std::unique_ptr<WalJournal>> Open(WalOptions options);
  ~WalJournal() override;

  Status Replay(LiveState& state) override;
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override;
  bool Accepts(Record::Kind kind) const override;
  Status Health() const override;
  void Flush(Time now) override;
  Lsn Durable() const override { return progress_.durable; }
  void SetOnDurable(std::function<void(Lsn)> on_durable) override;
  void SetOnStuck(const std::function<void(bool for_good)>& on_stuck) override;
  JournalStats Stats() const override;

  // Both from Replay on. The loop calls OnNotify when the descriptor is readable, and Flush in the
  // same round: compaction goes on there.
  int NotifyFd() const { return writer_->notify_fd(); }
  void OnNotify();

  std::uint64_t WaitingBytes() const override;
  // What Replay cut off at the end of the log, in words for a person; empty if nothing.
  const std::string& torn() const { return torn_; }

  // Writes and syncs everything, ends the thread. Health() at the end. Nothing may follow.
  Status Close();

 private:
  WalJournal(WalOptions options, std::unique_ptr<File> lock);

  Status Repair(const WalRecovery& recovery);
  Status RewriteTail(const WalRecovery& recovery);
  Status StartWriting(const WalRecovery& recovery);
  std::size_t AppendFrame(const Record& record);
  void Account(const Record& record, std::size_t size);
  void BeginBatch();
  void HandOver();
  void HandOverMark();
  void Roll(std::uint64_t size, std::size_t frame_size = 0);
  std::size_t AppendSettings();
  void Compact();
  void Release();
  void Work();
  std::uint64_t Room() const { return segment_size_ - offset_ - batch_.bytes.size(); }
  bool Full() const { return !progress_.full.ok(); }

  static constexpr std::size_t kHandOverBytes = 1 << 20;
  static constexpr int kCompactSteps = 4096;

  const WalOptions options_;
  FileSystem& file_system_;
  const std::unique_ptr<File> lock_;
  const std::uint64_t journal_salt_;
  LiveState* state_ = nullptr;
  std::unique_ptr<WalWriter> writer_;
  std::function<void(Lsn)> on_durable_;
  std::function<void(bool)> on_stuck_;
  WriterProgress progress_;
  RecordCodec codec_;
  WalCompactor compactor_;
  JournalStats stats_;
  std::string torn_;

  // The segment being written, as far as it was handed over, and the batch that gathers.
  std::uint64_t segment_ = 0;
  std::uint64_t segment_size_ = 0;
  std::uint64_t salt_ = 0;
  std::uint64_t offset_ = 0;
  Batch batch_;
  Lsn lsn_ = 0;
  std::uint64_t oldest_ = 0;  // as the last batch says
  std::uint64_t handed_bytes_ = 0;
  bool rolling_ = false;
  bool settings_missed_ = false;  // there was no room for them
  bool spare_wanted_ = false;
};

}  // namespace gearstalk
