// What the engine takes at most.

#include <utility>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

MaxQueue MaxQueueIn(const EngineLimits& limits, std::string_view tube) {
  if (limits.max_queue.empty()) return {};
  const auto found = limits.max_queue.find(tube);
  return found == limits.max_queue.end() ? MaxQueue{} : found->second;
}

}  // namespace

// O(tubes): at start and when the configuration changes.
void Engine::SetLimits(EngineLimits limits) {
  const EngineLimits before = std::exchange(limits_, std::move(limits));
  std::uint64_t last = 0;
  while (Tube* const tube = tubes_.Next(last)) {
    last = tube->id();
    if (tube->max_queue_ == MaxQueueIn(before, tube->name())) {
      tube->max_queue_ = ConfiguredMaxQueue(tube->name());
    }
    ReleaseTube(*tube);
  }
}

MaxQueue Engine::ConfiguredMaxQueue(std::string_view tube) const {
  return MaxQueueIn(limits_, tube);
}

// Whether its limit is one that the configuration does not know of.
bool Engine::LimitedByAdmin(const Tube& tube) const {
  return tube.max_queue_ != MaxQueue{} && tube.max_queue_ != ConfiguredMaxQueue(tube.name());
}

Tube& Engine::MakeTube(std::string_view name) {
  Tube& tube = tubes_.Make(name);
  tube.max_queue_ = ConfiguredMaxQueue(name);
  return tube;
}

// Whatever the limits.
Tube& Engine::TubeNamed(std::string_view name) {
  Tube* found = tubes_.Find(name);
  return found == nullptr ? MakeTube(name) : *found;
}

// nullptr: there are as many as allowed.
Tube* Engine::TubeForUse(std::string_view name) {
  if (Tube* found = tubes_.Find(name)) return found;
  if (limits_.tubes > 0 && tubes_.size() >= limits_.tubes) return nullptr;
  return &MakeTube(name);
}

}  // namespace gearstalk
