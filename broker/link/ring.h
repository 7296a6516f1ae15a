#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "broker/base/status.h"

namespace gearstalk::link {

// Bytes on their way from one process to another, in memory that both have mapped: one adds, the
// other takes. Positions count all bytes since the start; a byte stands at its position modulo
// kSize. The bytes are mapped twice in a row, so what begins anywhere goes on for kSize bytes.
class Ring {
 public:
  static constexpr std::size_t kSize = 1 << 20;

  // Shared by both processes. The reader writes `taken`, the writer `added`. A side sets its flag
  // and then looks at the ring once more; the other side moves a position and then looks at the
  // flag, clears it and rings. Both are sequentially consistent, so that one of them sees the
  // other.
  struct State {
    alignas(64) std::atomic<std::uint64_t> added{0};  // what the reader may take
    alignas(64) std::atomic<std::uint64_t> taken{0};
    alignas(64) std::atomic<bool> wants_bytes{false};  // the reader's flag
    alignas(64) std::atomic<bool> wants_room{false};   // the writer's
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  // Maps one of the two rings of a link's memory, see MakeMemory.
  static Result<Ring> Map(int memory, std::size_t which);

  State& state() { return *static_cast<State*>(mapped_.get()); }
  const State& state() const { return *static_cast<const State*>(mapped_.get()); }
  char* At(std::uint64_t position) {
    return static_cast<char*>(mapped_.get()) + kPage + position % kSize;
  }

  // A descriptor of memory for two rings; the caller closes it. Its size is sealed: neither process
  // can shrink it, which would end the other one with SIGBUS.
  static Result<int> MakeMemory();

 private:
  // State, and bytes, begin on pages.
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kStored = kPage + kSize;
  static constexpr std::size_t kMapped = kPage + 2 * kSize;

  struct Unmap {
    void operator()(void* mapped) const;
  };

  explicit Ring(void* mapped) : mapped_(mapped) {}

  std::unique_ptr<void, Unmap> mapped_;
};

}  // namespace gearstalk::link
