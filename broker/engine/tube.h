#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "broker/base/clock.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/id_table.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/engine/job_counts.h"
#include "broker/engine/linear_hash.h"
#include "broker/engine/slab.h"
#include "broker/engine/watch_list.h"
#include "broker/policy/policy_rules.h"

namespace gearstalk {

// How priorities are read as classes, by prioritystatus and maxqueue: below kNormalFrom is high
// (beanstalk's "urgent"), up to and including `normal_to` is normal, above is low.
inline constexpr std::uint32_t kNormalFrom = 1024;
enum class Band : std::uint8_t { kHigh, kNormal, kLow };

// Whether `a` leaves before `b`.
inline bool MoreUrgent(const Job& a, const Job& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.id() < b.id();
}

// The ready jobs of a tube by (priority, id). Most jobs of a tube share few priorities and come in
// id order: each such priority has a lane, a plain list. Jobs that come back out of order, and
// those of priorities beyond the first kLanes, are kept in a heap.
class ReadyQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // The most urgent job; the queue is not empty.
  Job* front() const {
    Job* lane = lanes_.empty() ? nullptr : lanes_.front().jobs.front();
    if (out_of_order_.empty()) return lane;
    Job* next = out_of_order_.top();
    return lane == nullptr || MoreUrgent(*next, *lane) ? next : lane;
  }
  // The oldest among the heads of the lanes and the top of the heap; exact while there are at most
  // kLanes priorities. The queue is not empty.
  const Job* Oldest() const;
  // The first `bound` in order; changes nothing. O(bound log bound).
  void VisitFirst(std::size_t bound, const std::function<void(const Job&)>& visit) const;
  void Push(Job* job);
  void Remove(Job* job);

 private:
  static constexpr std::size_t kLanes = 8;
  struct Lane {
    std::uint32_t priority;
    JobList jobs;
  };

  // Most tubes need one.
  using Lanes = boost::container::small_vector<Lane, 1>;

  Lane* EndOfLanes() { return lanes_.data() + lanes_.size(); }
  Lane* FindLane(std::uint32_t priority);
  Lane* MakeLane(const Lane* next, std::uint32_t priority);
  bool Append(Job* job);

  Lanes lanes_;                    // by priority; none is empty but the last one left
  IndexedHeap<Job> out_of_order_;  // by priority and id
  std::size_t size_ = 0;
};

// Why a tube with jobs hands out none.
enum class HeldBack : std::uint8_t { kNone, kRunning, kRate };

// A policy that several tubes may have.
struct SharedPolicy : Policy,
                      boost::intrusive_ref_counter<SharedPolicy, boost::thread_unsafe_counter> {
  explicit SharedPolicy(Policy policy) : Policy(std::move(policy)) {}
};
using PolicyPtr = boost::intrusive_ptr<const SharedPolicy>;

// State of a tube that has a policy, or has jobs that had one.
struct PolicyState {
  PolicyValues set;  // by an administrator, in text form; outlives a restart
  PolicyCounts counts;
  std::uint32_t retrying = 0;  // delayed jobs that wait for their next attempt
  // For `rate`: the time at which an even pace would have made the hand-outs so far. The bucket is
  // full at and before that time.
  Time paced = 0;
};

class Groups;
struct DeleteGroups {
  void operator()(Groups* groups) const;
};
using GroupsPtr = std::unique_ptr<Groups, DeleteGroups>;

// A queue of jobs: beanstalk's tube, Gearman's function. Only the engine changes it; who is no part
// of it reads. It lives while somebody uses or watches it, or while it holds a job or settings to
// remember.
class Tube : public Timer, public JobCounts {
 public:
  const std::string& name() const { return name_; }
  std::uint64_t id() const { return id_; }  // rises in the order of creation

  std::size_t ready() const { return ready_size_; }
  // Ready and delayed jobs of a class.
  std::size_t queued(Band band) const { return queued_by_band_[static_cast<std::size_t>(band)]; }
  std::size_t urgent() const { return urgent_; }  // ready ones below kNormalFrom
  std::size_t delayed() const { return delayed_.size(); }
  std::size_t reserved() const { return reserved_; }
  std::size_t buried() const { return buried_size_; }
  // Jobs that wait for a worker or are with one: everything but the buried.
  std::size_t unfinished() const { return ready() + delayed() + reserved(); }
  std::uint64_t job_bytes() const { return job_bytes_; }  // of all its jobs, as JobMemory counts

  // The job that leaves next. In a tube with groups whose jobs are all held back: one of them.
  const Job* NextReady() const {
    if (groups_ != nullptr) return AnyOfGroups();
    return ready_.empty() ? nullptr : ready_.front();
  }
  // In a tube with many groups the oldest of some of them.
  const Job* OldestReady() const {
    if (groups_ != nullptr) return OldestOfGroups();
    return ready_.empty() ? nullptr : ready_.Oldest();
  }
  // The job that a consumer would get from it now; nullptr: none.
  Job* FrontJob() const {
    if (Stopped()) return nullptr;
    if (groups_ != nullptr) return FrontOfGroups();
    return ready_.empty() ? nullptr : ready_.front();
  }
  const Job* NextDelayed() const { return delayed_.empty() ? nullptr : delayed_.top(); }
  Job* NextDelayed() { return delayed_.empty() ? nullptr : delayed_.top(); }
  const Job* NextBuried() const { return buried_.front(); }
  Job* NextBuried() { return buried_.front(); }
  // When the next delayed job is due, and when this one of them is.
  Time next_due() const { return delayed_.top_time(); }
  Time DueOf(const Job& job) const { return delayed_.TimeAt(job.HeapSlot()); }
  // The first `bound` jobs in a state, in the order in which they leave it. Tubes do not list
  // reserved jobs. O(bound log bound).
  void VisitNext(JobState state, std::size_t bound,
                 const std::function<void(const Job&)>& visit) const;

  bool paused() const { return settings.pause_until != 0; }
  bool Stopped() const { return paused() || held_back != HeldBack::kNone; }
  // nullptr: neither the configuration nor an administrator has set one.
  const Policy* policy() const { return policy_.get(); }
  void SetPolicy(PolicyPtr policy) { policy_ = std::move(policy); }
  const PolicyState& policy_state() const;
  PolicyState* OwnState() { return state_.get(); }  // nullptr: there is none yet
  PolicyState& MakeState() {
    if (state_ == nullptr) state_ = std::make_unique<PolicyState>();
    return *state_;
  }
  // nullptr: its policy has no `group`.
  const Groups* groups() const { return groups_.get(); }
  Groups* groups() { return groups_.get(); }
  // Returns those that it had.
  GroupsPtr SetGroups(GroupsPtr groups) { return std::exchange(groups_, std::move(groups)); }

  TubeSettings settings;          // with the limits that are in force, whoever set them
  std::uint64_t pauses = 0;       // pause-tube
  std::uint32_t using_count = 0;  // consumers, and whatever keeps it for the length of a call
  std::uint32_t watching = 0;     // both protocols
  // Those of them that can do it (Gearman) or have reserved at least once (beanstalk).
  std::uint32_t workers = 0;
  bool function = false;  // a worker can or could do it

  // Of Pace, Pauses, ReadyTubes, Dispatch.
  HeldBack held_back = HeldBack::kNone;
  Time pause_noted = kNever;              // its end in Pauses
  std::uint64_t pass = 0;                 // tube_order fair: how much of its share it has used
  std::uint32_t ready_slot = UINT32_MAX;  // place among the tubes with ready jobs
  std::uint32_t promised = 0;  // sleepers woken for a job of it that have not asked for it yet
  // Of WaitingLine.
  WatchRing line;  // waiting consumers that watch few tubes, in the order of waiting
  WatchRing wide;  // consumers that watch many, waiting or not, in no order
  // Of Bodies: hand-outs until it looks at the next jobs, and at how many it has looked.
  std::uint16_t until_look_ahead = 0, looked_ahead = 0;
  std::uint32_t buried_lately = 0;  // buried jobs that failed within the last day: see Failures

 private:
  friend class JobStore;
  friend class TubeTable;
  static void* operator new(std::size_t size) { return BlockAllocate(size); }
  static void operator delete(void* tube, std::size_t size) { BlockFree(tube, size); }
  Tube(std::string name, std::uint64_t id) : Timer(Kind::kTube), name_(std::move(name)), id_(id) {}

  Job* FrontOfGroups() const;
  const Job* AnyOfGroups() const;
  const Job* OldestOfGroups() const;

  std::string name_;
  std::uint64_t id_;
  PolicyPtr policy_;
  std::unique_ptr<PolicyState> state_;
  std::uint64_t job_bytes_ = 0;
  // Where the ready jobs are. While a changed policy is followed, both have some, and those that
  // were not looked at yet are in neither.
  ReadyQueue ready_;
  GroupsPtr groups_;
  std::uint32_t ready_size_ = 0;
  std::uint32_t urgent_ = 0;
  std::array<std::uint32_t, 3> queued_by_band_{};
  IndexedHeap<Job> delayed_;  // by due time
  JobList buried_;            // in the order of burial
  std::uint32_t buried_size_ = 0;
  std::uint32_t reserved_ = 0;
  bool permanent_ = false;  // the default tube
};

// A tube's policy, or kNoPolicy.
extern const Policy kNoPolicy;
inline const Policy& PolicyOf(const Tube& tube) {
  return tube.policy() == nullptr ? kNoPolicy : *tube.policy();
}

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
