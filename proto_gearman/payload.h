#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace gearstalk::gearman {

// Gathers a payload while it arrives. It allocates with the first byte, and more as RoomToArrive
// says. Without memory it fails and takes no more bytes: the caller discards the rest.
class Payload {
 public:
  explicit Payload(std::uint32_t size) : size_(size) {}

  // Takes its missing bytes from the front of `bytes` and returns their number.
  std::size_t Add(std::string_view bytes);
  // The space for the next bytes (empty: it is complete), and how many were written there.
  std::span<char> Space();
  void Filled(std::size_t size) { arrived_ += size; }

  std::size_t missing() const { return size_ - arrived_; }
  bool complete() const { return missing() == 0; }
  bool failed() const { return failed_; }
  std::string_view view() const { return {bytes_.get(), arrived_}; }

 private:
  static constexpr std::size_t kLeastRead = 4096;  // a read into less is not worth its system call

  bool MakeRoom(std::size_t size);

  // Counted as memory of jobs.
  struct Free {
    Free() : size(0) {}
    explicit Free(std::size_t bytes) : size(bytes) {}
    std::size_t size;
    void operator()(char* bytes) const;
  };

  std::unique_ptr<char[], Free> bytes_;
  std::size_t size_;
  std::size_t capacity_ = 0;
  std::size_t arrived_ = 0;
  bool failed_ = false;
};

}  // namespace gearstalk::gearman
