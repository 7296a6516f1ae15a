#include "admin/ctl/visible.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/base/utf8.h"

namespace gearstalk::ctl {

std::string Visible(std::string_view text) {
  std::string visible;
  while (!text.empty()) {
    const std::string_view character =
        text.substr(0, std::max(CharacterSize(text), std::size_t{1}));
    const bool none = CharacterSize(text) == 0;
    const auto code =
        static_cast<std::uint32_t>(none ? static_cast<unsigned char>(text[0]) : CodeOf(character));
    if (!none && !IsHidden(code)) {
      visible += character;
    } else {
      visible += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    }
    text.remove_prefix(character.size());
  }
  return visible;
}

}  // namespace gearstalk::ctl
