#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "broker/journal/tube_settings.h"

namespace gearstalk {

// What the engine takes at most. Producers are refused beyond it; consumers go on.
struct EngineLimits {
  // Bytes of JobMemory and TableMemory, bodies under way included, and of what waits to be sent;
  // 0 = no limit. A kTableShare-th of it is for tubes, watches and waiters.
  std::size_t memory = 0;
  static constexpr std::size_t kTableShare = 4;
  std::size_t bodies = 0;  // bytes of bodies in memory, if the journal keeps them; 0 = no limit
  std::size_t tubes = 0;   // 0 = no limit
  // Of tubes by name, whether they exist or not. `maxqueue` of the administration overrides it.
  std::map<std::string, MaxQueue, std::less<>> max_queue{};
};

}  // namespace gearstalk
