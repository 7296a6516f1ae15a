#include "proto_beanstalk/yaml.h"

#include <array>
#include <charconv>

#include "proto_beanstalk/parser.h"

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

bool PlainAscii(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

}  // namespace

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

void Yaml::TubeItem(std::string_view tube) {
  text_ += "- ";
  if (IsTubeName(tube)) {
    text_ += tube;
  } else {
    AppendQuoted(text_, tube);
  }
  text_ += '\n';
}

}  // namespace gearstalk::beanstalk
