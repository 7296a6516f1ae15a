#pragma once

#include "broker/base/clock.h"

namespace gearstalk {

// What CLOCK_REALTIME says, steps and all.
Time WallClock();

// `span` after `from`; kNever where the sum does not fit. For spans that clients or the
// configuration choose, as After is for whole seconds.
inline Time Later(Time from, Time span) {
  Time sum = 0;
  return __builtin_add_overflow(from, span, &sum) ? kNever : sum;
}

}  // namespace gearstalk
