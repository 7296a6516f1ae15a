#include "broker/engine/linear_hash.h"

#include <random>

namespace gearstalk {

std::uint64_t NewHashSeed() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

}  // namespace gearstalk
