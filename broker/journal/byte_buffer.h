#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace gearstalk {

// A growing buffer that leaves new bytes uninitialized: for gathering a batch of records, and for
// reading a segment. Keeps its memory when it is emptied.
class ByteBuffer {
 public:
  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_.get(), size_}; }

  // Room for `count` more bytes at the end, uninitialized. Invalidates pointers to the data.
  char* Extend(std::size_t count) {
    if (capacity_ - size_ < count) Grow(size_ + count);
    char* room = data_.get() + size_;
    size_ += count;
    return room;
  }
  void Shrink(std::size_t size) { size_ = size; }
  void Clear() { size_ = 0; }
  void Free() {
    data_.reset();
    size_ = capacity_ = 0;
  }

 private:
  void Grow(std::size_t needed) {
    const std::size_t capacity = std::max({needed, capacity_ * 2, std::size_t{4096}});
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace gearstalk
