#include "proto_gearman/text_line.h"

#include <algorithm>

#include "broker/base/utf8.h"

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

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

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

void AppendJsonText(std::string& line, std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t size = CharacterSize(text);
    if (size == 0) {
      line += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      line.append("\\").append(1, c);
    } else if (static_cast<unsigned char>(c) >= ' ') {
      line.append(text.substr(0, size));
    } else if (c == '\n' || c == '\t' || c == '\r') {
      line.append("\\").append(1, c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    } else {
      std::string hex;
      AppendHex(hex, static_cast<unsigned char>(c));
      line.append("\\u00").append(hex.substr(2));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

Parsed ParseLine(std::string_view bytes, TextLine& line) {
  line = {};
  const std::size_t end = bytes.substr(0, kMaxLine).find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() >= kMaxLine ? Parsed::kMalformed : Parsed::kNeedMore;
  }
  line.size = end + 1;
  std::string_view text = bytes.substr(0, end);
  if (text.ends_with('\r')) text.remove_suffix(1);
  text = text.substr(0, text.find('\0'));
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::size_t at = 0;
  do {
    if (line.count == kMaxWords) return Parsed::kMalformed;
    const std::size_t stop = std::min(text.find(' ', at), text.size());
    line.words[line.count++] = text.substr(at, stop - at);
    at = std::min(text.find_first_not_of(' ', stop), text.size());
  } while (at < text.size());
  return Parsed::kComplete;
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

}  // namespace gearstalk::gearman
