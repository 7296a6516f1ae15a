#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "broker/engine/id_table.h"
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
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const;
    std::size_t operator()(const Tube* tube) const { return (*this)(tube->name()); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view Name(std::string_view name) { return name; }
    static std::string_view Name(const Tube* tube) { return tube->name(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Name(a) == Name(b);
    }
  };

  absl::flat_hash_set<Tube*, Hash, Equal> by_name_;
  IdTable<Tube> by_id_;
  std::uint64_t last_id_ = 0;
};

}  // namespace gearstalk
