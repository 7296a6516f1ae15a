#include "broker/engine/turns.h"

#include "broker/base/check.h"
#include "broker/engine/groups.h"
#include "broker/engine/treap.h"

namespace gearstalk {

// In a list the neighbours, in a tree the children.
struct TurnLinks {
  static Group*& Left(Group& group) { return group.left_; }
  static Group*& Right(Group& group) { return group.right_; }
  static std::uint64_t Weight(const Group& group) {
    return MixedBits(reinterpret_cast<std::uintptr_t>(&group) / 8);
  }
  static bool Before(const Group& a, const Group& b) { return a.stamp_ < b.stamp_; }
  static std::uint64_t Alike(const Group& group) {
    return std::uint64_t{group.priority_} << 32U | group.turn_reserved_;
  }
  // What the hand-outs after the next one touch.
  static void FetchAhead(const Group& next) {
    __builtin_prefetch(next.jobs_.front());
    __builtin_prefetch(next.right_);
    __builtin_prefetch(reinterpret_cast<const char*>(next.right_) + 64);
  }
  static void SetOut(Group& group, bool out) { group.out_of_turn_list_ = out; }
  static bool Out(const Group& group) { return group.out_of_turn_list_; }
};

namespace {

// Places before the end of a list into which a group may go: each is a look at another group.
constexpr int kNearEnd = 12;

using Links = TurnLinks;
using Others = Treap<Group, Links>;

}  // namespace

void Turns::Insert(Group& group) {
  const std::uint64_t key = Links::Alike(group);
  Alike& alike = alike_[key];
  if (empty_ == key) empty_.reset();
  Group* before = alike.last;
  for (int looks = 0; before != nullptr && Links::Before(group, *before); ++looks) {
    if (looks == kNearEnd) {
      Links::SetOut(group, true);
      Others::Insert(alike.others, &group, Links::Before);
      return;
    }
    before = Links::Left(*before);
  }
  Group*& behind = before == nullptr ? alike.first : Links::Right(*before);
  Links::Left(group) = before;
  Links::Right(group) = behind;
  (behind == nullptr ? alike.last : Links::Left(*behind)) = &group;
  behind = &group;
}

void Turns::Remove(Group& group) {
  const auto at = alike_.find(Links::Alike(group));
  GS_DCHECK(at != alike_.end());
  Alike& alike = at->second;
  if (Links::Out(group)) {
    Others::Remove(alike.others, &group, Links::Before);
    Links::SetOut(group, false);
  } else {
    Group* const before = Links::Left(group);
    Group* const behind = Links::Right(group);
    (before == nullptr ? alike.first : Links::Right(*before)) = behind;
    (behind == nullptr ? alike.last : Links::Left(*behind)) = before;
    if (before == nullptr && behind != nullptr) Links::FetchAhead(*behind);
  }
  if (!alike.empty()) return;
  if (empty_.has_value()) alike_.erase(*empty_);
  empty_ = Links::Alike(group);
}

Group* Turns::First() const {
  auto at = alike_.begin();
  if (at != alike_.end() && at->second.empty()) ++at;
  if (at == alike_.end()) return nullptr;
  const Alike& alike = at->second;
  Group* const other = Others::First(alike.others);
  if (alike.first == nullptr) return other;
  return other != nullptr && Links::Before(*other, *alike.first) ? other : alike.first;
}

void Turns::Visit(const std::function<bool(const Group&)>& visit) const {
  for (const auto& [key, alike] : alike_) {
    Group* next = alike.first;
    while (next != nullptr && visit(*next)) next = Links::Right(*next);
    const bool all = Others::VisitAll(alike.others, visit);
    if (next != nullptr || !all) return;
  }
}

}  // namespace gearstalk
