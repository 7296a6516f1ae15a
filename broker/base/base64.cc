#include "broker/base/base64.h"

#include <absl/strings/escaping.h>

#include <array>
#include <cstdint>

namespace gearstalk {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNoDigit = 64;

constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (const std::string_view alphabet : {kStandard, kUrl}) {
    for (std::uint8_t i = 0; i < kNoDigit; ++i) digits[static_cast<std::uint8_t>(alphabet[i])] = i;
  }
  return digits;
}();

}  // namespace

std::string ToBase64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::string ToBase64Url(std::string_view bytes) {
  std::string text = absl::WebSafeBase64Escape({bytes.data(), bytes.size()});
  while (text.ends_with('=')) text.pop_back();
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::uint8_t digit = kDigits[static_cast<std::uint8_t>(c)];
    if (digit == kNoDigit) return std::nullopt;
    bits = bits << 6 | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes.push_back(static_cast<char>(bits >> held & 0xFF));
  }
  return bytes;
}

}  // namespace gearstalk
