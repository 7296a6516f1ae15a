// Headers and arguments of Gearman packets: views stay inside their bytes, and what is said of the
// first part of a packet stays true when the rest of it comes.

#include <array>

#include "proto_gearman/commands.h"
#include "proto_gearman/packet.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk::gearman {
namespace {

// The first bytes at which the header is decided about, and how.
void CheckHeader(std::string_view bytes) {
  Header header;
  const Parsed whole = ParseHeader(bytes, header);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Header early;
    const Parsed part = ParseHeader(bytes.substr(0, size), early);
    if (part == Parsed::kNeedMore) continue;
    GS_CHECK(part == whole);
    if (part == Parsed::kComplete) {
      GS_CHECK(early.type == header.type && early.size == header.size &&
               early.request == header.request);
    }
  }
  if (whole != Parsed::kComplete) return;
  GS_CHECK(static_cast<std::uint32_t>(header.type) < kPacketTypes);
}

void CheckArguments(std::string_view payload, std::uint32_t declared, const Shape& shape) {
  Arguments arguments;
  const Parsed whole = ParseArguments(payload, declared, shape, arguments);
  const std::string_view own = payload.substr(0, declared);
  if (whole == Parsed::kComplete) {
    GS_CHECK(arguments.size <= declared && arguments.size <= kMaxArgumentBytes);
    for (const std::string_view argument : arguments.at) GS_CHECK(Inside(argument, own));
  }
  GS_CHECK(whole != Parsed::kNeedMore || payload.size() < declared);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    Arguments early;
    const Parsed part = ParseArguments(payload.substr(0, size), declared, shape, early);
    if (part == Parsed::kNeedMore) continue;
    GS_CHECK(part == whole);
    GS_CHECK(part == Parsed::kMalformed ||
             (early.at == arguments.at && early.size == arguments.size));
  }
}

}  // namespace
}  // namespace gearstalk::gearman

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk::gearman;
  const std::string_view bytes = gearstalk::AsBytes(data, size);
  CheckHeader(bytes);
  Header header;
  if (ParseHeader(bytes, header) != Parsed::kComplete) return 0;
  const std::string_view payload = bytes.substr(kHeaderSize);
  CheckArguments(payload, header.size, CommandOf(header.type).shape);
  CheckArguments(payload, static_cast<std::uint32_t>(payload.size()), CommandOf(header.type).shape);
  return 0;
}
