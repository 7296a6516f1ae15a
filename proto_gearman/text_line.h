#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "proto_gearman/packet.h"

namespace gearstalk::gearman {

// Appends a name to a line of an admin table and escapes what would break the table: control bytes
// become \t, \n, \r or \xHH, a backslash is doubled, and a dot at the beginning,
// which would end the table, becomes \x2e. Everything else, UTF-8 too, stays as it is.
void AppendName(std::string& line, std::string_view name);

// The same for columns separated by spaces: a space becomes \x20, and a dot stays.
void AppendWord(std::string& line, std::string_view name);

// Appends a text escaped as in a JSON string; what is no UTF-8 becomes U+FFFD.
void AppendJsonText(std::string& line, std::string_view text);

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
