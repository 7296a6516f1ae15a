#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/lsn.h"

namespace gearstalk {

// Keeps bytes of another owner alive until they are sent.
class Pin {
 public:
  using Drop = void (*)(void*);
  Pin() = default;
  Pin(void* object, Drop drop) : object_(object), drop_(drop) {}
  // The bytes are a part of what `owner` has.
  template <typename T, typename Deleter>
  explicit Pin(std::unique_ptr<T, Deleter> owner)
      : Pin(owner.release(), [](void* object) { Deleter()(static_cast<T*>(object)); }) {}
  Pin(Pin&& other) noexcept : object_(other.object_), drop_(other.drop_) { other.drop_ = nullptr; }
  Pin& operator=(Pin&& other) noexcept;
  ~Pin() { Release(); }  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): drop_ deletes

 private:
  void Release() {
    if (drop_ != nullptr) drop_(object_);
  }

  void* object_ = nullptr;
  Drop drop_ = nullptr;
};

// The bytes that a connection still has to send, in order. Small replies are gathered in chunks;
// large bodies are sent from where they are, uncopied. A gate holds all bytes behind it until its
// journal position is durable:
//
//   HoldUntil(lsn) --lsn is not above the last gate's--> no gate
//         |
//         v                         Gather, lsn is durable
//   closed: the bytes behind it stay --------------> open: no bytes wait for it
//
// An empty output has almost no memory. Loop's thread only.
class Output {
 public:
  // From this size on, sharing bytes is cheaper than copying them.
  static constexpr std::size_t kShareFrom = 4096;
  // The most that Prepare gives.
  static constexpr std::size_t kMaxPrepare = 4096;
  // The most that Gather gives, in bytes: what is sent in one go without keeping others waiting.
  static constexpr std::size_t kMaxGather = 512 * 1024;

  Output() = default;
  Output(Output&& other) = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { Reset(); }

  void Append(std::string_view bytes);
  // Appends all of `other`, uncopied. `other` has no gates.
  void Append(Output&& other);
  // Returns at least `size` writable bytes at the end; Commit appends those that were written.
  char* Prepare(std::size_t size);
  void Commit(std::size_t size) {
    segments_.back().size += size;
    size_ += size;
  }
  // Appends `bytes` uncopied; `pin` keeps them alive.
  void AppendShared(std::string_view bytes, Pin pin);

  // Adds a gate: everything appended from now on waits until `lsn` is durable. Call it before
  // appending the reply that acknowledges the change. A position at or below an earlier one costs
  // nothing.
  void HoldUntil(Lsn lsn) {
    if (lsn > held_) AddGate(lsn);
  }

  // Notes that `size` of the bytes appended were not asked for by a command of this connection (a
  // job's results for its clients), so that no command of it can be stalled for them.
  void NoteUnasked(std::size_t size) { unasked_ += size; }
  // How many such bytes still wait, at most: those since the output was last empty.
  std::size_t unasked() const { return std::min(unasked_, size_); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Up to `max` pieces that may leave now, given what is durable; their number. The pieces have no
  // more than `bytes` bytes.
  int Gather(iovec* pieces, int max, Lsn durable, std::size_t bytes = kMaxGather);
  // `size` bytes were sent.
  void Consume(std::size_t size);

  // Frees at most so many pieces that will never be sent. True: nothing is left.
  bool Discard(std::size_t pieces);

  // The memory of all outputs' chunks, in bytes, and how much of it is in use.
  static std::size_t Memory();
  static std::size_t MemoryInUse();

  // The number of gates in memory, some of them open.
  std::size_t gates() const { return gates_.size(); }

  // Takes out all bytes and ignores gates.
  std::string TakeAll();

 private:
  struct Chunk;
  struct Segment {
    const char* data;
    std::size_t size;
    Chunk* chunk;  // owned; nullptr for shared bytes
    Pin pin;
  };
  struct Gate {
    std::uint64_t offset;  // in the stream of all bytes ever appended
    Lsn lsn;
  };

  static void Free(const Segment& segment);
  void Reset();
  void AddGate(Lsn lsn);

  boost::container::small_vector<Segment, 1> segments_;
  std::size_t first_ = 0;  // segments before it are sent
  std::vector<Gate> gates_;
  std::size_t first_gate_ = 0;  // gates before it are open
  std::uint64_t sent_ = 0;
  std::size_t size_ = 0;
  std::size_t unasked_ = 0;
  Lsn held_ = 0;  // highest position asked for
};

}  // namespace gearstalk
