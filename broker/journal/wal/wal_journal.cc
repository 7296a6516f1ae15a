#include "broker/journal/wal/wal_journal.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/status.h"
#include "broker/base/threads.h"
#include "broker/journal/wal/set_aside.h"

namespace gearstalk {
namespace {

std::uint64_t RandomSalt() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

bool HasMemoryFor(std::uint64_t size) {
  void* volatile const probe = std::malloc(size);
  const bool has = probe != nullptr;
  std::free(probe);
  return has;
}

Status MakeDirectory(FileSystem& file_system, const std::string& path) {
  const int error = file_system.MakeDirectory(path);
  if (error == -EEXIST) return {};
  if (error != 0) return Fault{error, "mkdir", path}.ToStatus();
  const std::size_t slash = path.find_last_of('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return Fault{SyncDirectory(file_system, parent), "fsync", parent}.ToStatus();
}

}  // namespace

Result<std::unique_ptr<WalJournal>> WalJournal::Open(WalOptions options) {
  FileSystem& file_system = *options.file_system;
  options.segment_size = std::max(options.segment_size, kLeastSegmentSize);
  while (options.directory.size() > 1 && options.directory.back() == '/') {
    options.directory.pop_back();
  }
  GS_TRY(MakeDirectory(file_system, options.directory));
  auto lock = GS_TRY(LockDirectory(file_system, options.directory));
  auto opened = file_system.OpenDirectory(options.directory);
  if (opened.error != 0) return Fault{opened.error, "open", options.directory}.ToStatus();
  return std::unique_ptr<WalJournal>(
      new WalJournal(std::move(options), std::move(lock), std::move(opened.directory)));
}

WalJournal::WalJournal(WalOptions options, std::unique_ptr<File> lock,
                       std::unique_ptr<Directory> directory)
    : options_(std::move(options)),
      file_system_(*options_.file_system),
      lock_(std::move(lock)),
      directory_(std::move(directory)),
      state_file_(file_system_, options_.directory, *directory_),
      journal_salt_(options_.salt ? *options_.salt : RandomSalt()),
      verifier_(std::make_unique<Verifier>(file_system_, options_.directory, options_.own_thread,
                                           [this] { writer_->Notify(); })) {}

Lsn WalJournal::Append(const Record& record) {
  GS_DCHECK(OnLoop());
  NoteId(record);
  if (!progress_.failure.ok()) return ++lsn_;
  if (record.kind == Record::Kind::kNextId && Full() && !Accepts(Record::Kind::kDelete)) {
    settings_missed_ = true;
    return lsn_;
  }
  log_.Append(record);
  if (batch_.bytes.size() >= kHandOverBytes && !rolling_) HandOver();
  return lsn_;
}

Compactor::Frame WalJournal::Write(const Record& record) {
  NoteId(record);
  const Compactor::Frame frame = AppendFrame(record);
  NoteSetAside(record);
  return frame;
}

// Appends to the current batch; begins the next segment if this one has no room.
Compactor::Frame WalJournal::AppendFrame(const Record& record) {
  if (batch_.bytes.empty()) BeginBatch();
  ByteBuffer& bytes = batch_.bytes;
  std::size_t at = bytes.size();
  bytes.Extend(kFrameHeaderSize);
  const std::size_t record_size = codec_.Encode(record, bytes);
  const std::size_t body_size = record.body.size();
  if (body_size > 0) std::memcpy(bytes.Extend(body_size), record.body.data(), body_size);
  const std::size_t size = bytes.size() - at;
  if (!rolling_ && offset_ + bytes.size() > Limit()) {
    const std::string frame(bytes.data() + at, size);
    bytes.Shrink(at);
    Roll(options_.segment_size, size);
    at = bytes.size();
    std::memcpy(bytes.Extend(size), frame.data(), size);
  }
  SealFrame(bytes.data() + at, static_cast<std::uint32_t>(record_size),
            static_cast<std::uint32_t>(body_size), salt_, offset_ + at);
  if (body_size >= kLeastLeftOut) left_out_ += body_size;
  batch_.last = ++lsn_;
  ++stats_.appends;
  stats_.appended_bytes += size;
  return {size, offset_ + at};
}

void WalJournal::NoteId(const Record& record) {
  kept_.next_id = std::max(kept_.next_id, NextIdAfter(record));
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
    batch_.next_id = kept_.next_id;
    offset_ += batch_.bytes.size();
    handed_bytes_ += batch_.bytes.size();
    handed_.push_back({++handed_batches_, segment_, offset_});
    writer_->Submit(std::move(batch_));
  }
  batch_ = {};
}

// Hands over an empty batch whose mark records that everything before it is durable.
void WalJournal::HandOverMark() {
  HandOver();
  if (Room() < kMarkSize) Roll(options_.segment_size);
  HandOver();
  BeginBatch();
  batch_.barrier = true;
  HandOver();
}

// Continues in the next segment, which is large enough for the next frame and begins with all
// settings, so that older segments are not needed for them.
void WalJournal::Roll(std::uint64_t size, std::size_t frame_size) {
  BeginSegment(size);
  AddSettings(frame_size);
}

void WalJournal::BeginSegment(std::uint64_t size) {
  HandOver();
  if (segment_size_ != 0) compactor_.Resize(SealedSize(offset_, segment_size_));
  if (indexer_ != nullptr && left_out_ >= offset_ / 2) sealed_.push_back(segment_);
  left_out_ = 0;
  ++segment_;
  salt_ = SegmentSalt(journal_salt_, segment_);
  offset_ = kSegmentHeaderSize;
  segment_size_ = limit_ = size;
  compactor_.Begin(segment_, segment_size_);
  rolling_ = true;
  BeginBatch();
}

void WalJournal::AddSettings(std::size_t frame_size) {
  AppendSettings();
  rolling_ = false;
  const std::uint64_t needed = offset_ + batch_.bytes.size() + frame_size + 2 * kMarkSize;
  segment_size_ = limit_ =
      std::max({segment_size_, needed, std::uint64_t{4} * log_.settings_bytes()});
  if (needed > options_.segment_size) segment_size_ += Slack();
  compactor_.Resize(segment_size_);
}

void WalJournal::AppendSettings() {
  log_.AppendSettings();
  settings_missed_ = false;
}

bool WalJournal::Accepts(Record::Kind kind) const {
  if (!progress_.failure.ok()) return false;
  if (!Full()) return true;
  const std::uint64_t kept = std::min<std::uint64_t>(4096, segment_size_ / 16);
  return kind == Record::Kind::kDelete && !progress_.stalled && Room() > kept;
}

bool WalJournal::HasRoomFor(std::uint64_t body) const {
  return HasRoomForFrame(body + kRecordRoom);
}

// A segment for this frame alone must leave space to prepare the next one. Until it is handed over,
// memory may hold a large record three times: in the batch, beside it, and in the next batch.
bool WalJournal::HasRoomForFrame(std::uint64_t bytes) const {
  if (bytes > kHandOverBytes && !HasMemoryFor(3 * bytes)) return false;
  const std::uint64_t needed = bytes + 2 * kMarkSize + kSegmentHeaderSize;
  if (needed <= Room() || needed + log_.settings_bytes() <= options_.segment_size) return true;
  const std::uint64_t free = file_system_.SpaceOf(options_.directory).free;
  if (free == UINT64_MAX) return true;
  const std::uint64_t beside = Slack() + options_.segment_size + log_.settings_bytes();
  return free + progress_.spare_bytes >= needed + beside + WaitingBytes();
}

std::optional<std::uint64_t> WalJournal::RoomIfFull() const {
  return Full() ? std::optional(Room()) : std::nullopt;
}

// After a failure these are the only ids; on a full disk they are needed when the journal drops
// kNextId records.
std::uint64_t WalJournal::SpareIds() const {
  const bool needed = !progress_.failure.ok() || !Accepts(Record::Kind::kDelete);
  return needed && start_is_kept_ ? kFirstSpareId + (kept_.starts << 30U) : 0;
}

Status WalJournal::Health() const {
  return progress_.failure.ok() ? progress_.full : progress_.failure;
}

void WalJournal::Flush(Time /*now*/) {
  if (!progress_.failure.ok()) return;
  if (settings_missed_ && !Full()) AppendSettings();
  if (options_.compact) Compact();
  HandOver();
  const std::uint64_t oldest = std::min(compactor_.oldest(), OldestRead());
  if (oldest_ < oldest) Release(oldest);
  const bool wanted = compactor_.RoomForSpare();
  if (wanted != spare_wanted_) writer_->WantSpare(wanted);
  spare_wanted_ = wanted;
  if (options_.own_thread) return;
  if (options_.works_in_flush) WriteAll();
  reader_->Work();
  if (indexer_ != nullptr) indexer_->Work();
  verifier_->Work();
}

void WalJournal::Compact() {
  // The next round continues a search that has not ended.
  if (!progress_.stalled && !log_.CarryForward()) writer_->Notify();
  log_.DropDone();
}

// Hands over the mark that the log begins behind the segments whose live records were carried
// forward. The writer removes those segments when the mark is durable.
void WalJournal::Release(std::uint64_t oldest) {
  oldest_ = oldest;
  reader_->Forget(oldest_);
  verifier_->Release(oldest_);
  if (indexer_ != nullptr) indexer_->Release(oldest_);
  HandOverMark();
}

void WalJournal::WriteAll() {
  while (writer_->Work() == 0) {
  }
}

// --- Bodies ---

void WalJournal::Fetch(std::uint64_t id, BodyUse use) {
  Ask({id, use, compactor_.Find(id), file_system_.Now()});
}

void WalJournal::Ask(const BodyReader::Request& request) {
  GS_CHECK(request.place.segment != 0);
  IsWritten(request.place) ? reader_->Ask(request) : unwritten_.push_back(request);
}

// A segment that is being read stays. UINT64_MAX: none is.
std::uint64_t WalJournal::OldestRead() const {
  std::uint64_t oldest = reader_->oldest();
  for (const auto& request : unwritten_) oldest = std::min(oldest, request.place.segment);
  return oldest;
}

bool WalJournal::IsWritten(const LiveJobs::Place& place) const {
  if (place.segment != written_segment_) return place.segment < written_segment_;
  return place.end() <= written_end_;
}

void WalJournal::TakeBodies() {
  if (reader_ == nullptr) return;
  for (const BodyReader::Answer& answer : reader_->Take(kTakenAtOnce)) {
    const Time took = file_system_.Now() - answer.request.asked;
    const BodyRead read{answer.result, answer.body, answer.problem, took};
    if (answer.request.use == BodyUse::kCarry) TakeCarried(answer, read);
    if (answer.request.use != BodyUse::kCarry) state_->OnBody(answer.request.id, read);
  }
}

void WalJournal::ReadToCarry(std::uint64_t id, std::uint32_t bytes) {
  Ask({id, BodyUse::kCarry, compactor_.Find(id), file_system_.Now(), bytes});
}

void WalJournal::TakeCarried(const BodyReader::Answer& answer, const BodyRead& read) {
  const std::uint64_t id = answer.request.id;
  const bool is_new = answer.written > 0 && !aside_.contains(id);
  if (answer.written > 0) NoteSetAsideFile(id, answer.written);
  if (!log_.WantsBody(id)) {
    if (is_new) DropSetAside(id);  // its job is gone
    return;
  }
  if (read.result != BodyRead::Result::kWhole) {
    if (answer.set_aside) {
      SetAsideBody& aside = aside_[id];
      aside = {.bytes = answer.request.body, .used = true, .gone = 0, .file = aside.file};
    }
    state_->OnBody(id, read);
  }
  log_.TakeBody(id, read, answer.set_aside);
}

// Behind this record nothing is needed of what was set aside of its job.
void WalJournal::NoteSetAside(const Record& record) {
  if (aside_.empty() || KeptAfter(record.kind) == Keeps::kSame) return;
  const bool lacks = record.body.empty() && record.body_left_out == 0;
  if (record.kind == Record::Kind::kPut && lacks) return;
  const auto known = aside_.find(record.id);
  if (known == aside_.end() || known->second.gone != 0) return;
  known->second.gone = lsn_;
  aside_gone_.emplace_back(lsn_, record.id);
}

void WalJournal::NoteSetAsideFile(std::uint64_t id, std::uint64_t bytes) {
  std::uint64_t& known = aside_[id].file;
  aside_bytes_ += bytes - known;
  known = bytes;
}

void WalJournal::DropSetAside(std::uint64_t id) {
  NoteSetAsideFile(id, 0);
  aside_.erase(id);
  file_system_.Unlink(options_.directory + "/" + SetAsideName(id));
}

// Of a job whose frame was set aside, the record has no body.
Status WalJournal::ApplySetAside(const Record& record) {
  const auto known = aside_.find(record.id);
  if (known == aside_.end() || record.kind != Record::Kind::kPut) return state_->Apply(record);
  SetAsideBody& aside = known->second;
  aside.used = record.body.empty() && record.body_left_out == 0;
  if (!aside.used) return state_->Apply(record);
  Record without = record;
  without.body_left_out = aside.bytes;
  return state_->Apply(without);
}

// --- What is read again ---

Time WalJournal::Tick(Time now) {
  now_ = now;
  if (now >= look_again_) LookAtDisk();
  log_.BuryLost();
  if (verifier_ == nullptr) return kNever;
  const bool dead = reader_->DiskIsDead();
  verifier_->Pause(dead);
  if (dead) return now + kReadAgain;
  if (now < verify_next_) return log_.HasUnburied() ? now + kReadAgain : verify_next_;
  verify_next_ = now + kVerifyEvery;
  verified_to_ = compactor_.current() - 1;
  verified_.ended = 0;
  verifier_->Begin(compactor_.oldest(), verified_to_);
  return verify_next_;
}

VerifyStats WalJournal::Verified() const {
  VerifyStats stats = verified_;
  const Verifier::Progress progress = verifier_->progress();
  stats.bytes = progress.bytes;
  stats.left_bytes = compactor_.BytesOf(progress.next, verified_to_);
  return stats;
}

// Bodies that lie in damage are read once more, each by itself: that tells which are damaged, as at
// a hand-out, and a read that fails says nothing of them.
void WalJournal::TakeDamage() {
  if (verifier_ == nullptr || verified_.ended != 0) return;
  for (const Verifier::Damage& damage : verifier_->Take()) {
    if (damage.segment < compactor_.oldest()) continue;
    Log(LogLevel::kError, damage.problem);
    if (damage.end > 0) {
      ++verified_.damaged;
      compactor_.CarryThrough(damage.segment);
    }
    compactor_.VisitAt(damage.segment, damage.offset, damage.end,
                       [this](std::uint64_t id) { Fetch(id, BodyUse::kQuery); });
  }
  if (verifier_->progress().next <= verified_to_ || now_ == 0) return;
  verified_.ended = now_;
  if (verified_to_ < compactor_.oldest()) return;
  Log(LogLevel::kInfo, "the journal was read again",
      {{"bytes", verifier_->progress().bytes}, {"damaged", verified_.damaged}});
}

void WalJournal::OnNotify() {
  const Lsn before = progress_.durable;
  const bool had_failed = !progress_.failure.ok();
  const bool was_stalled = progress_.stalled;
  TakeProgress();
  TakeBodies();
  TakeDamage();
  if (progress_.durable > before && on_durable_) on_durable_(progress_.durable);
  const bool fails = !progress_.failure.ok() && !had_failed;
  const bool stalls = progress_.stalled && !was_stalled;
  if ((fails || stalls) && on_stuck_) on_stuck_(fails);
}

void WalJournal::TakeProgress() {
  progress_ = writer_->Progress();
  LookAtDisk();
  if (progress_.failure.ok()) TakeWritten();
  for (; !aside_gone_.empty() && aside_gone_.front().first <= progress_.durable;
       aside_gone_.pop_front()) {
    const auto [gone, id] = aside_gone_.front();
    const auto known = aside_.find(id);
    if (known != aside_.end() && known->second.gone == gone) DropSetAside(id);
  }
}

void WalJournal::LookAtDisk() {
  look_again_ = now_ + kSecond / 2;
  const DiskLook look = writer_->Look();
  disk_.Look(look.at, look.space.free, look.space.total);
}

void WalJournal::TakeWritten() {
  for (; !handed_.empty() && handed_.front().batch <= progress_.done_batches; handed_.pop_front()) {
    written_segment_ = handed_.front().segment;
    written_end_ = handed_.front().end;
  }
  std::erase_if(unwritten_, [this](const BodyReader::Request& request) {
    if (!IsWritten(request.place)) return false;
    reader_->Ask(request);
    return true;
  });
  for (; !sealed_.empty() && sealed_.front() < written_segment_; sealed_.pop_front()) {
    if (compactor_.MostlyLives(sealed_.front())) indexer_->Make(sealed_.front());
  }
}

std::uint64_t WalJournal::WaitingBytes() const {
  return handed_bytes_ - progress_.done_bytes + batch_.bytes.size();
}

JournalStats WalJournal::Stats() const {
  JournalStats stats = stats_;
  stats.batches = progress_.done_batches;
  stats.syncs = progress_.syncs;
  stats.sync_times = progress_.sync_times;
  stats.failed = !progress_.failure.ok();
  stats.full = Full();
  return stats;
}

SegmentStats WalJournal::Segments() const {
  SegmentStats stats;
  compactor_.Describe(stats);
  stats.size = options_.segment_size;
  stats.stored_bytes = progress_.disk_bytes + aside_bytes_;
  return stats;
}

Status WalJournal::Close() {
  if (writer_ == nullptr) return {};
  Flush(0);
  if (progress_.failure.ok()) {
    AppendEnd();
    HandOverMark();
  }
  reader_.reset();
  unwritten_.clear();
  indexer_.reset();
  sealed_.clear();
  verifier_.reset();
  if (options_.own_thread) {
    writer_->Stop();
  } else {
    WriteAll();
  }
  OnNotify();
  const Status kept = KeepEnd();
  return kept.ok() ? Health() : kept;
}

// On a full disk only if there is room.
void WalJournal::AppendEnd() {
  if (Full() && (progress_.stalled || Room() < 4 * kMarkSize)) return;
  Append({.kind = Record::Kind::kEnd, .id = kept_.next_id});
  ended_ = true;
}

// Writes the end into the state file; called when nothing can follow.
Status WalJournal::KeepEnd() {
  const bool whole = progress_.failure.ok() && !progress_.stalled && WaitingBytes() == 0;
  if (!ended_ || !whole) return {};
  ended_ = false;
  kept_.segment = segment_;
  kept_.lsn = lsn_;
  kept_.ended = true;
  const Fault fault = state_file_.Keep(kept_);
  return fault.no_space() ? Status() : fault.ToStatus();
}

}  // namespace gearstalk
