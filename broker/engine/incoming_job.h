#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "broker/engine/job.h"

namespace gearstalk {

// A job whose body is still arriving. It gets memory with its first byte, and more as RoomToArrive
// says. When there is none it has failed, and takes nothing more: drop what is missing.
class IncomingJob {
 public:
  // `trailing` bytes of the wire belong to the body's end: 2 where the sender adds a CRLF, else 0.
  IncomingJob(std::uint32_t body_size, std::string_view unique, std::uint32_t trailing);

  // Takes what belongs to it from the front of `bytes` and returns how much that was.
  std::size_t Add(std::string_view bytes);

  // Where the next bytes may be written directly, and how many were. Empty before the first byte
  // was added and when nothing is missing.
  std::span<char> Space();
  void Filled(std::size_t size) { arrived_ += size; }

  std::uint64_t missing() const { return total() - arrived_; }
  bool complete() const { return missing() == 0; }
  bool failed() const { return failed_; }

  // The job, once it is complete. Its body ends in the bytes that arrived (trailing 2: whoever
  // takes it checks that they are CRLF) or in CRLF (trailing 0). nullptr: there is no memory.
  JobPtr Take();

 private:
  std::uint64_t total() const { return std::uint64_t{body_size_} + trailing_; }
  std::uint64_t capacity() const;
  bool MakeRoom(std::uint64_t size);
  bool Grow(std::uint64_t size);
  std::string_view unique() const { return {unique_.data(), unique_size_}; }

  JobPtr job_;
  std::uint64_t arrived_ = 0;
  std::uint32_t body_size_;
  std::uint8_t trailing_;
  std::uint8_t unique_size_;
  bool failed_ = false;
  std::array<char, Job::kMaxUnique> unique_;
};

}  // namespace gearstalk
