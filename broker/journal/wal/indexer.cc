#include "broker/journal/wal/indexer.h"

#include <new>
#include <utility>
#include <vector>

#include "broker/base/check.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/wal/segment_index.h"
#include "broker/journal/wal/wal_recovery.h"

namespace gearstalk {
namespace {

// Bytes that stay free: a full disk refuses jobs, and an index is worth none.
constexpr std::uint64_t kSpaceLeft = 4 * kDefaultSegmentSize;

}  // namespace

Indexer::Indexer(FileSystem& file_system, std::string directory, bool own_thread,
                 std::uint64_t oldest, std::uint64_t newest)
    : file_system_(file_system),
      directory_(std::move(directory)),
      oldest_(oldest),
      workers_(
          mutex_, [this] { return HasWork(); }, [this](Workers::Lock& lock) { DoOne(lock); }) {
  std::vector<std::string> names;
  file_system_.List(directory_, names);
  for (const std::string& name : names) {
    const std::uint64_t number = IndexNumber(name);
    if (number > newest) file_system_.Unlink(PathOf(number));
    if (number != 0 && number <= newest) made_.insert(number);
  }
  if (own_thread) workers_.Start(1);
}

void Indexer::Make(std::uint64_t segment) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  queue_.push_back(segment);
  workers_.Wake();
}

void Indexer::Release(std::uint64_t oldest) {
  GS_DCHECK(OnLoop());
  const std::lock_guard lock(mutex_);
  oldest_ = oldest;
  workers_.Wake();
}

bool Indexer::HasWork() const {
  return !queue_.empty() || (!made_.empty() && *made_.begin() < oldest_);
}

// The lock is held but for calls of the file system.
void Indexer::DoOne(Workers::Lock& lock) {
  if (!made_.empty() && *made_.begin() < oldest_) {
    const std::uint64_t segment = made_.extract(made_.begin()).value();
    lock.unlock();
    file_system_.Unlink(PathOf(segment));
    lock.lock();
    return;
  }
  const std::uint64_t segment = queue_.front();
  queue_.pop_front();
  if (segment < oldest_) return;
  made_.insert(segment);
  lock.unlock();
  file_system_.Unlink(PathOf(segment));  // it may be another user's
  if (!TryWrite(segment)) file_system_.Unlink(PathOf(segment));
  lock.lock();
}

std::string Indexer::PathOf(std::uint64_t segment) const {
  return directory_ + "/" + IndexName(segment);
}

// Without memory for the segment there is no index.
bool Indexer::TryWrite(std::uint64_t number) const {
  try {
    return Write(number);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Nothing is synced: an index that a power cut leaves torn is not believed.
bool Indexer::Write(std::uint64_t number) const {
  const Result<FoundSegment> segment = FindSegment(file_system_, directory_, number);
  ByteBuffer bytes;
  if (!segment.ok() || !segment.value().header_status.ok()) return false;
  if (segment.value().size > kMostReadWhole) return false;
  if (!LoadSegment(file_system_, segment.value(), bytes).ok()) return false;
  const std::string index = MakeIndex(bytes.view(), segment.value().header);
  if (index.empty() || file_system_.SpaceOf(directory_).free < index.size() + kSpaceLeft) {
    return false;
  }
  const auto opened = file_system_.Open(PathOf(number), FileSystem::Mode::kCreate);
  return opened.error == 0 && WriteFully(*opened.file, 0, index) == 0;
}

}  // namespace gearstalk
