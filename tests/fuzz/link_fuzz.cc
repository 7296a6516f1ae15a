// Bytes of a link: whole or cut anywhere, the frames are the same, none is larger than it may be,
// and what a payload is decoded to is encoded to that payload.

#include <string>
#include <vector>

#include "broker/link/frame.h"
#include "broker/link/payloads.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk::link {
namespace {

template <typename Decode>
void CheckPayload(std::string_view payload, Decode decode) {
  if (const auto decoded = decode(payload)) GS_CHECK(Encode(*decoded) == payload);
}

void Check(const Frame& frame) {
  GS_CHECK(frame.stream <= kMaxStream);
  GS_CHECK(frame.payload.size() <= (frame.kind == Kind::kData ? kMaxData : kMaxPayload));
  std::string head(kHead, '\0');
  StoreHead(head.data(), frame.stream, frame.kind, frame.payload.size());
  GS_CHECK(Decode(head + std::string(frame.payload)).state == Decoded::State::kFrame);
  CheckPayload(frame.payload, DecodeOpen);
  CheckPayload(frame.payload, DecodeReset);
  CheckPayload(frame.payload, DecodeCredit);
  CheckPayload(frame.payload, DecodeCounters);
  if (const auto number = DecodeClose(frame.payload)) {
    GS_CHECK(EncodeClose(*number) == frame.payload);
  }
  // A truth has more than one form.
  if (const auto settings = DecodeSettings(frame.payload)) {
    GS_CHECK(Encode(*settings).size() == frame.payload.size());
  }
}

// The frames of two streams' bytes, read `piece` bytes at a time.
std::vector<std::string> Read(std::string_view bytes, std::size_t piece) {
  std::vector<std::string> frames;
  std::string held;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    held += part;
    bytes.remove_prefix(part.size());
    for (;;) {
      const Decoded decoded = Decode(held);
      if (decoded.state == Decoded::State::kMalformed) return frames;
      if (decoded.state == Decoded::State::kMore) break;
      Check(decoded.frame);
      frames.push_back(held.substr(0, decoded.size));
      held.erase(0, decoded.size);
    }
  }
  return frames;
}

}  // namespace
}  // namespace gearstalk::link

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  if (size == 0) return 0;
  const std::string_view bytes = AsBytes(data + 1, size - 1);
  GS_CHECK(link::Read(bytes, bytes.size() + 1) == link::Read(bytes, data[0] % 32 + 1));
  return 0;
}
