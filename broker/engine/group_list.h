#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/groups.h"

namespace gearstalk {

// What is shown of a group.
struct GroupRow {
  std::string name;  // empty: the jobs without a group
  std::uint64_t ready = 0, reserved = 0, delayed = 0, handed_out = 0;
  Time oldest = kNever;  // when its oldest ready job was made; kNever: it has none
  GroupHeld held = GroupHeld::kNone;
};

// The groups of a tube with unfinished jobs, sorted: a walk over all of them in slices, which keeps
// the first ones. Groups that come and go meanwhile may be in it or not.
class GroupList {
 public:
  enum class Sort : std::uint8_t { kName, kReady, kReserved, kDelayed, kHandedOut, kOldest };
  // The first `most` behind `after`. `descending`: the greatest first, of `kOldest` the oldest.
  GroupList(Sort sort, bool descending, std::size_t most, std::optional<GroupRow> after = {});

  // Looks at some of them. True: that was the last slice.
  bool Look(const Groups& groups);
  // How many there are, after the last slice.
  std::size_t total() const { return total_; }
  // After the last slice, in order.
  std::vector<GroupRow> Take();

 private:
  bool Before(const GroupRow& a, const GroupRow& b) const;
  void Add(const Groups& groups, const Group& group);

  const Sort sort_;
  const bool descending_;
  const std::size_t most_;
  const std::optional<GroupRow> after_;
  std::size_t next_ = 0;  // bucket
  std::size_t total_ = 0;
  std::vector<GroupRow> rows_;  // a heap, the last in order on top
};

}  // namespace gearstalk
