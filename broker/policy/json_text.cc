#include "broker/policy/json_text.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "broker/base/split.h"
#include "broker/base/utf8.h"

namespace gearstalk {

bool JsonText::SkipScalar() {
  if (rest_.empty()) return false;
  switch (rest_.front()) {
    case '"':
      return SkipString();
    case 'n':
      return TakeWord("null");
    case 't':
      return TakeWord("true");
    case 'f':
      return TakeWord("false");
    default:
      return Number();
  }
}

bool JsonText::Digits() {
  std::size_t size = 0;
  while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
  rest_.remove_prefix(size);
  return size > 0;
}

bool JsonText::Number() {
  Take('-');
  if (!Take('0') && !Digits()) return false;
  if (Take('.') && !Digits()) return false;
  if (!Take('e') && !Take('E')) return true;
  if (!Take('+')) Take('-');
  return Digits();
}

// How many bytes at the front are plain text of a string: no quote, escape, control character,
// and nothing beyond ASCII. Looks at 8 at a time.
std::size_t JsonText::PlainText() const {
  constexpr std::uint64_t kOnes = ~std::uint64_t{0} / 255, kHigh = kOnes * 0x80;
  std::size_t at = 0;
  for (; at + 8 <= rest_.size(); at += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, rest_.data() + at, 8);
    if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
    const std::uint64_t quote = bytes ^ kOnes * '"', escape = bytes ^ kOnes * '\\';
    // The lowest bit that is set is right; those above it need not be.
    const std::uint64_t special = (bytes | ((bytes - kOnes * ' ') & ~bytes) |
                                   ((quote - kOnes) & ~quote) | ((escape - kOnes) & ~escape)) &
                                  kHigh;
    if (special != 0) return at + static_cast<std::size_t>(std::countr_zero(special)) / 8;
  }
  const auto plain = [](char c) { return c >= ' ' && c != '"' && c != '\\' && c < 0x7f; };
  while (at < rest_.size() && plain(rest_[at])) ++at;
  return at;
}

bool JsonText::String(std::string& unescaped, std::string_view& text) {
  if (!Take('"')) return false;
  const char* const begin = rest_.data();
  bool escapes = false;
  for (;;) {
    const std::size_t plain = PlainText();
    if (escapes) unescaped.append(rest_.substr(0, plain));
    rest_.remove_prefix(plain);
    if (rest_.empty()) return false;
    const char c = rest_.front();
    if (c == '"') break;
    if (c == '\\') {
      if (!std::exchange(escapes, true)) unescaped.assign(begin, rest_.data());
      if (!Escape(&unescaped)) return false;
      continue;
    }
    const std::size_t size = CharacterSize(rest_);
    if (size == 0 || static_cast<unsigned char>(c) < ' ') return false;
    if (escapes) unescaped.append(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  text = escapes ? std::string_view(unescaped) : std::string_view(begin, rest_.data());
  return Take('"');
}

bool JsonText::SkipCharacters(std::size_t most) {
  const std::size_t until = rest_.size() - std::min(most, rest_.size());
  do {
    rest_.remove_prefix(PlainText());
    if (rest_.empty()) return false;
    if (rest_.front() == '"') return true;
    if (rest_.front() == '\\') {
      if (!Escape(nullptr)) return false;
      continue;
    }
    const std::size_t size = CharacterSize(rest_);
    if (size == 0 || static_cast<unsigned char>(rest_.front()) < ' ') return false;
    rest_.remove_prefix(size);
  } while (rest_.size() > until);
  return true;
}

bool JsonText::Escape(std::string* text) {
  static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (!Take('\\') || rest_.empty()) return false;
  std::uint32_t code = 0;
  if (rest_.front() == 'u') {
    if (!Unicode(code)) return false;
  } else {
    const std::size_t at = kEscapes.find(rest_.front());
    if (at == std::string_view::npos) return false;
    code = static_cast<unsigned char>(kMeanings[at]);
    rest_.remove_prefix(1);
  }
  if (text != nullptr) AppendUtf8(*text, code);
  return true;
}

bool JsonText::Hex(std::uint32_t& code) {
  if (!Take('u') || rest_.size() < 4) return false;
  if (!ParseNumber(rest_.substr(0, 4), code, 16)) return false;
  rest_.remove_prefix(4);
  return true;
}

// Four digits, or two times four: a pair of surrogates.
bool JsonText::Unicode(std::uint32_t& code) {
  if (!Hex(code) || (code >= 0xDC00 && code <= 0xDFFF)) return false;
  if (code < 0xD800 || code > 0xDBFF) return true;
  std::uint32_t low = 0;
  if (!Take('\\') || !Hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
  code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  return true;
}

}  // namespace gearstalk
