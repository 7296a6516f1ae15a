#include "broker/engine/group_list.h"

#include <algorithm>
#include <utility>

namespace gearstalk {
namespace {

// Buckets of a slice, about a quarter of a millisecond.
constexpr std::size_t kSliceBuckets = 512;

std::uint64_t NumberOf(const GroupRow& row, GroupList::Sort sort) {
  switch (sort) {
    case GroupList::Sort::kReady:
      return row.ready;
    case GroupList::Sort::kReserved:
      return row.reserved;
    case GroupList::Sort::kDelayed:
      return row.delayed;
    case GroupList::Sort::kHandedOut:
      return row.handed_out;
    case GroupList::Sort::kOldest:
      return static_cast<std::uint64_t>(kNever - row.oldest);
    case GroupList::Sort::kName:
      break;
  }
  return 0;
}

}  // namespace

GroupList::GroupList(Sort sort, bool descending, std::size_t most, std::optional<GroupRow> after)
    : sort_(sort), descending_(descending), most_(most), after_(std::move(after)) {}

// Equal numbers are in the order of the names.
bool GroupList::Before(const GroupRow& a, const GroupRow& b) const {
  if (sort_ == Sort::kName) return descending_ ? b.name < a.name : a.name < b.name;
  const std::uint64_t of_a = NumberOf(a, sort_), of_b = NumberOf(b, sort_);
  if (of_a != of_b) return descending_ ? of_a > of_b : of_a < of_b;
  return a.name < b.name;
}

void GroupList::Add(const Groups& groups, const Group& group) {
  if (group.unfinished() == 0) return;
  ++total_;
  const Job* const oldest = groups.OldestOf(group);
  GroupRow row{.name = std::string(group.name()),
               .ready = group.ready(),
               .reserved = group.reserved(),
               .delayed = group.delayed(),
               .handed_out = group.handed_out(),
               .oldest = oldest == nullptr ? kNever : oldest->created,
               .held = group.held()};
  if (most_ == 0 || (after_.has_value() && !Before(*after_, row))) return;
  const auto before = [this](const GroupRow& a, const GroupRow& b) { return Before(a, b); };
  if (rows_.size() == most_) {
    if (!Before(row, rows_.front())) return;
    std::pop_heap(rows_.begin(), rows_.end(), before);
    rows_.pop_back();
  }
  rows_.push_back(std::move(row));
  std::push_heap(rows_.begin(), rows_.end(), before);
}

bool GroupList::Look(const Groups& groups) {
  for (std::size_t looked = 0; looked < kSliceBuckets; ++looked) {
    if (next_ >= groups.buckets()) return true;
    groups.VisitBucket(next_++, [&](const Group& group) { Add(groups, group); });
  }
  return next_ >= groups.buckets();
}

// A group that was visited twice is in it once.
std::vector<GroupRow> GroupList::Take() {
  std::sort_heap(rows_.begin(), rows_.end(),
                 [this](const GroupRow& a, const GroupRow& b) { return Before(a, b); });
  const auto same = [](const GroupRow& a, const GroupRow& b) { return a.name == b.name; };
  rows_.erase(std::unique(rows_.begin(), rows_.end(), same), rows_.end());
  return std::exchange(rows_, {});
}

}  // namespace gearstalk
