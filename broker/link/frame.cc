#include "broker/link/frame.h"

#include "broker/base/stored_number.h"

namespace gearstalk::link {

Decoded Decode(std::string_view bytes) {
  if (bytes.size() < kHead) return {.state = Decoded::State::kMore, .size = kHead};
  const std::uint32_t word = Load<std::uint32_t>(bytes, 4);
  const auto kind = static_cast<std::uint8_t>(word & 0xff);
  const std::size_t size = word >> 8;
  Decoded decoded{.size = kHead + size};
  decoded.frame.stream = Load<std::uint32_t>(bytes, 0);
  decoded.frame.kind = static_cast<Kind>(kind);
  const bool data = decoded.frame.kind == Kind::kData;
  const std::size_t least = data ? 1 : 0, most = data ? kMaxData : kMaxPayload;
  if (kind == 0 || kind > kLastKind || size < least || size > most ||
      decoded.frame.stream > kMaxStream) {
    decoded.state = Decoded::State::kMalformed;
  } else if (bytes.size() >= decoded.size) {
    decoded.state = Decoded::State::kFrame;
    decoded.frame.payload = bytes.substr(kHead, size);
  }
  return decoded;
}

void StoreHead(char* out, std::uint32_t stream, Kind kind, std::size_t payload) {
  Store(out, stream);
  Store(out + sizeof stream,
        static_cast<std::uint32_t>(payload << 8) | static_cast<std::uint32_t>(kind));
}

}  // namespace gearstalk::link
