#pragma once

#include "broker/base/clock.h"

namespace gearstalk {

// CPU that a process has used, 0 if there is none. Process 0 is this one.
Time CpuTimeOf(int process);
// CPU that this thread has used.
Time CpuTimeOfThread();

}  // namespace gearstalk
