#include "admin/metrics/tube_label.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/base/utf8.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMaxName = 200;  // bytes, as long as beanstalk's names may be

bool Plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '\\'; }

}  // namespace

std::string TubeLabel(const Tube& tube) {
  const std::string_view name = std::string_view(tube.name()).substr(0, kMaxName);
  std::string label;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = CharacterSize(name.substr(at));
    if (length > 1 || (length == 1 && Plain(name[at]))) {
      label += name.substr(at, length);
      at += length;
    } else {
      label += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[at]));
      ++at;
    }
  }
  if (label == kOtherTubes) return fmt::format("\\x{:02x}{}", label[0], label.substr(1));
  if (name.size() < tube.name().size()) label += fmt::format("\\#{}", tube.id());
  return label;
}

}  // namespace gearstalk
