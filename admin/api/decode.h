#pragma once

#include <string>
#include <string_view>

#include "admin/api/json.h"

// Decodes the bytes of a body to JSON. Pure functions of bytes: they execute nothing and make
// nothing but JSON. Limits: depth 64, 10,000 values, 256 KiB of input.
namespace gearstalk::api {

inline constexpr int kMaxDepth = 64;
inline constexpr int kMaxNodes = 10'000;
inline constexpr std::size_t kMaxDecoded = 256 * 1024;  // bytes

struct Decoded {
  std::string as;     // the decoder that it was; "hex" if none other fits
  Json value;         // null with an error
  std::string error;  // empty: none
  bool ok() const { return error.empty(); }
};

// One of auto, text, json, base64, hex, php, msgpack.
Decoded Decode(std::string_view bytes, std::string_view as);

// Each a value, or why there is none.
Decoded DecodeJson(std::string_view bytes);
Decoded DecodePhp(std::string_view bytes);
Decoded DecodeMsgpack(std::string_view bytes);

// Numbers beyond 2^53 are texts.
Json NumberOf(std::int64_t number);
Json NumberOf(std::uint64_t number);
// Text as it is, other bytes as {"__base64": ...}.
Json BytesValue(std::string_view bytes);
Decoded Undecodable(std::string_view as, std::string error);

}  // namespace gearstalk::api
