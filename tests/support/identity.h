#pragma once

#include "broker/base/clock.h"
#include "proto_beanstalk/protocol.h"

namespace gearstalk::beanstalk {

// What `stats` tells of a broker in tests.
inline Identity TestIdentity(Time started) {
  return {.version = "1.2.3",
          .instance = "0123456789abcdef",
          .hostname = "host",
          .os = "#1 SMP",
          .platform = "x86_64",
          .pid = 4321,
          .started = started};
}

}  // namespace gearstalk::beanstalk
