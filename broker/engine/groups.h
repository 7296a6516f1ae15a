#pragma once

#include <absl/container/btree_set.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/time_histogram.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"
#include "broker/engine/tube.h"
#include "broker/engine/turns.h"
#include "broker/policy/policy.h"

namespace gearstalk {

class Group;
class Groups;

// Why a group that has a ready job does not give it.
enum class GroupHeld : std::uint8_t { kNone, kFailed, kFifo, kRunning, kRate };
// "none", "failed", "fifo", "running", "rate".
std::string_view NameOf(GroupHeld why);

// What only some groups have: jobs out of order, delayed, failed ones, a pace, an end to wait for.
// In one of the heaps that hold groups by time, or in none.
struct GroupRest : InJobMemory, HeapElement {
  explicit GroupRest(Group& of) : group(of) {}

  Group& group;
  Job* others = nullptr;  // the ready ones that are not in Group::jobs_, a Treap
  std::uint32_t delayed = 0;
  std::uint32_t failed = 0;            // buried jobs, and those that died here
  Time paced = 0;                      // of group_rate: see bucket.h
  Lsn ended = 0;                       // of a line: when the last end is durable
  absl::btree_set<JobId> delayed_ids;  // of a line
};

// The jobs of one customer in a tube: those of one name. One allocation with the name behind it.
// Changed by Groups alone.
class Group : public GroupHead, private GroupTurn {
 public:
  // Empty: the jobs that have no group.
  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_size_}; }
  bool nameless() const { return name_size_ == 0; }
  // Its jobs' names are still to be read.
  inline bool unread() const;
  std::uint32_t ready() const { return ready_; }
  std::uint32_t reserved() const { return reserved_; }
  std::uint32_t delayed() const { return rest_ == nullptr ? 0 : rest_->delayed; }
  std::uint64_t unfinished() const { return std::uint64_t{ready_} + reserved_ + delayed(); }
  // Since it was last without jobs, or since the start.
  std::uint32_t handed_out() const { return handed_out_; }
  GroupHeld held() const { return held_; }

 private:
  friend class Groups;

  Group(Groups& of, std::string_view name);
  ~Group() = default;

  GroupHeld held_ = GroupHeld::kNone;  // these three lie in the padding of GroupTurn
  bool live_ = false;                  // has unfinished jobs
  std::uint8_t name_size_;
  std::unique_ptr<GroupRest> rest_;
  JobList jobs_;  // ready ones of one priority, by id; of a line, of any
  std::uint32_t ready_ = 0;
  std::uint32_t reserved_ = 0;
  std::uint32_t gives_ = 0;  // jobs that may leave at once
  std::uint32_t handed_out_ = 0;
};

inline Group* GroupOf(const Job& job) { return static_cast<Group*>(job.place.group()); }

// Empty: it has none.
inline std::string_view GroupNameOf(const Job& job) {
  const Group* const group = GroupOf(job);
  return group == nullptr ? std::string_view() : group->name();
}

// Groups without jobs whose pace has to be remembered, of all tubes, by the time at which their
// bucket is full.
class IdleGroups {
 public:
  static constexpr std::size_t kMost = 1'000'000;  // beyond it the fullest go first
  Time next() const { return by_time_.top_time(); }
  // One that is due, or one too many; nullptr: there is none. It is still in.
  Group* Due(Time now) const {
    return by_time_.top_time() <= now || by_time_.size() > kMost ? &by_time_.top()->group : nullptr;
  }
  void Add(GroupRest& rest) { by_time_.Push(rest.paced, &rest); }
  void Remove(GroupRest& rest) { by_time_.Drop(&rest); }

 private:
  IndexedHeap<GroupRest> by_time_;
};

// The jobs of a tube whose policy has `group`, by their groups, and which group's turn it is. Part
// of the engine, which tells it of each state that a job enters or leaves.
//
// A group has a turn while it has a job to give; its stamp there (see Turns) is the time of its
// last hand-out, a number that rises. A group that comes back (it had nothing to give of that
// priority) counts as handed out. In order `age` the id of the job stands for reserved jobs and
// hand-out.
//
// What a group may give is worked out when somebody asks, or when another group changes (Settle):
// what one verb does to a job is one change.
class Groups : public GroupsHead {
 public:
  struct Limits {
    std::uint32_t running = 0;
    Rate rate = {};
    std::uint32_t burst = 1;
    bool holds = false;
    bool operator==(const Limits&) const = default;
  };

  // `idle` outlives it. `policy` has a group.
  Groups(Tube& of, const Policy& policy, IdleGroups& idle);
  ~Groups();
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  // What another policy changes. New limits hold for a group from its next change on; for other
  // groups, or another order, this object has to be replaced.
  enum class Changed : std::uint8_t { kNothing, kLimits, kGroups };
  Changed Adopt(const Policy& policy);
  bool paced() const { return limits_.rate.jobs > 0; }
  const GroupSource& source() const { return source_; }
  // As it stands in records.
  const std::string& source_text() const { return source_text_; }

  // --- Questions
  bool empty() const { return by_name_.size() == 0 && nameless_ == nullptr && unread_ == nullptr; }
  struct Counts {
    std::size_t groups;     // with unfinished jobs and a name
    std::size_t held_back;  // of them
    std::uint64_t without;  // unfinished jobs without a group
  };
  Counts counts() const;
  // Of its jobs when they were handed out.
  const TimeHistogram& ages() const { return ages_; }
  const Group* Find(std::string_view name) const;
  // The job that leaves next; nullptr: none may leave.
  Job* front() const;
  // The job that leaves next. If none may leave, the most urgent ready one of the groups in a
  // bounded number of buckets; nullptr: they have none.
  const Job* AnyReady() const;
  // Jobs that may leave at once.
  std::uint64_t gives() const { return Settled().gives_; }
  // When time lets go the next group.
  Time next_due() const { return Settled().due_.top_time(); }
  // Whether reserve-job may have the job.
  bool MayReserve(const Job& job) const;
  // What has to be durable before anybody may see the job, beside the job.
  Lsn VisibleFrom(const Job& job) const;
  // For walks in slices: the groups in one of `buckets()`. Between two of them groups may come, go,
  // and be visited twice.
  std::size_t buckets() const { return by_name_.buckets() + 1; }
  template <typename Visit>
  void VisitBucket(std::size_t index, Visit visit) const {
    Settled();
    if (index < by_name_.buckets()) return by_name_.VisitBucket(index, visit);
    if (nameless_ != nullptr) visit(*nameless_);
  }
  // The oldest ready job of the group, exact while there are few priorities; nullptr: it has none.
  const Job* OldestOf(const Group& group) const;
  // The oldest ready job of the groups in a bounded number of buckets.
  const Job* Oldest() const;
  // The first `bound` of the jobs that may leave, by priority and id. O(bound log bound).
  void VisitByAge(std::size_t bound, const std::function<void(const Job&)>& visit) const;

  // For tests: recounts, and names the first difference; empty: there is none.
  std::string Check() const;

  // --- Changes
  // Nothing: the one of all jobs whose names cannot be read yet. It gives nothing, and is not among
  // the visited.
  Group& Named(std::optional<std::string_view> name);
  // A job in no state comes into the group. The caller makes the job point to it.
  void Join(Group& group);
  // A job in no state left the group, which goes with its last one.
  void Part(Group& group);
  // A job of it enters the state that it has, or leaves it.
  void Enter(Time now, Job& job);
  void Leave(Time now, Job& job);
  // A reserved job of the group was handed out.
  void NoteHandOut(Time now, const Job& job, Group& group);
  // A job ended, and the record of it is here. nullptr, or an empty name: its line is not known, so
  // all lines wait for that record.
  void NoteEnd(std::string_view name, Lsn lsn);
  void NoteEnd(Group* group, Lsn lsn);
  bool lines() const { return order_ == Policy::GroupOrder::kFifo; }
  // A job of the group died, in another tube; or is dead no more.
  void NoteFailed(Time now, Group& group, int change);
  // New jobs without a group in a row: whether it is time to say so.
  bool NoteMissing(bool missing);
  // Lets go the groups whose time has come, at most `steps`.
  void Tick(Time now, int& steps);
  // One of IdleGroups is due.
  void Forget(Group& group);

  // While names are read anew: jobs above this id have not been looked at, and are not given.
  // `anew`: nothing was read yet.
  void BeginRead(bool anew);
  // All of its jobs up to this one have been looked at. False: they need not be.
  bool Read(Time now, const Job& job);
  void EndRead();
  // Other groups take its place: it gives nothing, and jobs only leave it.
  void Retire();
  bool retired() const { return retired_; }

 private:
  friend class Group;
  struct Turn {
    Job* job = nullptr;
    GroupHeld held = GroupHeld::kNone;
    std::uint64_t gives = 0;
    Time until = kNever;  // kRate
  };

  // nullptr: none is ready.
  Job* FirstOf(const Group& group) const;
  template <typename Visit>
  void LookIntoSome(Visit visit) const;
  bool InsertReady(Group& group, Job& job);
  bool RemoveReady(Group& group, Job& job);
  template <typename Visit>
  bool VisitReady(const Group& group, Visit visit) const;
  Group& Make(std::string_view name);
  bool IsLine(const Group& group) const { return lines() && !group.nameless(); }
  GroupRest& MakeRest(Group& group);
  Turn TurnOf(const Group& group) const;
  bool limited() const { return limits_.running > 0 || paced(); }
  void NoteReady(Group& group, int change);
  void Change(Time now, Group& group);
  void Touch(Time now, Group& group);
  void Settle();
  void SettleTurn(Group& group, const Turn& turn);
  void LeaveTurn(Group& group);
  void HoldUntil(Group& group, Time until);
  const Groups& Settled() const {
    if (unsettled_ != nullptr) const_cast<Groups*>(this)->Settle();
    return *this;
  }
  const Group* NextTurn() const { return static_cast<const Group*>(turns_.First()); }
  void Free(Group& group);

  const GroupSource source_;
  const std::string source_text_;
  const Policy::GroupOrder order_;
  Limits limits_;
  IdleGroups& idle_;

  LinearHash<Group, 4> by_name_;
  Group* nameless_ = nullptr;
  Group* unread_ = nullptr;
  Turns turns_;
  IndexedHeap<GroupRest> due_;  // those that time lets go
  Group* unsettled_ = nullptr;
  Time now_ = 0;          // of the last change
  Job* front_ = nullptr;  // if front_known_
  bool front_known_ = true;
  bool retired_ = false;
  bool reads_ = false;  // a walk over its jobs is under way
  std::uint64_t last_stamp_ = 0;
  std::uint64_t gives_ = 0;
  std::size_t live_ = 0, held_back_ = 0;
  JobId read_to_ = UINT64_MAX;
  Lsn forgotten_ended_ = 0;  // of lines that are gone
  Lsn unread_ended_ = 0;     // of jobs whose line is not known
  TimeHistogram ages_;
  std::uint32_t missing_ = 0;  // new jobs without a group, in a row
};

inline bool Group::unread() const { return static_cast<const Groups&>(groups).unread_ == this; }

}  // namespace gearstalk
