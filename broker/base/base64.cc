#include "broker/base/base64.h"

#include <absl/strings/escaping.h>

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
  for (char& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c;
  std::string bytes;
  const bool good = absl::Base64Unescape(standard, &bytes);
  // abseil leaves blanks out, and takes '.' for padding: then bytes are missing.
  if (!good || text.size() % 4 == 1 || bytes.size() != text.size() * 3 / 4) return std::nullopt;
  return bytes;
}

}  // namespace gearstalk
