#include "broker/engine/turns.h"

#include "broker/base/check.h"
#include "broker/engine/treap.h"

namespace gearstalk {
namespace {

// Places before the end of a list into which a group may go: each is a look at another group.
constexpr int kNearEnd = 12;

struct TurnLinks {
  static GroupTurn*& Left(GroupTurn& turn) { return turn.left; }
  static GroupTurn*& Right(GroupTurn& turn) { return turn.right; }
  static std::uint64_t Weight(const GroupTurn& turn) {
    return MixedBits(reinterpret_cast<std::uintptr_t>(&turn) / 8);
  }
};
using Others = Treap<GroupTurn, TurnLinks>;

bool StampBefore(const GroupTurn& a, const GroupTurn& b) { return a.stamp < b.stamp; }

}  // namespace

void Turns::Insert(GroupTurn& turn) {
  const std::uint64_t likeness = turn.likeness();
  Alike& alike = alike_[likeness];
  if (empty_ == likeness) empty_.reset();
  turn.in_turn = true;
  GroupTurn* before = alike.last;
  for (int looks = 0; before != nullptr && StampBefore(turn, *before); ++looks) {
    if (looks == kNearEnd) {
      turn.in_tree = true;
      Others::Insert(alike.others, &turn, StampBefore);
      GroupTurn*& first = alike.first_other;
      if (first == nullptr || StampBefore(turn, *first)) first = &turn;
      return;
    }
    before = before->left;
  }
  GroupTurn*& behind = before == nullptr ? alike.first : before->right;
  turn.left = before;
  turn.right = behind;
  (behind == nullptr ? alike.last : behind->left) = &turn;
  behind = &turn;
}

void Turns::Remove(GroupTurn& turn) {
  const auto at = alike_.find(turn.likeness());
  GS_DCHECK(at != alike_.end());
  Alike& alike = at->second;
  if (turn.in_tree) {
    Others::Remove(alike.others, &turn, StampBefore);
    if (alike.first_other == &turn) alike.first_other = Others::First(alike.others);
  } else {
    (turn.left == nullptr ? alike.first : turn.left->right) = turn.right;
    (turn.right == nullptr ? alike.last : turn.right->left) = turn.left;
  }
  turn.in_turn = turn.in_tree = false;
  if (!alike.empty()) return;
  if (empty_.has_value()) alike_.erase(*empty_);
  empty_ = turn.likeness();
}

GroupTurn* Turns::First() const {
  auto at = alike_.begin();
  if (at != alike_.end() && at->second.empty()) ++at;
  if (at == alike_.end()) return nullptr;
  GroupTurn* const first = at->second.first;
  GroupTurn* const other = at->second.first_other;
  if (first == nullptr || other == nullptr) return first == nullptr ? other : first;
  return StampBefore(*other, *first) ? other : first;
}

void Turns::Visit(const std::function<bool(const GroupTurn&)>& visit) const {
  for (const auto& [likeness, alike] : alike_) {
    const GroupTurn* next = alike.first;
    while (next != nullptr && visit(*next)) next = next->right;
    const bool all = Others::VisitAll(alike.others, visit);
    if (next != nullptr || !all) return;
  }
}

}  // namespace gearstalk
