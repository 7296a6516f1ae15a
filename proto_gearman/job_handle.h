#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "broker/engine/job.h"

namespace gearstalk::gearman {

// The text of a handle.
class HandleText {
 public:
  // 64 with the NUL that C clients append.
  static constexpr std::size_t kMaxSize = 63;

  std::string_view view() const { return {text_.data(), size_}; }
  operator std::string_view() const { return view(); }

 private:
  friend class HandleFormat;
  std::array<char, kMaxSize> text_;
  std::size_t size_ = 0;
};

// H:<server-name>:<id>.
class HandleFormat {
 public:
  // Bytes that break clients in a handle (blanks, control bytes, '/') are replaced by '-', and a
  // name that leaves no room for the longest id is cut.
  explicit HandleFormat(std::string_view server_name);

  HandleText Write(JobId id) const;
  // Accepts exactly the texts that Write makes.
  std::optional<JobId> Read(std::string_view text) const;

 private:
  std::string prefix_;
};

}  // namespace gearstalk::gearman
