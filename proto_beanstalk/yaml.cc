#include "proto_beanstalk/yaml.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gearstalk::beanstalk {
namespace {

// YAML's printable characters beyond ASCII, without the byte order mark and the line separators.
bool Printable(std::uint32_t code) {
  return code >= 0xA0 && code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE &&
         code != 0xFFFF && !(code >= 0xD800 && code <= 0xDFFF) && code <= 0x10FFFF;
}

// Length of the printable UTF-8 sequence of two or more bytes that `text` begins with, or 0.
std::size_t PrintableSequence(std::string_view text) {
  static constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t size = lead >= 0xF8   ? 0
                           : lead >= 0xF0 ? 4
                           : lead >= 0xE0 ? 3
                           : lead >= 0xC0 ? 2
                                          : 0;
  if (size == 0 || text.size() < size) return 0;
  std::uint32_t code = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return 0;
    code = code << 6U | (byte & 0x3FU);
  }
  return code >= kLeast[size] && Printable(code) ? size : 0;
}

void AppendEscaped(std::string& out, char c) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
    case '\\':
      out += {'\\', c};
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 0xFU]};
  }
}

// Characters that have a meaning for YAML at the beginning of a scalar.
constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`";

// Words, in lower case, that YAML 1.1, YAML 1.2 or a widely used reader does not read as strings.
constexpr std::array<std::string_view, 16> kWords = {"~",    "null", "true",  "false", "yes", "no",
                                                     "on",   "off",  "y",     "n",     "=",   "<<",
                                                     ".inf", ".nan", "+.inf", "-.inf"};

bool IsWord(std::string_view text) {
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return std::equal(word.begin(), word.end(), text.begin(), text.end(), [](char a, char b) {
      return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b);
    });
  });
}

constexpr std::string_view kDigits = "0123456789";

// Decimal, octal, binary, hexadecimal and sexagesimal numbers, floats, and dates. Other texts of
// the same characters, such as "1+2", count as numbers, too, unless they have two points.
bool LooksLikeNumber(std::string_view text) {
  if (text[0] == '+' || text[0] == '-') text.remove_prefix(1);
  if (text.find_first_of(kDigits) == text.npos) return false;
  if (std::count(text.begin(), text.end(), '.') > 1) return false;
  if (text.starts_with("0x") || text.starts_with("0b") || text.starts_with("0o")) {
    return text.find_first_not_of("0123456789abcdefABCDEF_", 2) == text.npos;
  }
  if (text[0] != '.' && kDigits.find(text[0]) == kDigits.npos) return false;
  if (text.find_first_of(",:+-eE", text.size() - 1) != text.npos) return false;
  const bool date = text.size() > 4 && text.find_first_not_of(kDigits) == 4 && text[4] == '-';
  return text.find_first_not_of(date ? "0123456789-+.:TtZz " : "0123456789_,.:+-eE") == text.npos;
}

bool PlainAscii(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

}  // namespace

bool IsPlainScalar(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (kIndicators.find(text[0]) != kIndicators.npos || IsWord(text) || LooksLikeNumber(text)) {
    return false;
  }
  for (std::size_t i = 0; i < text.size();) {
    const bool ascii = text[i] >= ' ' && text[i] <= '~';
    const std::size_t size = ascii ? 1 : PrintableSequence(text.substr(i));
    if (size == 0 || (text[i] == ' ' && text[i + 1] == '#')) return false;
    if (text[i] == ':' && text[i + 1] == ' ') return false;
    i += size;
  }
  return true;
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = PlainAscii(text[0]) ? 1 : PrintableSequence(text);
    if (plain == 0) {
      AppendEscaped(out, text[0]);
    } else {
      out += text.substr(0, plain);
    }
    text.remove_prefix(plain == 0 ? 1 : plain);
  }
  out += '"';
}

void Yaml::Key(std::string_view key) {
  text_ += key;
  text_ += ": ";
}

void Yaml::Number(std::string_view key, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  Word(key, {digits.data(), end});
}

void Yaml::Word(std::string_view key, std::string_view word) {
  Key(key);
  text_ += word;
  text_ += '\n';
}

void Yaml::Quoted(std::string_view key, std::string_view text) {
  Key(key);
  AppendQuoted(text_, text);
  text_ += '\n';
}

void Yaml::Text(std::string_view key, std::string_view text) {
  Key(key);
  Scalar(text);
}

void Yaml::Item(std::string_view text) {
  text_ += "- ";
  Scalar(text);
}

void Yaml::Scalar(std::string_view text) {
  if (IsPlainScalar(text)) {
    text_ += text;
  } else {
    AppendQuoted(text_, text);
  }
  text_ += '\n';
}

}  // namespace gearstalk::beanstalk
