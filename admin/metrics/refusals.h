#pragma once

#include "admin/metrics/server_facts.h"
#include "broker/engine/outcome.h"
#include "broker/server/protocol.h"

namespace gearstalk {

// Calls `visit` with the word and the count of each reason to refuse something, always in the same
// order.
template <typename Visit>
void ForEachRefusal(const EngineStats& stats, const ServerFacts& facts, Visit visit) {
  for (const auto& [code, reason] : kJobRefusals) {
    visit(reason, stats.refused[static_cast<std::size_t>(code)]);
  }
  visit(std::string_view("tube_memory"), stats.refused_memory);
  for (const auto& [reason, count] : facts.refused) visit(reason, count);
}

}  // namespace gearstalk
