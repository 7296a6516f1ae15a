#include "broker/engine/groups.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include "broker/base/check.h"
#include "broker/engine/bucket.h"
#include "broker/engine/slab.h"
#include "broker/engine/treap.h"

namespace gearstalk {

namespace {

// Buckets that a bounded search looks into.
constexpr std::size_t kLookedInto = 256;
// Priorities that a search for the oldest job looks at.
constexpr int kPriorities = 8;
// New jobs without a group, in a row, of which the log tells.
constexpr std::uint32_t kManyMissing = 100;

struct JobLinks {
  static Job*& Left(Job& job) { return job.Prev(); }
  static Job*& Right(Job& job) { return job.Next(); }
  static std::uint64_t Weight(const Job& job) { return MixedBits(job.id()); }
};

using ReadyJobs = Treap<Job, JobLinks>;

// The order in which jobs leave a group: a line gives them by id alone.
struct JobBefore {
  bool line;
  bool operator()(const Job& a, const Job& b) const {
    return line ? a.id() < b.id() : MoreUrgent(a, b);
  }
};

std::uint64_t HashOfGroup(std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), HashSeed());
}

}  // namespace

std::string_view NameOf(GroupHeld why) {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "failed", "fifo", "running",
                                                             "rate"};
  return kNames[static_cast<std::size_t>(why)];
}

void DeleteGroups::operator()(Groups* groups) const { delete groups; }

Job* Tube::FrontOfGroups() const { return groups_->front(); }

const Job* Tube::AnyOfGroups() const { return groups_->AnyReady(); }

const Job* Tube::OldestOfGroups() const { return groups_->Oldest(); }

Group::Group(Groups& of, std::string_view name)
    : GroupHead{of}, name_size_(static_cast<std::uint8_t>(name.size())) {
  name.copy(reinterpret_cast<char*>(this + 1), name.size());
}

Groups::Groups(Tube& of, const Policy& policy, IdleGroups& idle)
    : GroupsHead{of},
      source_(policy.group),
      source_text_(policy.group.Text()),
      order_(policy.group_order),
      idle_(idle) {
  Adopt(policy);
}

Groups::~Groups() {
  Settled();
  std::vector<Group*> left;
  for (std::size_t index = 0; index < buckets(); ++index) {
    VisitBucket(index, [&](Group& group) { left.push_back(&group); });
  }
  if (unread_ != nullptr) left.push_back(unread_);
  retired_ = true;
  for (Group* const group : left) {
    const bool idle =
        group->unfinished() == 0 && group->rest_ != nullptr && group->rest_->in_heap();
    if (idle) idle_.Remove(*group->rest_);
    Free(*group);
  }
}

Groups::Changed Groups::Adopt(const Policy& policy) {
  if (policy.group != source_ || policy.group_order != order_) return Changed::kGroups;
  const Limits limits{policy.group_running, policy.group_rate, policy.GroupBurst(),
                      policy.group_holds};
  return std::exchange(limits_, limits) == limits ? Changed::kNothing : Changed::kLimits;
}

// --- Questions

const Group* Groups::Find(std::string_view name) const {
  Settled();
  if (name.empty()) return nameless_;
  return by_name_.Find(HashOfGroup(name), [=](const Group& group) { return group.name() == name; });
}

Groups::Counts Groups::counts() const {
  Settled();
  return {live_, held_back_, nameless_ == nullptr ? 0 : nameless_->unfinished()};
}

Job* Groups::front() const {
  Settled();
  if (front_known_) return front_;
  auto* const self = const_cast<Groups*>(this);
  const Group* const next = NextTurn();
  self->front_ = next == nullptr ? nullptr : FirstOf(*next);
  self->front_known_ = true;
  return front_;
}

const Job* Groups::AnyReady() const {
  if (const Job* const next = front()) return next;
  const Job* first = nullptr;
  LookIntoSome([&](const Group& group) {
    const Job* const job = FirstOf(group);
    if (job != nullptr && (first == nullptr || MoreUrgent(*job, *first))) first = job;
  });
  return first;
}

const Job* Groups::OldestOf(const Group& group) const {
  if (group.rest_ == nullptr || IsLine(group)) return FirstOf(group);
  const Job* first = ReadyJobs::First(group.rest_->others);
  const Job* oldest = group.jobs_.front();
  if (oldest == nullptr || (first != nullptr && first->id() < oldest->id())) oldest = first;
  for (int priorities = 1; first != nullptr && priorities < kPriorities; ++priorities) {
    const Job* next = nullptr;  // the first of a greater priority
    for (Job* job = group.rest_->others; job != nullptr;) {
      const bool greater = job->priority > first->priority;
      if (greater) next = job;
      job = greater ? JobLinks::Left(*job) : JobLinks::Right(*job);
    }
    if (next != nullptr && next->id() < oldest->id()) oldest = next;
    first = next;
  }
  return oldest;
}

const Job* Groups::Oldest() const {
  const Job* oldest = front();
  LookIntoSome([&](const Group& group) {
    const Job* const job = OldestOf(group);
    if (job != nullptr && (oldest == nullptr || job->id() < oldest->id())) oldest = job;
  });
  return oldest;
}

template <typename Visit>
void Groups::LookIntoSome(Visit visit) const {
  if (nameless_ != nullptr) visit(*nameless_);
  for (std::size_t index = 0; index < std::min(by_name_.buckets(), kLookedInto); ++index) {
    by_name_.VisitBucket(index, visit);
  }
}

// Groups come in the order of their first jobs, and jobs of each half of a group in theirs: what is
// behind the last of `bound` jobs ends the search.
void Groups::VisitByAge(std::size_t bound, const std::function<void(const Job&)>& visit) const {
  Settled();
  std::vector<const Job*> first;  // a heap, the last to leave on top
  const auto later = [](const Job* a, const Job* b) { return MoreUrgent(*a, *b); };
  const auto add = [&](const Job& job) {
    if (first.size() == bound) {
      if (bound == 0 || !MoreUrgent(job, *first.front())) return false;
      std::pop_heap(first.begin(), first.end(), later);
      first.pop_back();
    }
    first.push_back(&job);
    std::push_heap(first.begin(), first.end(), later);
    return true;
  };
  const auto add_group = [&](const Group& group) {
    const Job* const job = FirstOf(group);
    if (first.size() == bound && (bound == 0 || !MoreUrgent(*job, *first.front()))) return false;
    VisitReady(group, add);
    return true;
  };
  turns_.Visit([&](const GroupTurn& turn) { return add_group(static_cast<const Group&>(turn)); });
  std::sort_heap(first.begin(), first.end(), later);
  for (const Job* const job : first) visit(*job);
}

bool Groups::MayReserve(const Job& job) const {
  const Group& group = *GroupOf(job);
  Settled();
  if (&group == unread_) return !lines();
  if (!IsLine(group)) return true;
  if (group.reserved_ > 0 || job.id() > read_to_) return false;
  if (job.state() == JobState::kBuried) return true;
  JobId first = job.id();
  if (group.ready_ > 0) first = std::min(first, FirstOf(group)->id());
  if (group.delayed() > 0) first = std::min(first, *group.rest_->delayed_ids.begin());
  return first == job.id();
}

// An end that a journal has not made durable could come undone, and the job leave once more. What a
// line that is gone had ended lies before the puts of all jobs that came later, so only a job
// that has no put in the journal has to wait for it.
Lsn Groups::VisibleFrom(const Job& job) const {
  const Group& group = *GroupOf(job);
  if (!IsLine(group)) return 0;
  const Lsn own = group.rest_ == nullptr ? 0 : group.rest_->ended;
  const Lsn ended = std::max(own, unread_ended_);
  return job.durable ? ended : std::max(ended, forgotten_ended_);
}

std::string Groups::Check() const {
  Settled();
  std::size_t live = 0, held = 0;
  std::uint64_t gives = 0;
  std::string wrong;
  const Group* first = nullptr;
  for (std::size_t index = 0; index < buckets(); ++index) {
    VisitBucket(index, [&](const Group& group) {
      std::uint32_t ready = 0;
      const auto count = [&](const Job& job) { return ++ready, GroupOf(job) == &group; };
      const bool own = VisitReady(group, count);
      if (!own || ready != group.ready_) wrong = "ready jobs of group " + std::string(group.name());
      live += !group.nameless() && group.unfinished() > 0;
      held += group.held_ != GroupHeld::kNone;
      gives += group.gives_;
      if ((group.gives_ > 0) != group.in_turn) wrong = "turn of group " + std::string(group.name());
      if (group.in_turn && (first == nullptr || group.Before(*first))) first = &group;
    });
  }
  if (!wrong.empty()) return wrong;
  if (live != live_ || held != held_back_ || gives != gives_) return "groups are counted wrong";
  return NextTurn() == first ? "" : "another group is next";
}

// --- Groups come and go

Group& Groups::Named(std::optional<std::string_view> name) {
  if (!name.has_value()) {
    if (unread_ == nullptr) unread_ = &Make({});
    return *unread_;
  }
  if (Group* const known = const_cast<Group*>(Find(*name))) return *known;
  Group& made = Make(*name);
  if (name->empty()) {
    nameless_ = &made;
  } else {
    by_name_.Insert(HashOfGroup(*name), made);
  }
  return made;
}

Group& Groups::Make(std::string_view name) {
  const std::size_t size = sizeof(Group) + name.size();
  CountJobMemory(static_cast<std::ptrdiff_t>(size));
  return *new (BlockAllocate(size)) Group(*this, name);
}

void Groups::Free(Group& group) {
  if (unsettled_ == &group) Settle();
  if (group.in_turn && !retired_) LeaveTurn(group);
  if (&group == unread_) {
    unread_ = nullptr;
  } else if (group.nameless()) {
    nameless_ = nullptr;
  } else {
    by_name_.Remove(HashOfGroup(group.name()), group);
  }
  if (IsLine(group) && group.rest_ != nullptr) {
    forgotten_ended_ = std::max(forgotten_ended_, group.rest_->ended);
  }
  const std::size_t size = sizeof(Group) + group.name_size_;
  CountJobMemory(-static_cast<std::ptrdiff_t>(size));
  group.~Group();
  BlockFree(&group, size);
}

GroupRest& Groups::MakeRest(Group& group) {
  if (group.rest_ == nullptr) group.rest_ = std::make_unique<GroupRest>(group);
  return *group.rest_;
}

void Groups::Join(Group& group) {
  if (unsettled_ == &group) Settle();
  if (group.unfinished() > 0) return;
  group.handed_out_ = 0;
  if (group.rest_ != nullptr && group.rest_->in_heap()) idle_.Remove(*group.rest_);
}

void Groups::Part(Group& group) {
  if (unsettled_ == &group) Settle();
  if (group.unfinished() > 0) return;
  if (group.rest_ != nullptr && group.rest_->failed > 0) return;
  if (group.rest_ == nullptr || group.rest_->paced <= now_ || retired_) return Free(group);
  if (!group.rest_->in_heap()) idle_.Add(*group.rest_);
}

void Groups::Forget(Group& group) {
  idle_.Remove(*group.rest_);
  Free(group);
}

void Groups::Retire() {
  Settled();
  retired_ = true;
  while (!due_.empty()) HoldUntil(due_.top()->group, kNever);
  front_ = nullptr;
  front_known_ = true;
  gives_ = live_ = held_back_ = 0;
}

// --- Jobs come and go

Job* Groups::FirstOf(const Group& group) const {
  Job* const first = group.jobs_.front();
  if (group.rest_ == nullptr || group.rest_->others == nullptr) return first;
  Job* const other = ReadyJobs::First(group.rest_->others);
  return first == nullptr || JobBefore{IsLine(group)}(*other, *first) ? other : first;
}

// Both halves, each in order, until `visit` returns false for one of its jobs.
template <typename Visit>
bool Groups::VisitReady(const Group& group, Visit visit) const {
  const Job* job = group.jobs_.front();
  while (job != nullptr && visit(*job)) job = JobList::After(*job);
  const bool all = group.rest_ == nullptr || ReadyJobs::VisitAll(group.rest_->others, visit);
  return job == nullptr && all;
}

// Whether it is the first now. At an end of the list it touches no job but that at the end.
bool Groups::InsertReady(Group& group, Job& job) {
  JobList& jobs = group.jobs_;
  const bool alone = jobs.empty();
  const bool fits = alone || jobs.back()->priority == job.priority || IsLine(group);
  if (alone || (fits && jobs.back()->id() < job.id())) {
    jobs.PushBack(&job);
    if (!alone) return false;
  } else if (fits && job.id() < jobs.front()->id()) {
    jobs.PushFront(&job);
  } else {
    job.out_of_order = true;
    ReadyJobs::Insert(MakeRest(group).others, &job, JobBefore{IsLine(group)});
  }
  return FirstOf(group) == &job;
}

// Whether it was the first.
bool Groups::RemoveReady(Group& group, Job& job) {
  const bool first = FirstOf(group) == &job;
  if (job.out_of_order) {
    ReadyJobs::Remove(group.rest_->others, &job, JobBefore{IsLine(group)});
    job.out_of_order = false;
  } else {
    group.jobs_.Remove(&job);
  }
  return first;
}

// A ready job that is not the first of its group came or went.
void Groups::NoteReady(Group& group, int change) {
  if (unsettled_ == &group || !group.in_turn || retired_ || IsLine(group)) return;
  if (limited() && !group.nameless()) return Change(now_, group);
  group.gives_ += static_cast<std::uint32_t>(change);
  gives_ += static_cast<std::uint64_t>(change);
}

void Groups::Enter(Time now, Job& job) {
  Group& group = *GroupOf(job);
  switch (job.state()) {
    case JobState::kReady:
      ++group.ready_;
      if (!InsertReady(group, job)) return NoteReady(group, 1);
      break;
    case JobState::kReserved:
      ++group.reserved_;
      break;
    case JobState::kDelayed:
      ++MakeRest(group).delayed;
      if (IsLine(group)) group.rest_->delayed_ids.insert(job.id());
      break;
    case JobState::kBuried:
      ++MakeRest(group).failed;
      break;
    case JobState::kGone:
      break;
  }
  Change(now, group);
}

void Groups::Leave(Time now, Job& job) {
  Group& group = *GroupOf(job);
  switch (job.state()) {
    case JobState::kReady:
      --group.ready_;
      if (!RemoveReady(group, job)) return NoteReady(group, -1);
      break;
    case JobState::kReserved:
      --group.reserved_;
      break;
    case JobState::kDelayed:
      --group.rest_->delayed;
      if (IsLine(group)) group.rest_->delayed_ids.erase(job.id());
      break;
    case JobState::kBuried:
      --group.rest_->failed;
      break;
    case JobState::kGone:
      break;
  }
  Change(now, group);
}

void Groups::NoteHandOut(Time now, const Job& job, Group& group) {
  ++group.handed_out_;
  ages_.Add(now - job.created);
  // Its end takes the group along.
  if (group.unfinished() == 1) by_name_.Prefetch(HashOfGroup(group.name()));
  if (paced() && !group.nameless()) {
    GroupRest& rest = MakeRest(group);
    rest.paced = bucket::After(rest.paced, now, limits_.rate);
  }
  if (group.in_turn && order_ != Policy::GroupOrder::kAge) LeaveTurn(group);
  Change(now, group);
}

void Groups::NoteEnd(Group* group, Lsn lsn) {
  if (group == nullptr || group == unread_) {
    unread_ended_ = std::max(unread_ended_, lsn);
  } else if (lsn > 0 && IsLine(*group)) {
    MakeRest(*group).ended = lsn;
  }
}

void Groups::NoteEnd(std::string_view name, Lsn lsn) {
  auto* const group = name.empty() ? nullptr : const_cast<Group*>(Find(name));
  if (group != nullptr || name.empty()) {
    NoteEnd(group, lsn);
  } else {
    forgotten_ended_ = std::max(forgotten_ended_, lsn);
  }
}

void Groups::NoteFailed(Time now, Group& group, int change) {
  MakeRest(group).failed += static_cast<std::uint32_t>(change);
  Change(now, group);
  if (change < 0) Part(group);
}

bool Groups::NoteMissing(bool missing) {
  missing_ = missing ? std::min(missing_ + 1, kManyMissing + 1) : 0;
  return missing_ == kManyMissing;
}

// --- Turns

void Groups::Change(Time now, Group& group) {
  now_ = std::max(now_, now);
  if (unsettled_ == &group || retired_) return;
  Settled();
  unsettled_ = &group;
}

void Groups::Touch(Time now, Group& group) {
  Change(now, group);
  Settled();
}

void Groups::BeginRead(bool anew) {
  reads_ = true;
  if (!anew) return;
  read_to_ = 0;
  for (std::size_t index = 0; index < buckets(); ++index) {
    VisitBucket(index, [this](Group& group) { Touch(now_, group); });
  }
}

bool Groups::Read(Time now, const Job& job) {
  if (!reads_) return false;
  read_to_ = std::max(read_to_, job.id());
  Touch(now, *GroupOf(job));
  return true;
}

void Groups::EndRead() {
  reads_ = false;
  read_to_ = UINT64_MAX;
}

Groups::Turn Groups::TurnOf(const Group& group) const {
  Job* const job = FirstOf(group);
  if (job == nullptr || job->id() > read_to_ || &group == unread_) return {};
  if (group.nameless()) return {.job = job, .gives = group.ready_};
  const GroupRest* const rest = group.rest_.get();
  if (limits_.holds && rest != nullptr && rest->failed > 0) return {.held = GroupHeld::kFailed};
  std::uint64_t gives = group.ready_;
  if (IsLine(group)) {
    if (group.reserved_ > 0) return {};
    if (group.delayed() > 0 && *rest->delayed_ids.begin() < job->id()) {
      return {.held = GroupHeld::kFifo};
    }
    gives = 1;
  } else if (limits_.running > 0) {
    if (group.reserved_ >= limits_.running) return {.held = GroupHeld::kRunning};
    gives = std::min<std::uint64_t>(gives, limits_.running - group.reserved_);
  }
  if (paced() && rest != nullptr) {
    const Time next = bucket::Next(rest->paced, limits_.rate, limits_.burst);
    if (next > now_) return {.held = GroupHeld::kRate, .until = next};
    gives = std::min(gives, bucket::Saved(rest->paced, now_, limits_.rate, limits_.burst));
  } else if (paced()) {
    gives = std::min<std::uint64_t>(gives, limits_.burst);
  }
  return {.job = job, .gives = gives};
}

void Groups::Settle() {
  Group& group = *std::exchange(unsettled_, nullptr);
  const bool live = !group.nameless() && group.unfinished() > 0;
  if (live != std::exchange(group.live_, live)) live_ += live ? 1 : static_cast<std::size_t>(-1);
  if (paced() && group.rest_ != nullptr) {
    // No pace of an earlier policy holds longer than an empty bucket of this one.
    Time& until = group.rest_->paced;
    until = std::min(until, bucket::FullAt(now_, limits_.rate, limits_.burst));
  }
  const Turn turn = TurnOf(group);
  const GroupHeld before = std::exchange(group.held_, turn.held);
  held_back_ += static_cast<std::size_t>(turn.held != GroupHeld::kNone) -
                static_cast<std::size_t>(before != GroupHeld::kNone);
  gives_ += turn.gives - group.gives_;
  group.gives_ = static_cast<std::uint32_t>(turn.gives);
  if (turn.until != kNever || group.held_ != before) HoldUntil(group, turn.until);
  SettleTurn(group, turn);
}

void Groups::SettleTurn(Group& group, const Turn& turn) {
  front_known_ = false;
  if (turn.job == nullptr) {
    if (group.in_turn) LeaveTurn(group);
    return;
  }
  const bool by_age = order_ == Policy::GroupOrder::kAge;
  const std::uint32_t reserved = by_age ? 0 : group.reserved_;
  const bool returns = !group.in_turn || group.priority != turn.job->priority;
  const std::uint64_t stamp = by_age ? turn.job->id() : returns ? ++last_stamp_ : group.stamp;
  if (!returns && group.reserved_jobs == reserved && group.stamp == stamp) return;
  if (group.in_turn) LeaveTurn(group);
  group.priority = turn.job->priority;
  group.reserved_jobs = reserved;
  group.stamp = stamp;
  turns_.Insert(group);
}

void Groups::LeaveTurn(Group& group) {
  turns_.Remove(group);
  front_known_ = false;
  const Group* const next = NextTurn();
  if (next == nullptr) return;
  // What the next hand-outs touch: a job, and a group of two cache lines.
  __builtin_prefetch(next->jobs_.front());
  if (const auto* const behind = static_cast<const Group*>(next->right)) {
    __builtin_prefetch(behind);
    __builtin_prefetch(&behind->handed_out_);
  }
}

void Groups::HoldUntil(Group& group, Time until) {
  if (group.rest_ != nullptr) due_.Await(until, group.rest_.get());
}

void Groups::Tick(Time now, int& steps) {
  for (; steps > 0 && next_due() <= now; --steps) Touch(now, due_.top()->group);
}

}  // namespace gearstalk
