#include "proto_gearman/text_line.h"

#include <algorithm>

namespace gearstalk::gearman {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

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
