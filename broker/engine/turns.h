#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace gearstalk {

// The place of a group among those that have a job to give. What decides it does not change while
// the group is in.
struct GroupTurn {
  GroupTurn* left = nullptr;
  GroupTurn* right = nullptr;
  std::uint64_t stamp = 0;     // of the last hand-out, or of its return; no other group has it
  std::uint32_t priority = 0;  // of the job that it would give
  std::uint32_t reserved_jobs = 0;
  bool in_turn = false;
  bool in_tree = false;  // see Turns

  std::uint64_t likeness() const { return std::uint64_t{priority} << 32U | reserved_jobs; }
  bool Before(const GroupTurn& other) const {
    return likeness() != other.likeness() ? likeness() < other.likeness() : stamp < other.stamp;
  }
};

// Whose turn it is: by priority, then by reserved jobs, then by stamp.
//
// Stamps rise, so a group nearly always goes to the end of those that are like it, or a few places
// before the end. The others are in a tree beside that list: O(log n) steps for each.
class Turns {
 public:
  void Insert(GroupTurn& turn);
  void Remove(GroupTurn& turn);
  // nullptr: no group has a turn.
  GroupTurn* First() const;
  // Each half of those that are alike in its order, until `visit` returns false for one of a half:
  // then the other half is the last.
  void Visit(const std::function<bool(const GroupTurn&)>& visit) const;

 private:
  // Those of one priority that have as many reserved jobs.
  struct Alike {
    GroupTurn* first = nullptr;  // a list
    GroupTurn* last = nullptr;
    GroupTurn* others = nullptr;       // a Treap
    GroupTurn* first_other = nullptr;  // of the Treap, which First would have to walk down
    bool empty() const { return first == nullptr && others == nullptr; }
  };

  // At most one is empty: a group that goes and comes back allocates nothing.
  absl::btree_map<std::uint64_t, Alike> alike_;
  std::optional<std::uint64_t> empty_;
};

}  // namespace gearstalk
