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

}  // namespace gearstalk::api
