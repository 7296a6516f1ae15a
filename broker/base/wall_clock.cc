#include "broker/base/wall_clock.h"

#include <ctime>

namespace gearstalk {

Time WallClock() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<Time>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

}  // namespace gearstalk
