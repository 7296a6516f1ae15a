#include "broker/journal/wal/wal_salvage.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "broker/journal/journal.h"
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
  Record NextId() const { return NextIdRecord(next_id_); }

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
    GS_TRY(FindJournal(file_system_, directory_));
    const auto lock = GS_TRY(LockDirectory(file_system_, directory_));
    file_system_.GiveToOwnerOf(directory_, directory_ + "/lock");
    const bool interrupted = GS_TRY(LookForEarlier());
    if (!interrupted) GS_TRY(Copy());
    return TakeOver();
  }

 private:
  // Whether an earlier run was interrupted while it moved its segments into place. Removes what a
  // run left that was interrupted before.
  Result<bool> LookForEarlier() {
    std::vector<std::string> names;
    const int error = file_system_.List(copy_, names);
    if (error == -ENOENT) return false;
    GS_TRY(Check(error, "list", copy_));
    const std::vector<FoundSegment> copied = GS_TRY(FindSegments(file_system_, copy_));
    const std::vector<FoundSegment> old = GS_TRY(FindSegments(file_system_, directory_));
    const std::uint64_t newest = old.empty() ? 0 : old.back().number;
    // The newest segment of the copy is moved first, its state last.
    bool interrupted = copied.empty() || copied.back().number < newest;
    if (interrupted) {
      const Result<std::optional<JournalState>> state = ReadState(file_system_, copy_);
      // A copy without segments may be one that had just begun, and its state half written.
      const bool half = !state.ok() && copied.empty() && state.status().code() == Code::kCorrupt;
      if (!state.ok() && !half) return state.status();
      interrupted = state.ok() && state.value() && state.value()->segment == newest;
    }
    if (!interrupted) GS_TRY(RemoveCopy());
    return interrupted;
  }

  Status RemoveCopy() {
    std::vector<std::string> names;
    GS_TRY(Check(file_system_.List(copy_, names), "list", copy_));
    for (const std::string& name : names) {
      const std::string path = copy_ + "/" + name;
      GS_TRY(Check(file_system_.Unlink(path), "unlink", path));
    }
    return Check(file_system_.RemoveDirectory(copy_), "rmdir", copy_);
  }

  Status Copy() {
    WalScan scan(file_system_, directory_);
    GS_TRY(FindNewest());
    WalOptions options;
    options.directory = copy_;
    options.file_system = &file_system_;
    options.segment_size = segment_size_;
    options.own_thread = false;
    options.compact = false;
    options.sync = Sync::kSystem;
    options.first_segment = newest_ + 1;
    const auto opened = GS_TRY(WalJournal::Open(std::move(options)));
    WalJournal& journal = *opened;
    Settings settings;
    NoEvents events;
    GS_TRY(journal.Start(settings, events));
    GS_TRY(scan.Run([&](const Record& record, std::uint64_t /*segment*/) {
      ++records_;
      settings.Note(record);
      if (record.kind == Record::Kind::kEnd) return;
      journal.Append(record);
      if (journal.WaitingBytes() < kFlushBytes) return;
      journal.Flush(0);
      journal.OnNotify();
    }));
    // A lost record may have taken an id or a block of ids.
    settings.SkipIds(scan.most_lost_records() * kIdBlock);
    if (scan.kept()) settings.TakeIds(scan.kept()->next_id);
    journal.Append(settings.NextId());
    GS_TRY(journal.Close());
    Report(scan);
    const std::uint64_t last = journal.Segments().current;
    GS_TRY(CompleteState(scan, last));
    return RemoveAllBut(last);
  }

  // The next broker has to be distinct from all that wrote here; a run that goes on looks for the
  // last segment.
  Status CompleteState(const WalScan& scan, std::uint64_t last) {
    std::optional<JournalState> state = GS_TRY(ReadState(file_system_, copy_));
    if (!state) return {Code::kIo, copy_ + ": there was no space for its state"};
    state->starts = std::max(state->starts, scan.kept() ? scan.kept()->starts : 0);
    state->segment = last;
    return WriteState(file_system_, copy_, *state).ToStatus();
  }

  Status FindNewest() {
    const std::vector<FoundSegment> old = GS_TRY(FindSegments(file_system_, directory_));
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
    GS_TRY(Check(file_system_.List(copy_, names), "list", copy_));
    for (const std::string& name : names) {
      const std::uint64_t number = SegmentNumber(name);
      const std::string path = copy_ + "/" + name;
      if ((number != 0 && number <= last) || name == kStateName) {
        GS_TRY(Check(file_system_.GiveToOwnerOf(directory_, path), "chown", path));
        continue;
      }
      GS_TRY(Check(file_system_.Unlink(path), "unlink", path));
    }
    return Check(SyncDirectory(file_system_, copy_), "fsync", copy_);
  }

  Status TakeOver() {
    const std::vector<FoundSegment> copied = GS_TRY(FindSegments(file_system_, copy_));
    const std::uint64_t first = GS_TRY(FindFirst(copied));
    for (auto segment = copied.rbegin(); segment != copied.rend(); ++segment) {
      GS_TRY(Move(SegmentName(segment->number)));
    }
    // Until now the state file says that the old segments are needed.
    GS_TRY(Move(kStateName));
    GS_TRY(Check(file_system_.RemoveDirectory(copy_), "rmdir", copy_));
    return SetAside(first);
  }

  // Finds the oldest of the new segments. If all of them were moved already, the newest one names
  // it.
  Result<std::uint64_t> FindFirst(const std::vector<FoundSegment>& copied) {
    if (!copied.empty()) return copied.front().number;
    const std::vector<FoundSegment> moved = GS_TRY(FindSegments(file_system_, directory_));
    if (moved.empty()) return std::uint64_t{0};
    ByteBuffer bytes;
    GS_TRY(LoadSegment(file_system_, moved.back(), bytes));
    Mark mark;
    return LastMark(bytes.view(), moved.back().header, mark) ? mark.oldest : std::uint64_t{0};
  }

  Status Move(const std::string& name) {
    const std::string from = copy_ + "/" + name;
    GS_TRY(Check(file_system_.Rename(from, directory_ + "/" + name), "rename", from));
    for (const std::string& changed : {directory_, copy_}) {
      GS_TRY(Check(SyncDirectory(file_system_, changed), "fsync", changed));
    }
    return {};
  }

  Status SetAside(std::uint64_t first) {
    const std::vector<FoundSegment> all = GS_TRY(FindSegments(file_system_, directory_));
    for (const FoundSegment& segment : all) {
      if (segment.number >= first) continue;
      const int error = file_system_.Rename(segment.path, segment.path + ".damaged");
      GS_TRY(Check(error, "rename", segment.path));
    }
    report_ += "the old segments are kept as " + directory_ + "/*.wal.damaged\n";
    return Check(SyncDirectory(file_system_, directory_), "fsync", directory_);
  }

  static Status Check(int error, const char* call, const std::string& path) {
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
