#pragma once

#include <array>
#include <cstdint>

#include "broker/base/clock.h"

namespace gearstalk {

// The most unfinished jobs of a tube at which it takes one of high, normal or low priority;
// 0 = no limit.
using MaxQueue = std::array<std::int64_t, 3>;

// The settings of a tube by administrators and clients, which outlive a restart. Copied as a whole
// between the tube and its record: a new field needs its place in record_codec.cc and nothing
// else.
struct TubeSettings {
  bool created_function = false;  // made by `create function`
  MaxQueue max_queue{};
  Time pause_until = 0;       // 0 = not paused
  std::uint32_t pause_s = 0;  // length of the pause as asked for

  friend bool operator==(const TubeSettings&, const TubeSettings&) = default;
};

}  // namespace gearstalk
