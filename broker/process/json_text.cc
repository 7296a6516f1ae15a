#include "broker/process/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace gearstalk {
namespace {

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Bytes of the character that `text` begins with, 0 if it is none. Overlong forms, surrogates and
// what is beyond U+10FFFF are none (RFC 3629, section 4).
std::size_t CharacterSize(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t size = first < 0x80                    ? 1
                           : first >= 0xC2 && first < 0xE0 ? 2
                           : first >= 0xE0 && first < 0xF0 ? 3
                           : first >= 0xF0 && first < 0xF5 ? 4
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  if (size < 3) return size;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool beyond = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '"':
    case '\\':
      out += '\\';
      out += c;
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  if (code < 0x20 || code == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += c;
  }
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 1) {
      AppendAscii(out, text[0]);
    } else if (size == 0) {
      out += "\\ufffd";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

}  // namespace gearstalk
