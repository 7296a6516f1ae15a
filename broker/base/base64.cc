#include "broker/base/base64.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>

#include <algorithm>

namespace gearstalk {

std::string ToBase64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::string ToBase64Url(std::string_view bytes) {
  std::string text = absl::WebSafeBase64Escape({bytes.data(), bytes.size()});
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  // abseil skips blanks, and takes '.' for padding.
  const bool plain = std::all_of(standard.begin(), standard.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '+' || c == '/';
  });
  std::string bytes;
  if (!plain || !absl::Base64Unescape(standard, &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace gearstalk
