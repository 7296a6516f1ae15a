#pragma once

#include <cstdint>
#include <vector>

#include "tests/bench/load/endpoint.h"
#include "tests/bench/load/protocol.h"

namespace gearstalk::bench {

// Connections that sent one command, so that the server knows their protocol, and then stay silent.
class IdleConnections {
 public:
  IdleConnections(const Endpoint& endpoint, Protocol protocol, int64_t count);
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

 private:
  std::vector<int> fds_;
};

}  // namespace gearstalk::bench
