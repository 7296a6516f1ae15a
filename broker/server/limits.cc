#include "broker/server/limits.h"

namespace gearstalk {

std::optional<Refusal> Admission::Enter(const ServerLimits& limits, std::uint64_t network) {
  if (limits.connections > 0 && count_ >= limits.connections) return Refusal::kConnections;
  if (network != 0) {
    std::size_t& of_address = by_network_[network];
    if (limits.connections_per_address > 0 && of_address >= limits.connections_per_address) {
      return Refusal::kConnectionsPerAddress;
    }
    if (of_address == networks_with_more_than_.size()) networks_with_more_than_.push_back(0);
    ++networks_with_more_than_[of_address++];
  }
  ++count_;
  return std::nullopt;
}

void Admission::Leave(std::uint64_t network) {
  --count_;
  if (network == 0) return;
  const auto found = by_network_.find(network);
  if (--networks_with_more_than_[--found->second] == 0) networks_with_more_than_.pop_back();
  if (found->second == 0) by_network_.erase(found);
}

}  // namespace gearstalk
