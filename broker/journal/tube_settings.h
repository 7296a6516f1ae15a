#pragma once

#include <array>
#include <cstdint>

#include "broker/base/clock.h"

namespace gearstalk {

// How many unfinished jobs a tube may have when one of high, normal or low priority comes;
// 0 = no limit.
using MaxQueue = std::array<std::int64_t, 3>;

// What administrators and clients have set of a tube, and what outlives a restart. Copied as a
// whole between the tube and its record; a field that is added here needs its place in
// record_codec.cc and nothing else.
struct TubeSettings {
  bool created_function = false;  // made by `create function`
  MaxQueue max_queue{};
  Time pause_until = 0;       // 0 = not paused
  std::uint32_t pause_s = 0;  // length of the pause as asked for

  friend bool operator==(const TubeSettings&, const TubeSettings&) = default;
};

}  // namespace gearstalk
