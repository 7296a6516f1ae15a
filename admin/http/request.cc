#include "admin/http/request.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

bool Unreserved(unsigned char c) {
  return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

const std::string* HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool PercentDecode(std::string_view text, bool plus, std::string& decoded) {
  decoded.clear();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += plus && text[at] == '+' ? ' ' : text[at];
      continue;
    }
    unsigned char byte = 0;
    if (text.size() - at <= 2 || !ParseNumber(text.substr(at + 1, 2), byte, 16)) return false;
    decoded += static_cast<char>(byte);
    at += 2;
  }
  return true;
}

std::string PercentEncode(std::string_view bytes) {
  std::string encoded;
  for (const char c : bytes) {
    if (Unreserved(static_cast<unsigned char>(c))) {
      encoded += c;
    } else {
      fmt::format_to(std::back_inserter(encoded), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace gearstalk
