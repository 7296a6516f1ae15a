// The start: reads the log, makes the files agree with what was read, and begins to write behind
// it.

#include <cerrno>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/status.h"
#include "broker/journal/wal/set_aside.h"
#include "broker/journal/wal/wal_journal.h"

namespace gearstalk {
namespace {

Status WithAdvice(Status status, const std::string& directory) {
  if (status.code() != Code::kCorrupt) return status;
  return {Code::kCorrupt, status.message() + "; gearstalkd --journal-check " + directory +
                              " lists all damage, gearstalkd --journal-salvage " + directory +
                              " starts a new journal from what can be read"};
}

}  // namespace

Status WalJournal::Start(LiveState& state, JournalEvents& events) {
  GS_CHECK(state_ == nullptr);
  state_ = &state;
  log_.SetState(state);
  if (file_system_.CopiesOnWrite(options_.directory)) {
    Log(LogLevel::kWarning,
        options_.directory +
            " is on a file system that copies on write: when it is full, deletions may be "
            "refused like puts, and a start may fail; see \"When the disk is full\" in "
            "durability.md");
  }
  WalRecovery recovery(file_system_, options_.directory);
  if (options_.indexes && state.TakesBodiesLater()) recovery.UseIndexes();
  if (Status status = Recover(events, recovery); !status.ok()) {
    return WithAdvice(std::move(status), options_.directory);
  }
  GS_TRY(Repair(recovery));
  GS_TRY(StartWriting(recovery, events));
  events.OnServing();
  return {};
}

Status WalJournal::Recover(JournalEvents& events, WalRecovery& recovery) {
  for (const auto& [id, file] : FindSetAside(file_system_, options_.directory)) {
    aside_[id].bytes = file.body;
    NoteSetAsideFile(id, file.bytes);
  }
  GS_TRY(recovery.Run(
      [this, &recovery](const Record& record, std::size_t size) {
        compactor_.OnRecord(record, {size, recovery.offset()});
        NoteId(record);
        return aside_.empty() ? state_->Apply(record) : ApplySetAside(record);
      },
      [this](const FoundSegment& segment) { compactor_.Begin(segment.number, segment.size); },
      [&events](const ReplayProgress& progress) { events.OnReplaying(progress); }));
  torn_ = recovery.torn();
  if (!torn_.empty()) Log(LogLevel::kWarning, torn_);
  if (recovery.kept_ids() <= kept_.next_id) return {};
  kept_.next_id = recovery.kept_ids();
  return state_->Apply(NextIdRecord(kept_.next_id));
}

// Makes the files agree with what was read: the log on disk ends where reading ended.
Status WalJournal::Repair(const WalRecovery& recovery) {
  GS_TRY(RewriteTail(recovery));
  GS_TRY(KeepStart(recovery));
  for (const FoundSegment& segment : recovery.released()) {
    GS_TRY(Fault{file_system_.Unlink(segment.path), "unlink", segment.path}.ToStatus());
  }
  for (auto at = aside_.begin(); at != aside_.end();) {
    const auto [id, aside] = *at++;
    if (!aside.used || compactor_.Find(id).segment == 0) DropSetAside(id);
  }
  const std::string spare = options_.directory + "/" + kSpareName;
  const int error = file_system_.Unlink(spare);
  if (error != 0 && error != -ENOENT) return Fault{error, "unlink", spare}.ToStatus();
  return Fault{directory_->Sync(), "fsync", options_.directory}.ToStatus();
}

// Records in the state file how far the log was read, and that it continues. This comes before any
// removal of a file that the state file names.
Status WalJournal::KeepStart(const WalRecovery& recovery) {
  const auto& log = recovery.segments();
  kept_.segment = log.empty() ? 0 : log.back().number;
  kept_.lsn = recovery.last();
  // A number that no earlier start had. Without a state file, no start had one.
  kept_.starts = recovery.kept() ? recovery.kept()->starts + 1 : kept_.segment + 1;
  JournalState state = kept_;
  state.next_id += WalWriter::kKeptIds;
  const Fault fault = state_file_.Keep(state);
  start_is_kept_ = !fault;
  return fault.no_space() ? Status() : fault.ToStatus();
}

// The end of what was read may be in the page cache only, and the kernel does not repeat a sync
// that failed for it: writes again what is not known to be on disk.
Status WalJournal::RewriteTail(const WalRecovery& recovery) {
  if (recovery.segments().empty()) return {};
  const std::string& path = recovery.segments().back().path;
  const auto file = GS_TRY(OpenFile(file_system_, path, FileSystem::Mode::kWrite));
  ByteBuffer tail;
  const std::size_t size = recovery.used() - recovery.synced();
  const std::int64_t got = ReadFully(*file, recovery.synced(), tail.Extend(size), size);
  if (got < 0) return Fault{static_cast<int>(got), "read", path}.ToStatus();
  const int written = WriteFully(*file, recovery.synced(), tail.view());
  GS_TRY(Fault{written, "pwrite", path}.ToStatus());
  GS_TRY(Fault{file->Truncate(recovery.used()), "ftruncate", path}.ToStatus());
  return Fault{file->Sync(), "fdatasync", path}.ToStatus();
}

// Jobs that the replay let go without their bodies and needs whole.
Status WalJournal::ReadMissing() {
  const std::vector<std::uint64_t> missing = state_->MissingBodies();
  BodyReader reader(file_system_, options_.directory, 0, [] {});
  for (const std::uint64_t id : missing) {
    reader.Ask({id, BodyUse::kReply, compactor_.Find(id), 0});
    reader.Work();
    const BodyReader::Answer answer = std::move(reader.Take(SIZE_MAX).front());
    if (answer.result == BodyRead::Result::kDamaged) return {Code::kCorrupt, answer.problem};
    if (answer.result == BodyRead::Result::kFailed) return {Code::kIo, answer.problem};
    state_->OnBody(id, {answer.result, answer.body, {}, 0});
  }
  return {};
}

Status WalJournal::StartWriting(const WalRecovery& recovery, JournalEvents& events) {
  SegmentFiles files(file_system_, options_.directory, *directory_, state_file_,
                     options_.segment_size, journal_salt_);
  segment_ = options_.first_segment - 1;
  for (const FoundSegment& segment : recovery.segments()) {
    const bool last = &segment == &recovery.segments().back();
    files.Adopt(segment.number, last ? recovery.used() : segment.size);
    segment_ = segment.number;
  }
  for (const FoundSegment& segment : recovery.prepared()) {
    if (!start_is_kept_) break;  // one of them may be kept as begun
    if (Fault fault = files.Discard(segment.number, segment.size)) return fault.ToStatus();
  }
  if (compactor_.current() > segment_) compactor_.DropCurrent();
  if (segment_ != 0 && compactor_.segments() > 0) compactor_.Resize(recovery.used());
  files.SetCurrent(segment_);
  const Fault fault = files.PrepareWhatFits();
  if (fault && !fault.no_space()) return fault.ToStatus();
  const std::uint64_t size = files.Prepared() ? files.prepared_size() : options_.segment_size;
  lsn_ = recovery.last();
  JournalState kept = kept_;
  kept.next_id += WalWriter::kKeptIds;
  WalWriter::Options options{options_.sync, options_.interval, fault.ToStatus(), kept};
  writer_ = std::make_unique<WalWriter>(file_system_, std::move(files), lsn_, options);
  GS_TRY(ReadMissing());
  written_segment_ = segment_;
  written_end_ = recovery.used();
  reader_ = std::make_unique<BodyReader>(file_system_, options_.directory,
                                         options_.own_thread ? kReaders : 0,
                                         [this] { writer_->Notify(); });
  StartIndexer(recovery);
  TakeProgress();
  BeginSegment(size);
  events.OnActive();
  AddSettings(0);
  oldest_ = compactor_.oldest();
  compactor_.EarnFromStart();
  if (options_.own_thread) GS_TRY(writer_->Start());
  Flush(0);
  return {};
}

void WalJournal::StartIndexer(const WalRecovery& recovery) {
  if (!options_.indexes || !state_->TakesBodiesLater()) return;
  const std::uint64_t oldest = compactor_.segments() > 0 ? compactor_.oldest() : segment_ + 1;
  indexer_ = std::make_unique<Indexer>(file_system_, options_.directory, options_.own_thread,
                                       oldest, segment_);
  for (const std::uint64_t segment : recovery.without_index()) {
    if (compactor_.MostlyLives(segment)) indexer_->Make(segment);
  }
}

}  // namespace gearstalk
