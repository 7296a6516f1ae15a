#include "broker/journal/wal/wal_salvage.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "broker/journal/no_events.h"
#include "broker/journal/wal/directory_lock.h"
#include "broker/journal/wal/state_file.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_scan.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kFlushBytes = 1 << 20;
constexpr std::uint64_t kIdBlock = 1024;  // ids that one record takes, at most

// What every segment of the new journal begins with. Its jobs are copied record by record and
// never captured.
class Settings final : public LiveState {
 public:
  void Note(const Record& record) {
    next_id_ = std::max(next_id_, NextIdAfter(record));
    if (record.kind != Record::Kind::kTube) return;
    const auto known = tubes_.try_emplace(std::string(record.tube)).first;
    Tube& tube = known->second;
    tube.record = record;
    tube.record.tube = known->first;
    tube.policy.assign(record.policy.begin(), record.policy.end());
    tube.views.assign(tube.policy.begin(), tube.policy.end());
    tube.record.policy = tube.views;
  }
  void TakeIds(std::uint64_t next) { next_id_ = std::max(next_id_, next); }
  void SkipIds(std::uint64_t count) { next_id_ += count; }

  Status Apply(const Record& /*record*/) override { return {}; }
  bool Capture(std::uint64_t /*id*/, const std::function<void(const Record&)>& /*emit*/) override {
    return false;
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    emit(NextId());
    for (const auto& [name, tube] : tubes_) emit(tube.record);
  }
  Record NextId() const {
    Record record;
    record.kind = Record::Kind::kNextId;
    record.id = next_id_;
    return record;
  }

 private:
  // The text of `record` lies in the other fields, its name in the key.
  struct Tube {
    Record record;
    std::vector<std::string> policy;
    std::vector<std::string_view> views;
  };
  std::map<std::string, Tube> tubes_;
  std::uint64_t next_id_ = 1;
};

class Salvage {
 public:
  Salvage(FileSystem& file_system, std::string directory, std::string& report,
          std::uint64_t segment_size)
      : file_system_(file_system),
        directory_(std::move(directory)),
        copy_(directory_ + "/salvaged"),
        report_(report),
        segment_size_(segment_size) {}

  Status Run() {
    const Result<bool> has = HasJournal(file_system_, directory_);
    if (!has.ok()) return has.status();
    if (!has.value()) return NoJournal(directory_);
    const auto lock = LockDirectory(file_system_, directory_);
    if (!lock.ok()) return lock.status();
    file_system_.GiveToOwnerOf(directory_, directory_ + "/lock");
    bool interrupted = false;
    if (Status status = LookForEarlier(interrupted); !status.ok()) return status;
    if (!interrupted) {
      if (Status status = Copy(); !status.ok()) return status;
    }
    return TakeOver();
  }

 private:
  // Whether an earlier run was interrupted while it moved its segments into place. Removes what a
  // run left that was interrupted before.
  Status LookForEarlier(bool& interrupted) {
    std::vector<FoundSegment> copied, old;
    Status status = FindSegments(file_system_, copy_, copied);
    if (!status.ok()) return {};  // there is none
    if (status = FindSegments(file_system_, directory_, old); !status.ok()) return status;
    const std::uint64_t newest = old.empty() ? 0 : old.back().number;
    const Result<std::optional<JournalState>> state = ReadState(file_system_, copy_);
    const bool state_is_left = copied.empty() && state.ok() && state.value();
    interrupted = state_is_left ? state.value()->segment == newest
                                : !copied.empty() && copied.back().number < newest;
    return interrupted ? Status() : RemoveCopy();
  }

  Status RemoveCopy() {
    std::vector<std::string> names;
    if (const int error = file_system_.List(copy_, names)) return Failed(error, "list", copy_);
    for (const std::string& name : names) {
      const std::string path = copy_ + "/" + name;
      if (const int error = file_system_.Unlink(path)) return Failed(error, "unlink", path);
    }
    const int error = file_system_.RemoveDirectory(copy_);
    return Failed(error, "rmdir", copy_);
  }

  Status Copy() {
    WalScan scan(file_system_, directory_);
    if (Status status = FindNewest(); !status.ok()) return status;
    WalOptions options;
    options.directory = copy_;
    options.file_system = &file_system_;
    options.segment_size = segment_size_;
    options.own_thread = false;
    options.compact = false;
    options.sync = SyncMode::kOff;
    options.first_segment = newest_ + 1;
    auto opened = WalJournal::Open(std::move(options));
    if (!opened.ok()) return opened.status();
    WalJournal& journal = *opened.value();
    Settings settings;
    NoEvents events;
    if (Status status = journal.Start(settings, events); !status.ok()) return status;
    Status status = scan.Run([&](const Record& record, std::uint64_t /*segment*/) {
      ++records_;
      settings.Note(record);
      if (record.kind == Record::Kind::kEnd) return;
      journal.Append(record);
      if (journal.WaitingBytes() < kFlushBytes) return;
      journal.Flush(0);
      journal.OnNotify();
    });
    if (!status.ok()) return status;
    // A lost record may have taken an id or a block of ids.
    settings.SkipIds(scan.most_lost_records() * kIdBlock);
    if (scan.kept()) settings.TakeIds(scan.kept()->next_id);
    journal.Append(settings.NextId());
    if (status = journal.Close(); !status.ok()) return status;
    Report(scan);
    if (status = KeepStarts(scan); !status.ok()) return status;
    return RemoveAllBut(journal.Segments().current);
  }

  // The next broker has to be distinct from all that wrote here.
  Status KeepStarts(const WalScan& scan) {
    Result<std::optional<JournalState>> read = ReadState(file_system_, copy_);
    if (!read.ok()) return read.status();
    if (!read.value()) return {Code::kIo, copy_ + ": there was no space for its state"};
    JournalState state = *read.value();
    state.starts = std::max(state.starts, scan.kept() ? scan.kept()->starts : 0);
    return WriteState(file_system_, copy_, state).ToStatus();
  }

  Status FindNewest() {
    std::vector<FoundSegment> old;
    if (Status status = FindSegments(file_system_, directory_, old); !status.ok()) return status;
    newest_ = old.empty() ? 0 : old.back().number;
    const Result<std::optional<JournalState>> kept = ReadState(file_system_, directory_);
    if (kept.ok() && kept.value()) newest_ = std::max(newest_, kept.value()->segment);
    return {};
  }

  void Report(const WalScan& scan) {
    report_ += std::to_string(records_) + " records were read\n";
    for (const WalGap& gap : scan.gaps()) {
      report_ += (gap.torn ? "cut off: " : "lost: ") + gap.ToString() + "\n";
    }
    if (!scan.damaged()) {
      report_ += "nothing was lost\n";
      return;
    }
    const std::uint64_t lost = scan.lost_records();
    report_ += (scan.lost_is_known() ? "" : "at least ") + std::to_string(lost) +
               (lost == 1 ? " record was lost\n" : " records were lost\n");
    report_ +=
        "jobs put or changed by the lost records are missing or as they were before; jobs deleted "
        "by them are back\n";
  }

  // Removes all files but the segments and the state, also the segment that was prepared ahead.
  Status RemoveAllBut(std::uint64_t last) {
    std::vector<std::string> names;
    if (const int error = file_system_.List(copy_, names)) return Failed(error, "list", copy_);
    for (const std::string& name : names) {
      const std::uint64_t number = SegmentNumber(name);
      const std::string path = copy_ + "/" + name;
      if ((number != 0 && number <= last) || name == kStateName) {
        if (const int error = file_system_.GiveToOwnerOf(directory_, path)) {
          return Failed(error, "chown", path);
        }
        continue;
      }
      if (const int error = file_system_.Unlink(path)) return Failed(error, "unlink", path);
    }
    return Failed(SyncDirectory(file_system_, copy_), "fsync", copy_);
  }

  Status TakeOver() {
    std::vector<FoundSegment> copied;
    if (Status status = FindSegments(file_system_, copy_, copied); !status.ok()) return status;
    std::uint64_t first = 0;
    if (Status status = FindFirst(copied, first); !status.ok()) return status;
    for (auto segment = copied.rbegin(); segment != copied.rend(); ++segment) {
      if (Status status = Move(SegmentName(segment->number)); !status.ok()) return status;
    }
    // Until now the state file says that the old segments are needed.
    if (Status status = Move(kStateName); !status.ok()) return status;
    if (const int error = file_system_.RemoveDirectory(copy_)) return Failed(error, "rmdir", copy_);
    return SetAside(first);
  }

  // Finds the oldest of the new segments. If all of them were moved already, the newest one names
  // it.
  Status FindFirst(const std::vector<FoundSegment>& copied, std::uint64_t& first) {
    if (!copied.empty()) {
      first = copied.front().number;
      return {};
    }
    std::vector<FoundSegment> moved;
    if (Status status = FindSegments(file_system_, directory_, moved); !status.ok()) return status;
    if (moved.empty()) return {};
    ByteBuffer bytes;
    Status status = LoadSegment(file_system_, moved.back(), bytes);
    Mark mark;
    if (status.ok() && LastMark(bytes.view(), moved.back().header, mark)) first = mark.oldest;
    return status;
  }

  Status Move(const std::string& name) {
    const std::string from = copy_ + "/" + name;
    if (const int error = file_system_.Rename(from, directory_ + "/" + name)) {
      return Failed(error, "rename", from);
    }
    for (const std::string& changed : {directory_, copy_}) {
      if (const int error = SyncDirectory(file_system_, changed)) {
        return Failed(error, "fsync", changed);
      }
    }
    return {};
  }

  Status SetAside(std::uint64_t first) {
    std::vector<FoundSegment> all;
    if (Status status = FindSegments(file_system_, directory_, all); !status.ok()) return status;
    for (const FoundSegment& segment : all) {
      if (segment.number >= first) continue;
      const std::string to = segment.path + ".damaged";
      if (const int error = file_system_.Rename(segment.path, to)) {
        return Failed(error, "rename", segment.path);
      }
    }
    report_ += "the old segments are kept as " + directory_ + "/*.wal.damaged\n";
    return Failed(SyncDirectory(file_system_, directory_), "fsync", directory_);
  }

  static Status Failed(int error, const char* call, const std::string& path) {
    return Fault{error, call, path}.ToStatus();
  }

  FileSystem& file_system_;
  const std::string directory_;
  const std::string copy_;
  std::string& report_;
  const std::uint64_t segment_size_;
  std::uint64_t newest_ = 0;  // highest number of the old segments
  std::uint64_t records_ = 0;
};

}  // namespace

Status SalvageJournal(FileSystem& file_system, const std::string& directory, std::string& report,
                      std::uint64_t segment_size) {
  return Salvage(file_system, directory, report, segment_size).Run();
}

}  // namespace gearstalk
