#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace gearstalk {

// How many unfinished jobs a tube may have when one of each Band comes; 0 = no limit.
using MaxQueue = std::array<std::int64_t, 3>;

// What the engine takes at most. Producers are refused beyond it; consumers go on.
struct EngineLimits {
  std::size_t memory = 0;  // bytes of JobMemory, bodies under way included; 0 = no limit
  std::size_t tubes = 0;   // 0 = no limit
  // Of tubes by name, whether they exist or not. `maxqueue` of the administration overrides it.
  std::map<std::string, MaxQueue, std::less<>> max_queue{};
};

}  // namespace gearstalk
