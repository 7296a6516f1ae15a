#include "broker/engine/tube_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {

std::size_t TubeTable::Hash::operator()(std::string_view name) const {
  return XXH3_64bits(name.data(), name.size());
}

TubeTable::~TubeTable() {
  while (Tube* tube = by_id_.Next(0)) Erase(*tube);
}

Tube* TubeTable::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : *found;
}

Tube& TubeTable::FindOrMake(std::string_view name) {
  Tube* found = Find(name);
  return found == nullptr ? Make(name) : *found;
}

Tube& TubeTable::Make(std::string_view name) {
  auto* tube = new Tube(std::string(name), ++last_id_);
  by_name_.insert(tube);
  by_id_.Insert(tube->id(), tube);
  return *tube;
}

void TubeTable::Erase(Tube& tube) {
  by_name_.erase(&tube);
  by_id_.Erase(tube.id());
  delete &tube;
}

}  // namespace gearstalk
