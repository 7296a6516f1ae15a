#pragma once

#include <cstdint>
#include <string_view>

#include "broker/engine/id_table.h"
#include "broker/engine/linear_hash.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// Owns the tubes; finds them by name, walks them in the order of creation.
class TubeTable {
 public:
  TubeTable() = default;
  TubeTable(const TubeTable&) = delete;
  TubeTable& operator=(const TubeTable&) = delete;
  ~TubeTable();

  Tube* Find(std::string_view name) const;
  Tube& FindOrMake(std::string_view name);
  // There must be none of this name.
  Tube& Make(std::string_view name);
  void Erase(Tube& tube);
  Tube* FindById(std::uint64_t id) const { return by_id_.Find(id); }
  Tube* Next(std::uint64_t after) const { return by_id_.Next(after); }
  std::size_t size() const { return by_id_.size(); }

 private:
  LinearHash<Tube> by_name_;
  IdTable<Tube> by_id_;
  std::uint64_t last_id_ = 0;
};

}  // namespace gearstalk
