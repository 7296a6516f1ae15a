#include "broker/journal/wal_journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "broker/base/check.h"
#include "broker/journal/directory_lock.h"
#include "broker/journal/wal_format.h"

namespace gearstalk {
namespace {

std::uint64_t RandomSalt() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

Status MakeDirectory(FileSystem& file_system, const std::string& path) {
  const int error = file_system.MakeDirectory(path);
  if (error == -EEXIST) return {};
  if (error != 0) return Fault{error, "mkdir", path}.ToStatus();
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return Fault{file_system.SyncDirectory(parent), "fsync", parent}.ToStatus();
}

}  // namespace

Result<std::unique_ptr<WalJournal>> WalJournal::Open(WalOptions options) {
  FileSystem& file_system =
      options.file_system != nullptr ? *options.file_system : SystemFileSystem();
  options.segment_size = std::max(options.segment_size, kLeastSegmentSize);
  while (options.directory.size() > 1 && options.directory.back() == '/') {
    options.directory.pop_back();
  }
  if (Status status = MakeDirectory(file_system, options.directory); !status.ok()) return status;
  auto lock = LockDirectory(file_system, options.directory);
  if (!lock.ok()) return lock.status();
  return std::unique_ptr<WalJournal>(new WalJournal(std::move(options), std::move(lock.value())));
}

WalJournal::WalJournal(WalOptions options, std::unique_ptr<File> lock)
    : options_(std::move(options)),
      file_system_(options_.file_system != nullptr ? *options_.file_system : SystemFileSystem()),
      lock_(std::move(lock)),
      journal_salt_(options_.salt ? *options_.salt : RandomSalt()) {}

WalJournal::~WalJournal() = default;

Status WalJournal::Replay(LiveState& state) {
  GS_CHECK(state_ == nullptr);
  state_ = &state;
  WalRecovery recovery(file_system_, options_.directory);
  Status status = recovery.Run(
      [this](const WalRecovery::Segment& segment) {
        compactor_.Begin(segment.number, segment.size);
      },
      [this, &state](const Record& record, std::size_t size) {
        Account(record, size);
        return state.Apply(record);
      },
      options_.on_progress);
  if (!status.ok()) return status;
  if (status = Repair(recovery); !status.ok()) return status;
  return StartWriting(recovery);
}

// Makes the files what was read: from here on the log ends where reading ended, on disk too.
Status WalJournal::Repair(const WalRecovery& recovery) {
  torn_ = recovery.torn();
  if (Status status = RewriteTail(recovery); !status.ok()) return status;
  for (const WalRecovery::Segment& segment : recovery.released()) {
    if (const int error = file_system_.Unlink(segment.path)) {
      return Fault{error, "unlink", segment.path}.ToStatus();
    }
  }
  const std::string spare = options_.directory + "/" + kSpareName;
  const int error = file_system_.Unlink(spare);
  if (error != 0 && error != -ENOENT) return Fault{error, "unlink", spare}.ToStatus();
  return Fault{file_system_.SyncDirectory(options_.directory), "fsync", options_.directory}
      .ToStatus();
}

// What was read may be in memory only, and a sync that failed earlier would not be repeated for
// it: so what is not known to be on disk is written once more.
Status WalJournal::RewriteTail(const WalRecovery& recovery) {
  if (recovery.segments().empty()) return {};
  const std::string& path = recovery.segments().back().path;
  const auto opened = file_system_.Open(path, FileSystem::Mode::kWrite);
  if (opened.error != 0) return Fault{opened.error, "open", path}.ToStatus();
  File& file = *opened.file;
  ByteBuffer tail;
  const std::size_t size = recovery.used() - recovery.synced();
  const std::int64_t got = ReadFully(file, recovery.synced(), tail.Extend(size), size);
  if (got < 0) return Fault{static_cast<int>(got), "read", path}.ToStatus();
  if (const int error = WriteFully(file, recovery.synced(), tail.view())) {
    return Fault{error, "pwrite", path}.ToStatus();
  }
  if (const int error = file.Truncate(recovery.used())) {
    return Fault{error, "ftruncate", path}.ToStatus();
  }
  return Fault{file.Sync(), "fdatasync", path}.ToStatus();
}

Status WalJournal::StartWriting(const WalRecovery& recovery) {
  SegmentFiles files(file_system_, options_.directory, options_.segment_size, journal_salt_);
  segment_ = options_.first_segment - 1;
  for (const WalRecovery::Segment& segment : recovery.segments()) {
    const bool last = &segment == &recovery.segments().back();
    files.Adopt(segment.number, last ? recovery.used() : segment.size);
    segment_ = segment.number;
  }
  for (const WalRecovery::Segment& segment : recovery.prepared()) {
    if (Fault fault = files.AdoptPrepared(segment.number, segment.size)) return fault.ToStatus();
  }
  if (compactor_.current() > segment_) compactor_.DropCurrent();
  if (segment_ != 0 && compactor_.segments() > 0) compactor_.Resize(recovery.used());
  files.SetCurrent(segment_);
  const Fault fault = files.PrepareWhatFits();
  if (fault && !fault.no_space()) return fault.ToStatus();
  const std::uint64_t size = files.Prepared() ? files.prepared_size() : options_.segment_size;
  lsn_ = recovery.last();
  WalWriter::Options options{options_.sync, options_.interval, fault.ToStatus()};
  writer_ = std::make_unique<WalWriter>(file_system_, std::move(files), lsn_, options);
  progress_ = writer_->Progress();
  Roll(size);
  oldest_ = compactor_.oldest();
  compactor_.EarnFromStart();
  if (options_.own_thread) writer_->Start();
  Flush(0);
  return {};
}

Lsn WalJournal::Append(const Record& record) {
  if (!progress_.failure.ok()) return ++lsn_;
  if (record.kind == Record::Kind::kNextId && Full() && !Accepts(Record::Kind::kDelete)) {
    settings_missed_ = true;
    return lsn_;
  }
  const std::size_t size = AppendFrame(record);
  Account(record, size);
  if (batch_.bytes.size() >= kHandOverBytes) HandOver();
  return lsn_;
}

// Appends to the batch that gathers, in the next segment if there is no room in this one.
std::size_t WalJournal::AppendFrame(const Record& record) {
  if (batch_.bytes.empty()) BeginBatch();
  ByteBuffer& bytes = batch_.bytes;
  std::size_t at = bytes.size();
  bytes.Extend(kFrameHeaderSize);
  const std::size_t record_size = codec_.Encode(record, bytes);
  const std::size_t body_size = record.body.size();
  if (body_size > 0) std::memcpy(bytes.Extend(body_size), record.body.data(), body_size);
  const std::size_t size = bytes.size() - at;
  if (!rolling_ && offset_ + bytes.size() > segment_size_) {
    const std::string frame(bytes.data() + at, size);
    bytes.Shrink(at);
    Roll(options_.segment_size, size);
    at = bytes.size();
    std::memcpy(bytes.Extend(size), frame.data(), size);
  }
  SealFrame(bytes.data() + at, static_cast<std::uint32_t>(record_size),
            static_cast<std::uint32_t>(body_size), salt_, offset_ + at);
  batch_.last = ++lsn_;
  ++stats_.appends;
  stats_.appended_bytes += size;
  return size;
}

void WalJournal::Account(const Record& record, std::size_t size) {
  switch (record.kind) {
    case Record::Kind::kPut:
      compactor_.OnPut(record.id, size);
      break;
    case Record::Kind::kDelete:
      compactor_.OnDelete(record.id, size);
      break;
    case Record::Kind::kChange:
    case Record::Kind::kTube:
    case Record::Kind::kNextId:
      compactor_.OnOther(size);
      break;
  }
}

void WalJournal::BeginBatch() {
  batch_ = writer_->NewBatch();
  batch_.bytes.Clear();
  batch_.bytes.Extend(kMarkSize);
  batch_.first = lsn_ + 1;
  batch_.last = lsn_;
  batch_.barrier = false;
}

void WalJournal::HandOver() {
  const bool has_content = batch_.last >= batch_.first || batch_.barrier;
  if (!batch_.bytes.empty() && has_content) {
    batch_.segment = segment_;
    batch_.segment_size = segment_size_;
    batch_.offset = offset_;
    batch_.oldest = oldest_;
    offset_ += batch_.bytes.size();
    handed_bytes_ += batch_.bytes.size();
    writer_->Submit(std::move(batch_));
  }
  batch_ = {};
}

// A batch of nothing: that everything before is on disk is what it says.
void WalJournal::HandOverMark() {
  HandOver();
  if (Room() < kMarkSize) Roll(options_.segment_size);
  HandOver();
  BeginBatch();
  batch_.barrier = true;
  HandOver();
}

// Goes on in the next segment, which begins with all settings, so that the older segments are not
// needed for them, and is large enough for the frame that comes next.
void WalJournal::Roll(std::uint64_t size, std::size_t frame_size) {
  HandOver();
  if (segment_size_ != 0) compactor_.Resize(SealedSize(offset_, segment_size_));
  ++segment_;
  salt_ = SegmentSalt(journal_salt_, segment_);
  offset_ = kSegmentHeaderSize;
  segment_size_ = size;
  compactor_.Begin(segment_, segment_size_);
  rolling_ = true;
  BeginBatch();
  const std::size_t settings = AppendSettings();
  rolling_ = false;
  const std::uint64_t needed = offset_ + batch_.bytes.size() + frame_size + 2 * kMarkSize;
  segment_size_ = std::max({segment_size_, needed, std::uint64_t{4} * settings});
  compactor_.Resize(segment_size_);
}

std::size_t WalJournal::AppendSettings() {
  std::size_t total = 0;
  state_->CaptureSettings([this, &total](const Record& record) { total += AppendFrame(record); });
  compactor_.OnSettings(total);
  settings_missed_ = false;
  return total;
}

bool WalJournal::Accepts(Record::Kind kind) const {
  if (!progress_.failure.ok()) return false;
  if (!Full()) return true;
  const std::uint64_t kept = std::min<std::uint64_t>(4096, segment_size_ / 16);
  return kind == Record::Kind::kDelete && !progress_.stalled && Room() > kept;
}

Status WalJournal::Health() const {
  return progress_.failure.ok() ? progress_.full : progress_.failure;
}

void WalJournal::Flush(Time /*now*/) {
  if (!progress_.failure.ok()) return;
  if (settings_missed_ && !Full()) AppendSettings();
  if (options_.compact) Compact();
  HandOver();
  if (oldest_ != compactor_.oldest()) Release();
  const bool wanted = compactor_.RoomForSpare();
  if (wanted != spare_wanted_) writer_->WantSpare(wanted);
  spare_wanted_ = wanted;
  if (!options_.own_thread) Work();
}

void WalJournal::Compact() {
  std::optional<std::uint64_t> room;
  if (Full()) room = Room();
  std::uint64_t allowance = progress_.stalled ? 0 : compactor_.Allowance(room);
  int steps = kCompactSteps;
  while (allowance > 0 && !compactor_.OldestIsDone()) {
    const std::optional<std::uint64_t> id = compactor_.NextLive(steps);
    if (!id) {
      writer_->Notify();  // the next round goes on looking
      break;
    }
    std::size_t size = 1;
    const bool lives = state_->Capture(*id, [this, &size](const Record& record) {
      size = AppendFrame(record);
      compactor_.OnCarried(record.id, size);
      ++stats_.migrated;
      stats_.migrated_bytes += size;
    });
    if (!lives) compactor_.Forget(*id);
    allowance -= std::min<std::uint64_t>(allowance, size);
  }
  for (; compactor_.OldestIsDone(); compactor_.DropOldest()) ++stats_.segments_released;
}

// The segments that are done with leave when all that was carried out of them is on disk, and when
// the log says on disk that it begins behind them.
void WalJournal::Release() {
  oldest_ = compactor_.oldest();
  HandOverMark();
}

// Without a thread of its own, the writer works here.
void WalJournal::Work() {
  while (writer_->Work() == 0) {
  }
}

void WalJournal::SetOnDurable(std::function<void(Lsn)> on_durable) {
  on_durable_ = std::move(on_durable);
}

void WalJournal::SetOnStuck(const std::function<void(bool for_good)>& on_stuck) {
  on_stuck_ = on_stuck;
}

void WalJournal::OnNotify() {
  const Lsn before = progress_.durable;
  const bool had_failed = !progress_.failure.ok();
  const bool was_stalled = progress_.stalled;
  progress_ = writer_->Progress();
  if (progress_.durable > before && on_durable_) on_durable_(progress_.durable);
  const bool fails = !progress_.failure.ok() && !had_failed;
  const bool stalls = progress_.stalled && !was_stalled;
  if ((fails || stalls) && on_stuck_) on_stuck_(fails);
}

std::uint64_t WalJournal::WaitingBytes() const {
  return handed_bytes_ - progress_.done_bytes + batch_.bytes.size();
}

JournalStats WalJournal::Stats() const {
  JournalStats stats = stats_;
  stats.batches = progress_.done_batches;
  stats.syncs = progress_.syncs;
  stats.sync_times = progress_.sync_times;
  stats.oldest_segment = compactor_.oldest();
  stats.current_segment = segment_;
  stats.segments = compactor_.segments();
  stats.disk_bytes = progress_.disk_bytes;
  stats.live_bytes = compactor_.live_bytes();
  stats.segment_size = options_.segment_size;
  stats.failed = !progress_.failure.ok();
  stats.full = Full();
  return stats;
}

Status WalJournal::Close() {
  if (writer_ == nullptr) return {};
  Flush(0);
  if (progress_.failure.ok()) HandOverMark();
  if (options_.own_thread) {
    writer_->Stop();
  } else {
    Work();
  }
  OnNotify();
  return Health();
}

}  // namespace gearstalk
