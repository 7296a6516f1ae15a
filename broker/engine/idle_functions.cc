#include "broker/engine/idle_functions.h"

namespace gearstalk {

void IdleFunctions::SetMost(std::size_t most) {
  most_ = most;
  while (size() > most_) DropOldest();
}

void IdleFunctions::Add(Time now, std::string_view name) {
  if (most_ == 0) return;
  Remove(name);
  if (size() == most_) DropOldest();
  const auto added = by_age_.emplace(++last_, Entry{std::string(name), now}).first;
  by_name_.emplace(added->second.name, last_);
}

bool IdleFunctions::Remove(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return false;
  const std::uint64_t number = found->second;
  by_name_.erase(found);
  by_age_.erase(number);
  return true;
}

void IdleFunctions::Tick(Time now) {
  while (size() > 0 && by_age_.begin()->second.since + kKept <= now) DropOldest();
}

const IdleFunctions::Entry* IdleFunctions::Next(std::uint64_t& after) const {
  const auto next = by_age_.upper_bound(after);
  if (next == by_age_.end()) return nullptr;
  after = next->first;
  return &next->second;
}

void IdleFunctions::DropOldest() {
  by_name_.erase(by_age_.begin()->second.name);
  by_age_.erase(by_age_.begin());
}

}  // namespace gearstalk
