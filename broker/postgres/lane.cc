#include "broker/postgres/lane.h"

#include <algorithm>

namespace gearstalk::postgres {

Operation* Lane::Due(Time now) {
  const auto due = std::find_if(operations.begin(), operations.end(),
                                [&](const Operation& each) { return each.not_before <= now; });
  return due == operations.end() ? nullptr : &*due;
}

Operation* Lane::Find(std::uint64_t id) {
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Operation& each) { return each.id == id; });
  return found == operations.end() ? nullptr : &*found;
}

bool Lane::Runs(std::uint64_t id) const {
  return std::any_of(tries.begin(), tries.end(),
                     [&](const Try& each) { return each.operation == id; });
}

Lane::Try* Lane::Idle() {
  const auto idle = std::find_if(tries.begin(), tries.end(), [](const Try& each) {
    return each.admitted && each.connection->state() == Connection::State::kIdle;
  });
  return idle == tries.end() ? nullptr : &*idle;
}

Lane::Try* Lane::Free() {
  const auto free = std::find_if(tries.begin(), tries.end(),
                                 [](const Try& each) { return each.connection == nullptr; });
  return free == tries.end() ? nullptr : &*free;
}

bool Lane::IsConnecting() const {
  return std::any_of(tries.begin(), tries.end(),
                     [](const Try& each) { return each.connection != nullptr && !each.admitted; });
}

bool Lane::HasAdmitted() const {
  return std::any_of(tries.begin(), tries.end(), [](const Try& each) { return each.admitted; });
}

void Lane::Close() {
  for (Try& each : tries) each.Reset();
  connect_after = 0;
}

}  // namespace gearstalk::postgres
