#include "broker/postgres/lane.h"

#include <algorithm>

namespace gearstalk::postgres {

Operation* Lane::Due(Time now) {
  const auto due = std::ranges::find_if(
      operations, [&](const Operation& each) { return each.not_before <= now; });
  return due == operations.end() ? nullptr : &*due;
}

Operation* Lane::Find(std::uint64_t id) {
  const auto found = std::ranges::find(operations, id, &Operation::id);
  return found == operations.end() ? nullptr : &*found;
}

bool Lane::Runs(std::uint64_t id) const {
  return std::ranges::find(tries, id, &Try::operation) != tries.end();
}

Lane::Try* Lane::Idle() {
  const auto idle = std::ranges::find_if(tries, [](const Try& each) {
    return each.admitted && each.connection->state() == Connection::State::kIdle;
  });
  return idle == tries.end() ? nullptr : &*idle;
}

Lane::Try* Lane::Free() {
  const auto free =
      std::ranges::find_if(tries, [](const Try& each) { return each.connection == nullptr; });
  return free == tries.end() ? nullptr : &*free;
}

bool Lane::IsConnecting() const {
  return std::ranges::any_of(
      tries, [](const Try& each) { return each.connection != nullptr && !each.admitted; });
}

bool Lane::HasAdmitted() const { return std::ranges::any_of(tries, &Try::admitted); }

void Lane::NoteTrouble(const std::string& trouble) {
  for (Operation& each : operations) each.trouble = trouble;
}

std::string_view Lane::trouble() const {
  const auto first =
      std::ranges::find_if(operations, [](const Operation& each) { return !each.trouble.empty(); });
  return first == operations.end() ? "" : std::string_view(first->trouble);
}

void Lane::Close() {
  for (Try& each : tries) each.Reset();
  connect_after = 0;
}

}  // namespace gearstalk::postgres
