// Gearman's admin lines: a claim that is made stays made, and words lie inside their line.

#include "proto_gearman/text_admin.h"
#include "proto_gearman/text_line.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk::gearman {
namespace {

void CheckLine(std::string_view bytes) {
  TextLine line;
  const Parsed whole = ParseLine(bytes, line);
  if (whole == Parsed::kComplete) {
    GS_CHECK(line.size <= bytes.size() && bytes[line.size - 1] == '\n');
    GS_CHECK(line.count >= 1 && line.count <= kMaxWords);
    for (std::size_t i = 0; i < line.count; ++i) {
      GS_CHECK(Inside(line.words[i], bytes.substr(0, line.size)));
      GS_CHECK(line.words[i].find_first_of(std::string_view(" \n\0", 3)) == std::string_view::npos);
      GS_CHECK(i == 0 || !line.words[i].empty());
    }
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    TextLine early;
    const Parsed part = ParseLine(bytes.substr(0, size), early);
    if (part == Parsed::kNeedMore) continue;
    GS_CHECK(part == whole && early.size == line.size && early.words == line.words);
  }
}

void CheckClaim(std::string_view bytes) {
  const Claim whole = ClaimOfWord(bytes);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Claim part = ClaimOfWord(bytes.substr(0, size));
    GS_CHECK(part == Claim::kMaybe || part == whole);
  }
}

}  // namespace
}  // namespace gearstalk::gearman

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = gearstalk::AsBytes(data, size);
  gearstalk::gearman::CheckLine(bytes);
  gearstalk::gearman::CheckClaim(bytes);
  return 0;
}
