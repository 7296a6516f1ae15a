#pragma once

#include "broker/base/clock.h"

namespace gearstalk {

// A job that is due for something that the journal does not record now stays, and is tried again so
// much later.
constexpr Time kTryAgain = kSecond;

}  // namespace gearstalk
