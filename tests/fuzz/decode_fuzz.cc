// Bodies of all kinds: each decoder makes a value that can be sent, or says why not.

#include "admin/api/decode.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  const std::string_view bytes = AsBytes(data, size);
  for (const std::string_view as : {"auto", "text", "json", "base64", "hex", "php", "msgpack"}) {
    const api::Decoded decoded = api::Decode(bytes, as);
    GS_CHECK(as != "auto" || decoded.ok());
    GS_CHECK(decoded.ok() || decoded.value.is_null());
    GS_CHECK(IsUtf8(api::Dump(decoded.value)));
  }
  return 0;
}
