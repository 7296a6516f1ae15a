#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "broker/base/server_limits.h"
#include "broker/server/refusal.h"

namespace gearstalk {

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
