#include "proto_gearman/printed_name.h"

namespace gearstalk::gearman {
namespace {

void AppendHex(std::string& line, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  line += "\\x";
  line += kDigits[byte >> 4];
  line += kDigits[byte & 15];
}

void AppendByte(std::string& line, char c) {
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '\t':
      line += "\\t";
      break;
    case '\n':
      line += "\\n";
      break;
    case '\r':
      line += "\\r";
      break;
    case '\\':
      line += "\\\\";
      break;
    default:
      if (byte < ' ' || byte == 0x7f) {
        AppendHex(line, byte);
      } else {
        line += c;
      }
  }
}

}  // namespace

void AppendName(std::string& line, std::string_view name) {
  if (name.starts_with('.')) {
    AppendHex(line, '.');
    name.remove_prefix(1);
  }
  for (char c : name) AppendByte(line, c);
}

void AppendWord(std::string& line, std::string_view name) {
  for (char c : name) {
    if (c == ' ') {
      AppendHex(line, ' ');
    } else {
      AppendByte(line, c);
    }
  }
}

}  // namespace gearstalk::gearman
