#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "broker/base/status.h"

namespace gearstalk::link {

// Bytes on their way from one process to another, in memory that both have mapped: one adds, the
// other takes. Positions count all bytes since the start; a byte stands at its position modulo
// kSize. The bytes are mapped twice in a row, so what begins anywhere goes on for kSize bytes.
class Ring {
 public:
  static constexpr std::size_t kSize = 1 << 20;

  // Shared by both processes; each member is written by one of them, but for the wishes, which the
  // other one takes back. All orders are sequentially consistent: a side says what it wishes and
  // then looks once more, the other one changes a position and then looks for wishes.
  struct State {
    alignas(64) std::atomic<std::uint64_t> added{0};  // what the reader may take
    alignas(64) std::atomic<std::uint64_t> taken{0};
    alignas(64) std::atomic<bool> wants_bytes{false};  // the reader wishes for a bell
    alignas(64) std::atomic<bool> wants_room{false};   // the writer wishes for one
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  // Maps one of the two rings of a link's memory, see MakeMemory.
  static Result<Ring> Map(int memory, std::size_t which);
  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  ~Ring();

  State& state() { return *static_cast<State*>(mapped_); }
  const State& state() const { return *static_cast<const State*>(mapped_); }
  char* At(std::uint64_t position) {
    return static_cast<char*>(mapped_) + kPage + position % kSize;
  }

  // A descriptor of memory for two rings. Its size is sealed: who has the descriptor cannot take
  // the memory away from the other process.
  static Result<int> MakeMemory();

 private:
  // State, and bytes, begin on pages.
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kStored = kPage + kSize;
  static constexpr std::size_t kMapped = kPage + 2 * kSize;

  explicit Ring(void* mapped) : mapped_(mapped) {}

  void* mapped_;
};

}  // namespace gearstalk::link
