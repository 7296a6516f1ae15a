#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "proto_gearman/packet.h"

namespace gearstalk::gearman {

inline constexpr std::size_t kMaxLine = 8192;  // bytes, with its end
inline constexpr std::size_t kMaxWords = 5;

// One admin line, split at spaces; views into the bytes it was read from.
struct TextLine {
  std::array<std::string_view, kMaxWords>
      words;              // the first may be empty: the line began with a space
  std::size_t count = 0;  // at least 1
  std::size_t size = 0;   // bytes of the line with its end
};

// Reads a line that ends in LF or CR LF. As in gearmand a NUL ends its text. kMalformed: too long
// or too many words; `line.size` and the words until then are set in the second case.
Parsed ParseLine(std::string_view bytes, TextLine& line);

// Whether two words are equal, ignoring the case of ASCII letters.
bool SameWord(std::string_view a, std::string_view b);

}  // namespace gearstalk::gearman
