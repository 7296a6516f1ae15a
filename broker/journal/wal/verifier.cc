#include "broker/journal/wal/verifier.h"

#include <algorithm>
#include <new>
#include <utility>

#include "broker/base/check.h"
#include "broker/journal/wal/wal_reader.h"

namespace gearstalk {
namespace {

constexpr std::size_t kPiece = 256 * 1024;  // bytes that are read at a time

}  // namespace

Verifier::Verifier(FileSystem& file_system, std::string directory, bool own_thread,
                   std::function<void()> notify)
    : file_system_(file_system),
      directory_(std::move(directory)),
      own_thread_(own_thread),
      notify_(std::move(notify)),
      workers_(
          mutex_, [this] { return MayRead(); }, [this](Workers::Lock& lock) { CheckNext(lock); }) {}

void Verifier::SetPace(std::uint64_t bytes) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  pace_ = bytes;
  workers_.Wake();
}

void Verifier::Pause(bool pause) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  if (pause_ && !pause) workers_.Wake();
  pause_ = pause;
}

void Verifier::Begin(std::uint64_t oldest, std::uint64_t newest) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  next_ = oldest;
  newest_ = newest;
  workers_.Wake();
  if (own_thread_ && !workers_.started()) workers_.Start(1);
}

void Verifier::Release(std::uint64_t oldest) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  next_ = std::max(next_, oldest);
}

std::vector<Verifier::Damage> Verifier::Take() {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, {});
}

Verifier::Progress Verifier::progress() const {
  const std::lock_guard lock(mutex_);
  return {bytes_, next_};
}

// The lock is held but for calls of the file system. Without memory for a segment it is read later.
void Verifier::CheckNext(Workers::Lock& lock) {
  const std::uint64_t number = next_;
  lock.unlock();
  Result<std::vector<Damage>> checked = std::vector<Damage>();
  try {
    checked = Check(number, lock);
  } catch (const std::bad_alloc&) {
    lock.lock();
    return workers_.Rest(lock, kWithoutMemory);
  }
  if (!checked.ok()) {
    const std::string path = directory_ + "/" + SegmentName(number);
    checked = std::vector<Damage>{{number, 0, 0, path + ": " + checked.status().message()}};
  }
  std::vector<Damage>& found = checked.value();
  lock.lock();
  if (next_ != number || workers_.stopping()) return;  // it left the log meanwhile
  ++next_;
  std::move(found.begin(), found.end(), std::back_inserter(found_));
  lock.unlock();
  notify_();
  lock.lock();
}

// At the pace that is set.
Result<std::vector<Verifier::Damage>> Verifier::Check(std::uint64_t number, Workers::Lock& lock) {
  const FoundSegment segment = GS_TRY(FindSegment(file_system_, directory_, number));
  GS_TRY(segment.header_status);
  const auto file = GS_TRY(OpenFile(file_system_, segment.path, FileSystem::Mode::kRead));
  std::string bytes;
  if (segment.size <= kMostReadWhole) bytes.resize(segment.size);
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::size_t size = std::min(kPiece, bytes.size() - at);
    const std::int64_t got = ReadFully(*file, at, bytes.data() + at, size);
    if (got < 0) return Fault{static_cast<int>(got), "read", segment.path}.ToStatus();
    lock.lock();
    bytes_ += static_cast<std::uint64_t>(got);
    if (own_thread_) Rest(size, lock);
    const bool stop = workers_.stopping();
    lock.unlock();
    if (stop) return std::vector<Damage>();
  }
  file->DropCache();
  return DamageIn(bytes, segment);
}

// As long as so many bytes may take; the lock is held.
void Verifier::Rest(std::size_t bytes, Workers::Lock& lock) {
  const double seconds =
      static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(pace_, 1));
  workers_.Rest(lock, std::min(seconds, 1.0));
}

std::vector<Verifier::Damage> Verifier::DamageIn(std::string_view bytes,
                                                 const FoundSegment& segment) {
  std::vector<Damage> found;
  SegmentReader reader(bytes, segment.header);
  while (!bytes.empty()) {
    const SegmentReader::Item item = reader.Next();
    if (item == SegmentReader::Item::kRecord || item == SegmentReader::Item::kMark) continue;
    const std::uint64_t offset = reader.offset();
    const bool goes_on =
        item == SegmentReader::Item::kEnd ? reader.SkipToMark() : reader.SkipToAny();
    if (item == SegmentReader::Item::kEnd && !goes_on) break;
    const std::uint64_t end = goes_on ? reader.next() : bytes.size();
    found.push_back({segment.number, offset, end,
                     segment.path + " at offset " + std::to_string(offset) + " to " +
                         std::to_string(end) + ": it cannot be read"});
    if (!goes_on) break;
  }
  return found;
}

}  // namespace gearstalk
