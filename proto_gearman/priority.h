#pragma once

#include <cstdint>

#include "proto_gearman/packet.h"

namespace gearstalk::gearman {

// The engine's priorities for HIGH, NORMAL and LOW (0 is the most urgent).
struct Priorities {
  std::uint32_t high = 512;
  std::uint32_t normal = 65536;
  std::uint32_t low = 131072;

  constexpr std::uint32_t Of(PacketType submit) const {
    switch (submit) {
      case PacketType::kSubmitJobHigh:
      case PacketType::kSubmitJobHighBg:
        return high;
      case PacketType::kSubmitJobLow:
      case PacketType::kSubmitJobLowBg:
        return low;
      default:
        return normal;
    }
  }
};

}  // namespace gearstalk::gearman
