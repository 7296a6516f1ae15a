#include "admin/api/json.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

namespace gearstalk::api {
namespace {

constexpr int kDeepest = 128;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::uint8_t Byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0;
}

std::string Encode(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::uint32_t three = static_cast<std::uint32_t>(Byte(bytes, at)) << 16 |
                                static_cast<std::uint32_t>(Byte(bytes, at + 1)) << 8 |
                                Byte(bytes, at + 2);
    const std::size_t digits = std::min<std::size_t>(bytes.size() - at, 3) + 1;
    for (std::size_t i = 0; i < digits; ++i) text += alphabet[three >> (18 - 6 * i) & 0x3F];
    if (pad) text.append(4 - digits, '=');
  }
  return text;
}

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

std::string TextOf(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = CharacterSize(bytes);
    text += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Json> ParseJson(std::string_view text, std::size_t most) {
  bool large = false;
  std::size_t events = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, Json&) {
    const bool begins = event == Json::parse_event_t::value ||
                        event == Json::parse_event_t::object_start ||
                        event == Json::parse_event_t::array_start;
    events += begins ? 1 : 0;
    large = large || depth > kDeepest || events > most;
    return !large;
  };
  // A parser that recurses not, but what it makes is destroyed recursively.
  Json json = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (json.is_discarded() || large) return std::nullopt;
  return json;
}

std::string Timestamp(Time time) {
  const std::time_t seconds = time / kSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     time % kSecond / kMillisecond);
}

std::string Base64Url(std::string_view bytes) { return Encode(bytes, kUrl, false); }
std::string Base64(std::string_view bytes) { return Encode(bytes, kStandard, true); }

std::optional<std::string> Base64Decode(std::string_view text) {
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

void DecodeLongBase64(Json& object) {
  constexpr std::size_t kLong = 4096;  // bytes
  constexpr std::string_view kEnd = "_base64";
  for (auto& [name, value] : object.get_ref<Json::object_t&>()) {
    const auto* const text = value.get_ptr<const Json::string_t*>();
    if (text == nullptr || text->size() < kLong || !name.ends_with(kEnd)) continue;
    const std::string full = name;
    const std::string plain = full.substr(0, full.size() - kEnd.size());
    std::optional<std::string> decoded = Base64Decode(*text);
    if (!decoded || object.contains(plain)) continue;
    object.erase(full);
    object[plain] = std::move(*decoded);
    return DecodeLongBase64(object);
  }
}

}  // namespace gearstalk::api
