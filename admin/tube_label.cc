#include "admin/tube_label.h"

#include <fmt/format.h>

#include <algorithm>

namespace gearstalk {
namespace {

constexpr std::size_t kMaxName = 200;  // bytes, as long as beanstalk's names may be

std::uint8_t Byte(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<std::uint8_t>(text[at]) : 0;
}

// The length of the well-formed UTF-8 sequence that `text` begins with (Unicode, table 3-7), or 0.
std::size_t SequenceLength(std::string_view text) {
  const std::uint8_t first = Byte(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4) return 0;
  const std::uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (Byte(text, 1) < least || Byte(text, 1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((Byte(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool Plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '\\'; }

}  // namespace

std::string TubeLabel(const Tube& tube) {
  const std::string_view name = std::string_view(tube.name()).substr(0, kMaxName);
  std::string label;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = SequenceLength(name.substr(at));
    if (length > 1 || (length == 1 && Plain(name[at]))) {
      label += name.substr(at, length);
      at += length;
    } else {
      label += fmt::format("\\x{:02x}", Byte(name, at));
      ++at;
    }
  }
  if (label == kOtherTubes) return fmt::format("\\x{:02x}{}", label[0], label.substr(1));
  if (name.size() < tube.name().size()) label += fmt::format("\\#{}", tube.id());
  return label;
}

}  // namespace gearstalk
