#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gearstalk {

// What a connection received and has not run yet. A turn takes a little from its front and leaves
// the rest where it is: the bytes are moved when half of them are gone, so each is moved a few
// times at most, however many turns it takes. Empty, it has no memory.
class HeldInput {
 public:
  std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  bool empty() const { return size() == 0; }
  std::size_t size() const { return bytes_.size() - begin_; }

  // Holds `bytes` instead, which do not lie in here.
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
