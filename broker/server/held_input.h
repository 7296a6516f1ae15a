#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gearstalk {

// Input that a connection has received and not yet run. A turn consumes some bytes at the front;
// the rest is moved only when half of the buffer is consumed, so each byte is moved a few times at
// most, however many turns it takes. An empty buffer has no memory.
class HeldInput {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  bool empty() const { return size() == 0; }
  std::size_t size() const { return bytes_.size() - begin_; }

  // Replaces the content. `bytes` must not point into it.
  void Assign(std::string_view bytes) {
    begin_ = 0;
    bytes.empty() ? std::string().swap(bytes_) : void(bytes_.assign(bytes));
  }
  void Append(std::string_view bytes) { bytes_.append(bytes); }
  void Consume(std::size_t size) {
    begin_ += size;
    if (begin_ <= bytes_.size() / 2) return;
    std::string(view()).swap(bytes_);
    begin_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace gearstalk
