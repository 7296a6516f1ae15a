#include "broker/server/output.h"

#include <array>
#include <cstring>
#include <iterator>

#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk {

struct Output::Chunk {
  std::size_t size;
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  char* end() { return bytes() + size; }
};

namespace {

// Chunks between two uses. A busy round of many connections takes and gives back the same few.
constexpr std::size_t kPooled = 256;
constexpr std::size_t kChunkSize = 8192;
// The first chunk of an output while more chunks are in use than are pooled, in bytes.
constexpr std::size_t kSmallChunkSize = 1000;

}  // namespace

Pin& Pin::operator=(Pin&& other) noexcept {
  if (this != &other) {
    Release();
    object_ = other.object_;
    drop_ = other.drop_;
    other.drop_ = nullptr;
  }
  return *this;
}

class OutputPool {
 public:
  template <typename Chunk>
  static Chunk* Take(bool may_be_small) {
    ++taken_;
    if (pooled_ > 0) {
      used_ += kChunkSize;
      return static_cast<Chunk*>(pool_[--pooled_]);
    }
    const std::size_t size = may_be_small && taken_ > kPooled ? kSmallChunkSize : kChunkSize;
    bytes_ += size;
    used_ += size;
    return new (::operator new(sizeof(Chunk) + size)) Chunk{size};
  }
  template <typename Chunk>
  static void Give(Chunk* chunk) {
    --taken_;
    used_ -= chunk->size;
    if (pooled_ < kPooled && chunk->size == kChunkSize) {
      pool_[pooled_++] = chunk;
    } else {
      bytes_ -= chunk->size;
      ::operator delete(chunk);
    }
  }
  static std::size_t bytes() { return bytes_; }
  static std::size_t used() { return used_; }

 private:
  static inline std::array<void*, kPooled> pool_{};
  static inline std::size_t pooled_ = 0;
  static inline std::size_t taken_ = 0;
  static inline std::size_t bytes_ = 0;  // of all chunks
  static inline std::size_t used_ = 0;   // of those that are taken
};

std::size_t Output::Memory() { return OutputPool::bytes(); }

std::size_t Output::MemoryInUse() { return OutputPool::used(); }

void Output::Free(const Segment& segment) {
  if (segment.chunk != nullptr) OutputPool::Give(segment.chunk);
}

void Output::Reset() {
  for (std::size_t i = first_; i < segments_.size(); ++i) Free(segments_[i]);
  segments_.clear();
  if (segments_.capacity() > 64) segments_.shrink_to_fit();
  first_ = 0;
  sent_ += size_;
  size_ = unasked_ = 0;
}

char* Output::Prepare(std::size_t size) {
  GS_DCHECK(size <= kMaxPrepare);
  if (first_ < segments_.size()) {
    const Segment& last = segments_.back();
    if (last.chunk != nullptr) {
      char* end = const_cast<char*>(last.data) + last.size;
      if (end + size <= last.chunk->end()) return end;
    }
  }
  auto* chunk = OutputPool::Take<Chunk>(size_ == 0 && size <= kSmallChunkSize);
  segments_.push_back({chunk->bytes(), 0, chunk, {}});
  return chunk->bytes();
}

void Output::Append(std::string_view bytes) {
  GS_DCHECK(OnLoop());
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kMaxPrepare);
    std::memcpy(Prepare(part), bytes.data(), part);
    Commit(part);
    bytes.remove_prefix(part);
  }
}

void Output::Append(Output&& other) {
  GS_DCHECK(other.gates_.empty());
  const auto first = other.segments_.begin() + static_cast<std::ptrdiff_t>(other.first_);
  segments_.insert(segments_.end(), std::make_move_iterator(first),
                   std::make_move_iterator(other.segments_.end()));
  size_ += other.size_;
  other.segments_.clear();
  other.Reset();
}

void Output::AppendShared(std::string_view bytes, Pin pin) {
  segments_.push_back({bytes.data(), bytes.size(), nullptr, std::move(pin)});
  size_ += bytes.size();
}

void Output::AddGate(Lsn lsn) {
  GS_DCHECK(OnLoop());
  held_ = lsn;
  gates_.push_back({sent_ + size_, lsn});
}

int Output::Gather(iovec* pieces, int max, Lsn durable, std::size_t bytes) {
  GS_DCHECK(OnLoop());
  while (first_gate_ < gates_.size() && gates_[first_gate_].lsn <= durable) ++first_gate_;
  std::uint64_t may_leave = size_;
  if (first_gate_ < gates_.size()) {
    may_leave = gates_[first_gate_].offset - sent_;
  } else if (!gates_.empty()) {
    gates_.clear();
    first_gate_ = 0;
  }
  if (first_gate_ > 64 && first_gate_ > gates_.size() / 2) {
    gates_.erase(gates_.begin(), gates_.begin() + static_cast<std::ptrdiff_t>(first_gate_));
    first_gate_ = 0;
  }
  may_leave = std::min<std::uint64_t>(may_leave, bytes);
  int count = 0;
  for (std::size_t i = first_; i < segments_.size() && count < max && may_leave > 0; ++i) {
    const std::size_t part = std::min<std::uint64_t>(segments_[i].size, may_leave);
    if (part == 0) continue;
    pieces[count++] = {const_cast<char*>(segments_[i].data), part};
    may_leave -= part;
  }
  return count;
}

void Output::Consume(std::size_t size) {
  if (size == size_) {
    Reset();
    return;
  }
  size_ -= size;
  sent_ += size;
  while (size > 0) {
    Segment& segment = segments_[first_];
    const std::size_t part = std::min(size, segment.size);
    segment.data += part;
    segment.size -= part;
    size -= part;
    if (segment.size > 0) break;
    Free(segment);
    segment.pin = Pin();
    ++first_;
  }
  if (first_ > 64 && first_ > segments_.size() / 2) {
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
}

bool Output::Discard(std::size_t pieces) {
  for (; pieces > 0 && !empty(); --pieces)
    Consume(std::max<std::size_t>(segments_[first_].size, 1));
  return empty();
}

std::string Output::TakeAll() {
  std::string all;
  for (std::size_t i = first_; i < segments_.size(); ++i) {
    all.append(segments_[i].data, segments_[i].size);
  }
  Reset();
  gates_.clear();
  first_gate_ = 0;
  return all;
}

}  // namespace gearstalk
