#include "broker/engine/tube.h"

#include <xxhash.h>

#include "broker/engine/groups.h"

namespace gearstalk {
namespace {

std::uint64_t Hash(std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), HashSeed());
}

// About, with its entries in the indexes.
std::ptrdiff_t MemoryOf(const Tube& tube) {
  constexpr std::size_t kAround = 64;
  return static_cast<std::ptrdiff_t>(sizeof(Tube) + tube.name().size() + kAround);
}

}  // namespace

void Tube::VisitNext(JobState state, std::size_t bound,
                     const std::function<void(const Job&)>& visit) const {
  if (state == JobState::kReady && groups_ != nullptr) {
    groups_->VisitByAge(bound, visit);
  } else if (state == JobState::kReady) {
    ready_.VisitFirst(bound, visit);
  }
  if (state == JobState::kDelayed) delayed_.VisitFirst(bound, visit);
  if (state != JobState::kBuried) return;
  const Job* job = buried_.front();
  for (; job != nullptr && bound > 0; --bound, job = JobList::After(*job)) visit(*job);
}

TubeTable::~TubeTable() {
  while (Tube* tube = by_id_.Next(0)) Erase(*tube);
}

Tube* TubeTable::Find(std::string_view name) const {
  return by_name_.Find(Hash(name), [=](const Tube& tube) { return tube.name() == name; });
}

Tube& TubeTable::FindOrMake(std::string_view name) {
  Tube* found = Find(name);
  return found == nullptr ? Make(name) : *found;
}

Tube& TubeTable::Make(std::string_view name) {
  auto* tube = new Tube(std::string(name), ++last_id_);
  CountTableMemory(MemoryOf(*tube));
  by_name_.Insert(Hash(name), *tube);
  by_id_.Insert(tube->id(), tube);
  return *tube;
}

void TubeTable::Erase(Tube& tube) {
  by_name_.Remove(Hash(tube.name()), tube);
  by_id_.Erase(tube.id());
  CountTableMemory(-MemoryOf(tube));
  delete &tube;
}

}  // namespace gearstalk
