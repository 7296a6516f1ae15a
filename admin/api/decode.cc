#include "admin/api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kLeastBase64 = 16;  // bytes, for `auto`
constexpr std::uint64_t kExact = std::uint64_t{1} << 53;

// Without control bytes but tab, LF and CR.
bool IsText(std::string_view bytes) {
  const bool clean = std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  });
  return clean && IsUtf8(bytes);
}

Decoded DecodeText(std::string_view bytes) {
  if (!IsText(bytes)) return Undecodable("text", "it is not UTF-8, or has control bytes");
  return {"text", std::string(bytes), ""};
}

std::string HexOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 0xF];
  }
  return hex;
}

// `readable`: refuses base64 of other bytes than a known format, because many words and numbers are
// valid base64, too.
Decoded DecodeBase64(std::string_view bytes, bool readable) {
  std::string compact;
  std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(compact),
               [](char c) { return c != '\n' && c != '\r'; });
  const std::optional<std::string> decoded = FromBase64(compact);
  if (!decoded || decoded->empty()) return Undecodable("base64", "it is not base64");
  for (const auto decode : {DecodeJson, DecodePhp, DecodeMsgpack, DecodeText}) {
    Decoded inner = decode(*decoded);
    if (!inner.ok()) continue;
    return {"base64", std::move(inner.value), ""};
  }
  if (readable) return Undecodable("base64", "it holds nothing readable");
  return {"base64", HexOf(*decoded), ""};
}

Decoded DecodeHex(std::string_view bytes) { return {"hex", HexOf(bytes), ""}; }

Decoded Detect(std::string_view bytes) {
  Decoded found = DecodeJson(bytes);
  if (!found.ok()) found = DecodePhp(bytes);
  if (!found.ok()) {
    found = DecodeMsgpack(bytes);
    // In msgpack any byte is a number, so a number alone proves nothing.
    if (found.ok() && !found.value.is_structured()) found.error = "not a map or an array";
  }
  if (!found.ok() && bytes.size() >= kLeastBase64) found = DecodeBase64(bytes, true);
  if (!found.ok()) found = DecodeText(bytes);
  if (!found.ok()) found = DecodeHex(bytes);
  return found;
}

}  // namespace

Json NumberOf(std::uint64_t number) {
  return number > kExact ? Json(fmt::format("{}", number)) : Json(number);
}

Json NumberOf(std::int64_t number) {
  if (number >= 0) return NumberOf(static_cast<std::uint64_t>(number));
  return number < -static_cast<std::int64_t>(kExact) ? Json(fmt::format("{}", number))
                                                     : Json(number);
}

Json BytesValue(std::string_view bytes) {
  return IsUtf8(bytes) ? Json(std::string(bytes)) : Json{{"__base64", ToBase64(bytes)}};
}

Decoded Undecodable(std::string_view as, std::string error) {
  return {std::string(as), nullptr, std::move(error)};
}

Decoded Decode(std::string_view bytes, std::string_view as) {
  if (bytes.size() > kMaxDecoded) return Undecodable(as, "it is larger than 256 KiB");
  if (as == "text") return DecodeText(bytes);
  if (as == "json") return DecodeJson(bytes);
  if (as == "php") return DecodePhp(bytes);
  if (as == "msgpack") return DecodeMsgpack(bytes);
  if (as == "base64") return DecodeBase64(bytes, false);
  if (as == "hex") return DecodeHex(bytes);
  return Detect(bytes);
}

}  // namespace gearstalk::api
