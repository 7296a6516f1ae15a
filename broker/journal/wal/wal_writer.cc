#include "broker/journal/wal/wal_writer.h"

#include <sys/eventfd.h>

#include <cstring>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk {

WalWriter::WalWriter(FileSystem& file_system, SegmentFiles files, Lsn durable, Options options)
    : file_system_(file_system),
      options_(std::move(options)),
      notify_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      files_(std::move(files)),
      written_(durable),
      durable_(durable),
      kept_(options_.kept) {
  GS_CHECK(notify_fd_ >= 0);
  state_.durable = state_.on_disk = durable;
  state_.full = options_.full;
  state_.disk_bytes = files_.DiskBytes();
  state_.spare_bytes = files_.spare_bytes();
  LookAtDisk();
  progress_ = state_;
}

DiskLook WalWriter::Look() {
  const std::lock_guard lock(mutex_);
  return shown_look_;
}

Batch WalWriter::NewBatch() {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return {};
  Batch batch = std::move(free_.back());
  free_.pop_back();
  free_bytes_ -= batch.bytes.capacity();
  return batch;
}

void WalWriter::Submit(Batch batch) {
  GS_DCHECK(OnLoop());
  bool enough = false;
  {
    const std::lock_guard lock(mutex_);
    queued_ += Weight(batch);
    enough = queued_ >= enough_;
    queue_.push_back(std::move(batch));
  }
  if (enough) submitted_.notify_one();
}

void WalWriter::WantSpare(bool wanted) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  if (wanted && !spare_wanted_) submitted_.notify_one();
  spare_wanted_ = wanted;
}

WriterProgress WalWriter::Progress() {
  const std::lock_guard lock(mutex_);
  if (notified_) {
    std::uint64_t count = 0;
    GS_CHECK(::read(notify_fd_, &count, sizeof count) == sizeof count);
    notified_ = false;
  }
  return progress_;
}

Status WalWriter::Start() {
  thread_ = StartThread([this] { Run(); });
  if (thread_.joinable()) return {};
  return {Code::kIo, "the system gives no thread for the journal"};
}

void WalWriter::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

void WalWriter::Run() {
  Time wait = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto woken = [this] {
      return stop_ || !queue_.empty() || spare_wanted_ != spare_wanted_now_;
    };
    if (wait == kNever) {
      submitted_.wait(lock, woken);
    } else if (wait > 0) {
      submitted_.wait_for(lock, std::chrono::nanoseconds(wait), woken);
    }
    Gather(lock);
    const bool last = stop_;
    lock.unlock();
    wait = Work();
    if (last) return;
    lock.lock();
  }
}

// Clients that were just answered usually send again at once, so the writer waits briefly for them
// to share one sync, and backs off when they do not.
void WalWriter::Gather(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t enough = expected_ - expected_ / 8;
  expected_ = 0;
  const Time most = gather_until_ - file_system_.Now();
  if (queued_ == 0 || queued_ >= enough || most <= 0) return;
  if (gathers_left_out_ < gather_seldom_) {
    ++gathers_left_out_;
    return;
  }
  enough_ = enough;
  const bool came = submitted_.wait_for(lock, std::chrono::nanoseconds(most),
                                        [&] { return stop_ || queued_ >= enough; });
  enough_ = 1;
  gathers_left_out_ = 0;
  gather_seldom_ = came ? 0 : std::min(2 * gather_seldom_ + 1, kMostGathersLeftOut);
}

Time WalWriter::Work() {
  TakeSubmitted();
  WritePending();
  SyncIfDue();
  if (news_) Publish();
  if (file_system_.Now() - look_.at >= kLook) LookAtDisk();
  PrepareSpare();
  if (news_) Publish();
  return NextDue();
}

void WalWriter::TakeSubmitted() {
  const std::lock_guard lock(mutex_);
  for (Batch& batch : queue_) pending_.push_back(std::move(batch));
  queue_.clear();
  queued_ = 0;
  spare_wanted_now_ = spare_wanted_;
}

void WalWriter::WritePending() {
  if (state_.stalled && file_system_.Now() < next_try_) return;
  while (!pending_.empty()) {
    if (state_.failure.ok()) {
      if (const Fault fault = WriteBatch(pending_.front())) {
        Settle(fault);
        if (state_.failure.ok()) {
          state_.stalled = news_ = true;
          return;
        }
      }
    }
    state_.stalled = false;
    Done(std::move(pending_.front()));
    pending_.pop_front();
  }
}

Fault WalWriter::WriteBatch(Batch& batch) {
  if (batch.barrier) {
    if (Fault fault = SyncNow()) return fault;
  }
  const bool begins = batch.segment != files_.current();
  if (Fault fault = files_.Begin(batch.segment, batch.segment_size)) return fault;
  if (begins) state_.on_disk = written_;  // the segment before was synced
  if (Fault fault = Keep(batch)) return fault;
  const SegmentHeader& header = files_.header();
  EncodeMark({batch.first, durable_, batch.oldest}, header.number, header.salt, batch.offset,
             batch.bytes.data());
  // The next batch overwrites the end.
  const std::size_t size = batch.bytes.size();
  const std::uint64_t behind = batch.offset + size;
  if (behind < batch.segment_size) {
    const std::size_t end = std::min<std::uint64_t>(kEndSize, batch.segment_size - behind);
    std::memset(batch.bytes.Extend(end), 0, end);
  }
  Fault fault = files_.Write(batch.offset, batch.bytes.view(), size);
  batch.bytes.Shrink(size);
  if (fault) return fault;
  if (!dirty_) dirty_since_ = file_system_.Now();
  dirty_ = true;
  written_ = std::max(written_, batch.last);
  if (!batch.barrier) return {};
  if (Fault unsynced = SyncNow()) return unsynced;
  if (batch.oldest <= oldest_) return {};
  if (Fault unreleased = files_.Release(batch.oldest)) return unreleased;
  oldest_ = batch.oldest;
  next_try_ = 0;
  return {};
}

// Writes the state file before anything is in a new segment, and before a record uses ids beyond
// those it says are taken. On a full disk the log goes on without it: only a loss of its end would
// be harder to detect.
Fault WalWriter::Keep(const Batch& batch) {
  const bool begins = batch.segment != kept_.segment;
  if (!begins && batch.next_id <= kept_.next_id) return {};
  JournalState state = kept_;
  state.segment = batch.segment;
  if (begins) state.lsn = batch.first - 1;
  state.next_id = batch.next_id + kKeptIds;
  Fault fault = files_.Keep(state);
  if (fault && !fault.no_space()) return fault;
  kept_ = state;
  return {};
}

Fault WalWriter::SyncNow() {
  if (!dirty_) return {};
  const Time start = file_system_.Now();
  if (Fault fault = files_.Sync()) return fault;
  last_sync_ = file_system_.Now() - start;
  state_.sync_times.Add(last_sync_);
  ++state_.syncs;
  dirty_ = false;
  durable_ = state_.on_disk = written_;
  return {};
}

void WalWriter::SyncIfDue() {
  if (!dirty_ || !state_.failure.ok() || options_.sync == Sync::kSystem) return;
  const bool due =
      options_.sync == Sync::kAlways || file_system_.Now() - dirty_since_ >= options_.interval;
  if (due) Settle(SyncNow());
}

// Here, because a network's file system may be slow to answer. A small change wakes nobody.
void WalWriter::LookAtDisk() {
  const std::uint64_t before = look_.space.free;
  look_ = {files_.Space(), file_system_.Now()};
  const auto [less, more] = std::minmax(before, look_.space.free);
  if (more - less > std::min(look_.space.total / 256, kSmallChange)) news_ = true;
  const std::lock_guard lock(mutex_);
  shown_look_ = look_;
}

void WalWriter::PrepareSpare() {
  const bool wanted = spare_wanted_now_ || !state_.full.ok();
  if (!wanted || !state_.failure.ok() || files_.current() == 0) return;
  if (next_try_ != 0 && file_system_.Now() < next_try_) return;
  if (!files_.Prepared()) {
    const Fault fault = files_.Prepare();
    if (fault.no_descriptor() && state_.full.ok()) {  // the spare is not needed yet
      next_try_ = file_system_.Now() + kRetry;
      return;
    }
    if (fault) return Settle(fault);
    if (!files_.Prepared()) return;
    news_ = true;
    next_try_ = 0;
  }
  // Batches that wait for space go first; they may need the spare.
  if (state_.full.ok() || state_.stalled) return;
  news_ = true;
  state_.full = {};
}

void WalWriter::Settle(const Fault& fault) {
  if (!fault) return;
  news_ = true;
  if (fault.passes()) {
    state_.full = fault.ToStatus();
    next_try_ = file_system_.Now() + kRetry;
  } else {
    state_.failure = fault.ToStatus();
  }
}

void WalWriter::Done(Batch batch) {
  ++state_.done_batches;
  state_.done_bytes += batch.bytes.size();
  news_ = true;
  used_.push_back(std::move(batch));
}

void WalWriter::Publish() {
  news_ = false;
  if (state_.failure.ok()) {
    state_.durable = options_.sync == Sync::kAlways ? durable_ : written_;
  }
  state_.disk_bytes = files_.DiskBytes();
  state_.spare_bytes = files_.spare_bytes();
  const std::lock_guard lock(mutex_);
  if (options_.sync == Sync::kAlways && state_.durable > progress_.durable) {
    expected_ = state_.durable - progress_.durable + queued_;
    gather_until_ = file_system_.Now() + std::min(last_sync_, kLongestGather);
  }
  progress_ = state_;
  for (Batch& batch : used_) {
    if (free_bytes_ + batch.bytes.capacity() > kKeptBytes) continue;
    free_bytes_ += batch.bytes.capacity();
    free_.push_back(std::move(batch));
  }
  used_.clear();
  NotifyLocked();
}

void WalWriter::Notify() {
  const std::lock_guard lock(mutex_);
  NotifyLocked();
}

void WalWriter::NotifyLocked() {
  if (notified_) return;
  const std::uint64_t one = 1;
  GS_CHECK(::write(notify_fd_, &one, sizeof one) == sizeof one);
  notified_ = true;
}

Time WalWriter::NextDue() const {
  if (!state_.failure.ok()) return kNever;
  const Time now = file_system_.Now();
  Time due = std::max<Time>(look_.at + kLook - now, 0);
  if (!state_.full.ok()) {
    due = std::min(due, std::max<Time>(next_try_ - now, 0));
  } else if (spare_wanted_now_ && !files_.Prepared() && files_.current() != 0) {
    due = next_try_ == 0 ? 0 : std::min(due, std::max<Time>(next_try_ - now, 0));
    if (due == 0) return 0;
  }
  if (dirty_ && options_.sync == Sync::kInterval) {
    due = std::min(due, std::max<Time>(dirty_since_ + options_.interval - now, 0));
  }
  return due;
}

}  // namespace gearstalk
