#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/base/check.h"

// What libFuzzer calls with each input. A broken property ends the process through GS_CHECK.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gearstalk {

inline std::string_view AsBytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Whether `part` lies inside `whole`; an empty one may lie anywhere.
inline bool Inside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace gearstalk
