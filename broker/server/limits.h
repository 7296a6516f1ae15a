#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "broker/base/clock.h"
#include "broker/server/refusal.h"

namespace gearstalk {

// What the server grants its peers. May change while it runs.
struct ServerLimits {
  std::size_t connections = 0;              // 0: as many as descriptors allow
  std::size_t connections_per_address = 0;  // 0: no limit; Unix sockets are never limited by it
  // Bytes waiting for one peer at which no more of its commands are run until it has read them.
  std::size_t output = 1 << 20;
  Time idle_timeout = 0;  // without a byte, of a session that is idle; 0: none
  // How long a connection may leave its first word, or its TLS handshake, unfinished.
  Time handshake_timeout = 30 * kSecond;
  Time stop_timeout = kSecond;  // for what is waiting to be sent when the server stops
};

// Who is connected, by address.
class Admission {
 public:
  // Counts a connection in, or says why it may not come in. `network` is Peer::network.
  std::optional<Refusal> Enter(const ServerLimits& limits, std::uint64_t network);
  void Leave(std::uint64_t network);
  std::size_t count() const { return count_; }
  // Connections of the network that has the most.
  std::size_t most_of_network() const { return networks_with_more_than_.size(); }

 private:
  std::size_t count_ = 0;
  std::vector<std::size_t> networks_with_more_than_;  // so many connections; none is 0
  absl::flat_hash_map<std::uint64_t, std::size_t> by_network_;
};

}  // namespace gearstalk
