#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace gearstalk {

class Group;

// Groups that have a job to give, by the priority of that job, then by the group's reserved jobs,
// then by a stamp that no two of them share. What Group::priority_, turn_reserved_ and stamp_ say
// does not change while a group is in.
//
// Stamps rise, so a group nearly always goes to the end of those that are like it, or a few places
// before the end. The others are in a tree beside that list: O(log n) steps for each.
class Turns {
 public:
  void Insert(Group& group);
  void Remove(Group& group);
  // nullptr: no group has a turn.
  Group* First() const;
  // Each half of those that are alike in its order, until `visit` returns false for one of a half:
  // then the other half is the last.
  void Visit(const std::function<bool(const Group&)>& visit) const;

 private:
  // Those of one priority that have as many reserved jobs.
  struct Alike {
    Group* first = nullptr;  // a list
    Group* last = nullptr;
    Group* others = nullptr;  // a Treap
    bool empty() const { return first == nullptr && others == nullptr; }
  };

  // At most one is empty: a group that goes and comes back allocates nothing.
  absl::btree_map<std::uint64_t, Alike> alike_;
  std::optional<std::uint64_t> empty_;
};

}  // namespace gearstalk
