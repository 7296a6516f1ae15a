// The limits of the engine.

#include <utility>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

// `limits.maxqueue` overrides the policy's max_jobs.
MaxQueue MaxQueueIn(const EngineLimits& limits, const Tube& tube) {
  const auto found = limits.max_queue.find(tube.name());
  if (found != limits.max_queue.end()) return found->second;
  return tube.policy() == nullptr ? MaxQueue{} : tube.policy()->max_jobs;
}

}  // namespace

// O(tubes): at start and when the configuration changes.
void Engine::SetLimits(EngineLimits limits) {
  const EngineLimits before = std::exchange(limits_, std::move(limits));
  bodies_.SetLimit(limits_.bodies);
  std::uint64_t last = 0;
  while (Tube* const tube = tubes_.Next(last)) {
    last = tube->id();
    const MaxQueue configured = MaxQueueIn(before, *tube);
    if (tube->settings_.max_queue == configured) {
      tube->settings_.max_queue = ConfiguredMaxQueue(*tube);
    }
    ReleaseTube(*tube);
  }
}

MaxQueue Engine::ConfiguredMaxQueue(std::string_view name) const {
  if (const Tube* const tube = tubes_.Find(name)) return ConfiguredMaxQueue(*tube);
  const auto found = limits_.max_queue.find(name);
  if (found != limits_.max_queue.end()) return found->second;
  const PolicyRules& rules = policies_.rules();
  return rules.empty() ? MaxQueue{} : rules.Of(name, {}).max_jobs;
}

MaxQueue Engine::ConfiguredMaxQueue(const Tube& tube) const { return MaxQueueIn(limits_, tube); }

// The settings that differ from the configuration, which the journal keeps.
TubeSettings Engine::OwnSettings(const Tube& tube) const {
  TubeSettings own = tube.settings_;
  if (own.max_queue == ConfiguredMaxQueue(tube)) own.max_queue = {};
  return own;
}

Tube& Engine::MakeTube(std::string_view name) {
  Tube& tube = tubes_.Make(name);
  tube.settings_.max_queue = ConfiguredMaxQueue(tube);
  tube.function_ = idle_functions_.Remove(name);
  if (!policies_.rules().empty()) policies_.Resolve(tube);
  return tube;
}

// Whatever the limits.
Tube& Engine::TubeNamed(std::string_view name) {
  Tube* found = tubes_.Find(name);
  return found == nullptr ? MakeTube(name) : *found;
}

// nullptr: the limit of tubes is reached.
Tube* Engine::TubeForUse(std::string_view name) {
  if (Tube* found = tubes_.Find(name)) return found;
  if (limits_.tubes > 0 && tubes_.size() >= limits_.tubes) return nullptr;
  if (TablesFull()) return nullptr;
  return &MakeTube(name);
}

}  // namespace gearstalk
