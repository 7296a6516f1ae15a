#include "broker/engine/names.h"

#include <array>

namespace gearstalk {

std::string_view NameOf(JobState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"ready", "reserved", "delayed",
                                                             "buried", "gone"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view NameOf(HeldBack why) {
  static constexpr std::array<std::string_view, 3> kNames = {"none", "running", "rate"};
  return kNames[static_cast<std::size_t>(why)];
}

}  // namespace gearstalk
