#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "broker/base/clock.h"
#include "broker/server/refusal.h"

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

// Counts connections, by network.
class Admission {
 public:
  // Counts a new connection, or says why it is refused. `network` is Peer::network.
  std::optional<Refusal> Enter(const ServerLimits& limits, std::uint64_t network);
  void Leave(std::uint64_t network);
  std::size_t count() const { return count_; }
  // The number of connections of the network with the most.
  std::size_t most_of_network() const { return networks_with_more_than_.size(); }

 private:
  std::size_t count_ = 0;
  std::vector<std::size_t> networks_with_more_than_;  // by number of connections
  absl::flat_hash_map<std::uint64_t, std::size_t> by_network_;
};

}  // namespace gearstalk
