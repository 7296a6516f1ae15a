#pragma once

#include <cstddef>

#include "broker/base/clock.h"

namespace gearstalk {

// The limits of connections. They may change while the server runs.
struct ServerLimits {
  std::size_t connections = 0;              // 0: as many as descriptors allow
  std::size_t connections_per_address = 0;  // 0: no limit; Unix sockets are never limited by it
  // Bytes waiting for one peer at which no more of its commands are run until it has read them.
  std::size_t output = 1 << 20;
  Time idle_timeout = 0;  // closes an idle session after so long without a byte; 0: never
  // The most time for the first word of a connection, and for its TLS handshake.
  Time handshake_timeout = 30 * kSecond;
  Time stop_timeout = kSecond;  // to send what is waiting when the server stops
};

}  // namespace gearstalk
