#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "broker/journal/tube_settings.h"

namespace gearstalk {

// What the engine takes at most. Producers are refused beyond it; consumers go on.
struct EngineLimits {
  std::size_t memory = 0;  // bytes of JobMemory, bodies under way included; 0 = no limit
  std::size_t tubes = 0;   // 0 = no limit
  // Of tubes by name, whether they exist or not. `maxqueue` of the administration overrides it.
  std::map<std::string, MaxQueue, std::less<>> max_queue{};
};

}  // namespace gearstalk
