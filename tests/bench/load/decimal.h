#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace gearstalk::bench {

inline void AppendDecimal(std::string& out, int64_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

// The number at the front of `text`; 0 when there is none.
inline int64_t LeadingDecimal(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace gearstalk::bench
