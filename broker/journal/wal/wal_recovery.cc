#include "broker/journal/wal/wal_recovery.h"

#include <algorithm>
#include <set>
#include <utility>

#include "broker/journal/wal/state_file.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kProgressRecords = 65536;

Status Damaged(const std::string& path, std::uint64_t offset, const std::string& what) {
  return {Code::kCorrupt, path + " at offset " + std::to_string(offset) + ": " + what};
}

// The first `size` bytes of a file, or what there is. 0 or -errno.
int LoadFile(File& file, std::uint64_t size, ByteBuffer& bytes) {
  bytes.Clear();
  char* const room = bytes.Extend(size);
  const std::int64_t got = ReadFully(file, 0, room, size);
  bytes.Shrink(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
  return static_cast<int>(std::min<std::int64_t>(got, 0));
}

}  // namespace

Result<std::vector<FoundSegment>> FindSegments(FileSystem& file_system,
                                               const std::string& directory) {
  std::vector<std::string> names;
  GS_TRY(Fault{file_system.List(directory, names), "list", directory}.ToStatus());
  std::set<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const std::uint64_t number = SegmentNumber(name)) numbers.insert(number);
  }
  std::vector<FoundSegment> found;
  for (const std::uint64_t number : numbers) {
    found.emplace_back() = GS_TRY(FindSegment(file_system, directory, number));
  }
  return found;
}

Result<FoundSegment> FindSegment(FileSystem& file_system, const std::string& directory,
                                 std::uint64_t number) {
  FoundSegment segment{number, directory + "/" + SegmentName(number), 0, {}, {}};
  const auto file = GS_TRY(OpenFile(file_system, segment.path, FileSystem::Mode::kRead));
  const std::int64_t size = file->Size();
  char bytes[kSegmentHeaderSize];
  const std::int64_t got = size < 0 ? size : ReadFully(*file, 0, bytes, sizeof bytes);
  if (got < 0) return Fault{static_cast<int>(got), "read", segment.path}.ToStatus();
  segment.size = static_cast<std::uint64_t>(size);
  segment.header_status =
      DecodeSegmentHeader({bytes, static_cast<std::size_t>(got)}, segment.header);
  if (segment.header_status.ok() && segment.header.number != number) {
    segment.header_status = {
        Code::kCorrupt, "the header is that of segment " + std::to_string(segment.header.number)};
  }
  return segment;
}

Status LoadSegment(FileSystem& file_system, const FoundSegment& segment, ByteBuffer& bytes) {
  const auto file = GS_TRY(OpenFile(file_system, segment.path, FileSystem::Mode::kRead));
  return Fault{LoadFile(*file, segment.size, bytes), "read", segment.path}.ToStatus();
}

WalRecovery::WalRecovery(FileSystem& file_system, std::string directory)
    : file_system_(file_system), directory_(std::move(directory)) {}

Status WalRecovery::Run(const Visit& visit, const std::function<void(const FoundSegment&)>& begin,
                        const std::function<void(const ReplayProgress&)>& on_progress) {
  on_progress_ = on_progress;
  std::vector<FoundSegment> found = GS_TRY(FindSegments(file_system_, directory_));
  kept_ = GS_TRY(ReadState(file_system_, directory_));
  GS_TRY(Arrange(std::move(found)));
  for (const FoundSegment& segment : log_) {
    if (on_progress_) on_progress_(progress_);
    if (begin) begin(segment);
    GS_TRY(ReadSegment(segment, &segment == &log_.back(), visit));
  }
  bytes_.Free();
  DropEmptyLast();
  if (on_progress_) on_progress_(progress_);
  return CheckKept();
}

// Compares the log with the state file: without it, damage at the end looks like an unfinished
// write.
Status WalRecovery::CheckKept() {
  if (!kept_) return {};
  const std::uint64_t newest = log_.empty() ? 0 : log_.back().number;
  if (last_ < kept_->lsn) {
    const bool other = log_.empty() || (kept_->ended && newest < kept_->segment);
    const std::string path =
        other ? directory_ + "/" + SegmentName(kept_->segment) : log_.back().path;
    return Damaged(path, other ? kSegmentHeaderSize : used_,
                   "the log ends at record " + std::to_string(last_) + ", and records up to " +
                       std::to_string(kept_->lsn) + " were on disk");
  }
  ended_ = kept_->ended && newest == kept_->segment && last_ == kept_->lsn;
  if (!ended_ || torn_.empty()) return {};
  return Damaged(torn_path_, torn_at_, "it was changed after the log had ended in order");
}

std::uint64_t WalRecovery::kept_ids() const {
  if (!kept_) return 0;
  const std::uint64_t newest = log_.empty() ? 0 : log_.back().number;
  return ended_ || newest < kept_->segment ? kept_->next_id : 0;
}

// Finds which of the files are the log.
Status WalRecovery::Arrange(std::vector<FoundSegment> found) {
  for (const FoundSegment& segment : found) {
    // Files of a newer version are refused before any file is changed.
    if (segment.header_status.code() == Code::kInvalid) {
      return {Code::kInvalid, segment.path + " is of " + segment.header_status.message()};
    }
  }
  GS_TRY(FindEnd(found));
  for (FoundSegment& segment : found) {
    if (segment.number < oldest_) {
      released_.push_back(std::move(segment));
      continue;
    }
    if (!segment.header_status.ok()) {
      return Damaged(segment.path, 0, segment.header_status.message());
    }
    const std::uint64_t expected = oldest_ + log_.size();
    if (segment.number != expected) {
      return Damaged(directory_ + "/" + SegmentName(expected), 0, "the file is missing");
    }
    progress_.total_bytes += segment.size;
    log_.push_back(std::move(segment));
  }
  return CheckStart();
}

// Checks that the last segments are there: prepared segments follow right behind them.
Status WalRecovery::CheckStart() const {
  const std::uint64_t expected = log_.empty() ? 0 : log_.back().number;
  if (kept_ && kept_->segment > expected &&
      std::ranges::find(prepared_, kept_->segment, &FoundSegment::number) == prepared_.end()) {
    return Damaged(directory_ + "/" + SegmentName(kept_->segment), 0, "the file is missing");
  }
  if (prepared_.empty()) return {};
  const std::uint64_t before = prepared_.back().number - 1;
  if (before == expected) return {};
  return Damaged(directory_ + "/" + SegmentName(before), 0, "the file is missing");
}

// The last mark of the last segment says where the log begins. Behind that segment there can be one
// that was prepared; before it one whose first batch never came to the disk.
Status WalRecovery::FindEnd(std::vector<FoundSegment>& found) {
  while (!found.empty()) {
    const FoundSegment& last = found.back();
    if (!last.header_status.ok()) return Damaged(last.path, 0, last.header_status.message());
    GS_TRY(LoadSegment(file_system_, last, bytes_));
    Mark mark;
    if (LastMark(bytes_.view(), last.header, mark)) {
      oldest_ = mark.oldest;
      return {};
    }
    if (prepared_.size() == 2) {
      return Damaged(last.path, kSegmentHeaderSize, "nothing readable is in it");
    }
    SegmentReader reader(bytes_.view(), last.header);
    if (reader.Next() == SegmentReader::Item::kBad) NoteTorn(last.path, kSegmentHeaderSize);
    prepared_.push_back(std::move(found.back()));
    found.pop_back();
  }
  return {};
}

void WalRecovery::NoteTorn(const std::string& path, std::uint64_t offset) {
  torn_path_ = path;
  torn_at_ = offset;
  torn_ =
      path + ": cut off at offset " + std::to_string(offset) + ", where a write was not finished";
}

// A segment without a complete first batch counts as not begun.
void WalRecovery::DropEmptyLast() {
  if (log_.empty() || used_ != kSegmentHeaderSize) return;
  prepared_.push_back(std::move(log_.back()));
  log_.pop_back();
  // The segment before was complete on disk when this one was begun.
  used_ = synced_ = log_.empty() ? 0 : log_.back().size;
}

Status WalRecovery::ReadSegment(const FoundSegment& segment, bool is_last, const Visit& visit) {
  if (!is_last && use_indexes_) {
    if (auto index = OpenIndex(segment)) return ReadIndex(segment, *index, visit);
  }
  GS_TRY(LoadSegment(file_system_, segment, bytes_));
  SegmentReader reader(bytes_.view(), segment.header);
  synced_ = kSegmentHeaderSize;
  SegmentReader::Item item = reader.Next();
  if (item != SegmentReader::Item::kMark && !is_last) {
    return Damaged(segment.path, reader.offset(), "its first mark cannot be read");
  }
  std::uint64_t left_out = 0;
  for (bool first = true;; first = false, item = reader.Next()) {
    if (item == SegmentReader::Item::kMark) {
      GS_TRY(Continue(reader.mark().next, reader.offset(), segment));
      if (reader.mark().durable == last_) synced_ = reader.offset();
    } else if (item == SegmentReader::Item::kRecord && !first) {
      const Frame& frame = reader.frame();
      if (frame.body.size() >= kLeastLeftOut) left_out += frame.body.size();
      GS_TRY(TakeRecord(segment, {reader.offset(), frame.size, frame.record, frame.body}, visit));
    } else {
      progress_.bytes += segment.size;
      if (left_out >= segment.size / 2) without_index_.push_back(segment.number);
      return CheckEnd(reader, item, segment, is_last);
    }
  }
}

Status WalRecovery::TakeRecord(const FoundSegment& segment, const IndexReader::Entry& entry,
                               const Visit& visit) {
  ++last_;
  offset_ = entry.offset;
  Record record;
  Status status = codec_.Decode(entry.record, entry.body, record);
  record.body_left_out = entry.left_out;
  if (!entry.hash.empty()) record.put_key = entry.hash;
  if (status.ok()) status = visit(record, entry.bytes);
  if (!status.ok()) return Damaged(segment.path, entry.offset, status.message());
  if (++progress_.records % kProgressRecords == 0 && on_progress_) {
    ReplayProgress progress = progress_;
    progress.bytes += entry.offset;
    on_progress_(progress);
  }
  return {};
}

// What comes next in the log is record `next`.
Status WalRecovery::Continue(Lsn next, std::uint64_t offset, const FoundSegment& segment) {
  if (!started_) last_ = next - 1;
  started_ = true;
  if (next != last_ + 1) {
    const std::string records =
        "records " + std::to_string(last_ + 1) + " to " + std::to_string(next - 1);
    if (!stopped_.empty()) return {Code::kCorrupt, stopped_ + ": " + records + " are missing"};
    return Damaged(segment.path, offset, records + " are missing before it");
  }
  stopped_.clear();
  return {};
}

// nullopt: there is none to be believed.
std::optional<IndexReader> WalRecovery::OpenIndex(const FoundSegment& segment) {
  const std::string path = directory_ + "/" + IndexName(segment.number);
  const auto opened = file_system_.Open(path, FileSystem::Mode::kRead);
  if (opened.error != 0) return std::nullopt;
  const std::int64_t size = opened.file->Size();
  const bool sound = size >= 0 && static_cast<std::uint64_t>(size) <= segment.size;
  if (!sound || LoadFile(*opened.file, static_cast<std::uint64_t>(size), bytes_) != 0) {
    return std::nullopt;
  }
  return IndexReader::Open(bytes_.view(), segment.header, segment.size);
}

Status WalRecovery::ReadIndex(const FoundSegment& segment, IndexReader index, const Visit& visit) {
  GS_TRY(Continue(index.first(), kSegmentHeaderSize, segment));
  IndexReader::Entry entry;
  while (index.Next(entry)) GS_TRY(TakeRecord(segment, entry, visit));
  progress_.bytes += segment.size;
  stopped_ = segment.path + " at offset " + std::to_string(index.end());
  return {};
}

// A batch that was being written when the machine stopped may leave any bytes behind the last
// record. But what was on disk before that batch cannot be missing.
Status WalRecovery::CheckEnd(const SegmentReader& reader, SegmentReader::Item item,
                             const FoundSegment& segment, bool is_last) {
  const std::uint64_t offset = reader.offset();
  stopped_ = segment.path + " at offset " + std::to_string(offset);
  if (!is_last) return {};
  used_ = offset;
  if (KnownDurable(bytes_.view(), segment.header, offset, last_ + 1)) {
    return Damaged(segment.path, offset,
                   "record " + std::to_string(last_ + 1) + " was on disk and cannot be read");
  }
  if (item == SegmentReader::Item::kBad) NoteTorn(segment.path, offset);
  return {};
}

}  // namespace gearstalk
