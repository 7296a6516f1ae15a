#pragma once

#include "broker/base/clock.h"

namespace gearstalk {

// When the journal refuses the record of a change that is due, the engine leaves the job as it is
// and tries again after this time.
constexpr Time kTryAgain = kSecond;

}  // namespace gearstalk
