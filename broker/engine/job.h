#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/clock.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/slab.h"
#include "broker/journal/record.h"

namespace gearstalk {

class Consumer;
class Tube;
class Job;
class JobObserver;

using JobId = std::uint64_t;

// What the groups of a tube begin with, and a group: a job finds its tube through them.
struct GroupsHead {
  Tube& tube;
};
struct GroupHead {
  GroupsHead& groups;
};

// Where a job is: in a tube, or in a group of one. One word.
class JobPlace {
 public:
  JobPlace& operator=(Tube* tube) {
    bits_ = reinterpret_cast<std::uintptr_t>(tube);
    return *this;
  }
  JobPlace& operator=(GroupHead* group) {
    bits_ = reinterpret_cast<std::uintptr_t>(group) | kGroup;
    return *this;
  }
  // nullptr: in none.
  GroupHead* group() const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return (bits_ & kGroup) == 0 ? nullptr : reinterpret_cast<GroupHead*>(bits_ - kGroup);
  }
  GroupsHead* groups() const { return (bits_ & kGroup) == 0 ? nullptr : &group()->groups; }
  operator Tube*() const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return (bits_ & kGroup) == 0 ? reinterpret_cast<Tube*>(bits_) : &group()->groups.tube;
  }
  Tube* operator->() const { return *this; }
  Tube& operator*() const { return *operator->(); }

 private:
  static constexpr std::uintptr_t kGroup = 1;
  std::uintptr_t bits_ = 0;
};

enum class JobState : std::uint8_t { kReady, kReserved, kDelayed, kBuried, kGone };

struct ByJob;
struct ByObserver;
template <typename Tag>
using WaiterHook = boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>>;

// One observer's wait for one job, however often it joined the job. In the lists of both.
struct Waiter : InBlocks<CountTableMemory>, WaiterHook<ByJob>, WaiterHook<ByObserver> {
  Waiter(Job& of, JobObserver& by) : job(of), observer(by) {}
  Job& job;
  JobObserver& observer;
  std::uint64_t times = 1;  // it joined; it hears of each event as often
  bool indexed = false;     // in the index of Waiters
};

template <typename Tag>
using WaiterList = boost::intrusive::list<Waiter, boost::intrusive::base_hook<WaiterHook<Tag>>,
                                          boost::intrusive::constant_time_size<false>>;

// Why a job ended badly the last time.
using Cause = Record::Cause;
// "failed", "exception" and so on; empty for kNone.
std::string_view NameOf(Cause cause);

// The time from which a waiting job is no longer handed out. In the heap of Expiries while the job
// is ready or delayed.
struct Expiry : HeapElement {
  Time time = kNever;
  Job* job = nullptr;
};

// Texts that only a few jobs have, from policies.
struct JobTexts {
  GroupHead* home = nullptr;  // of a dead job: its group in the tube that it came from
  std::string key;            // unique key that the tube made of the body
  std::string origin;         // the tube that a dead job came from
  std::string cause_text;     // of a WORK_EXCEPTION, its beginning
};

// Fields that few jobs have: waiters, limits of a hand-out, policies; allocated when first needed.
struct JobRest : InJobMemory {
  std::uint32_t lost_tries = 0;  // consumers that went away or ran out of CAN_DO_TIMEOUT
  std::uint32_t numerator = 0;   // progress as last reported
  std::uint32_t denominator = 0;
  std::uint32_t more_refs = 0;  // references beyond what the job itself can count
  Time run_limit = kNever;      // when the holder's own limit (CAN_DO_TIMEOUT) ends
  Time ttr_ends = kNever;       // kept only beside a run_limit
  Expiry expiry;
  std::unique_ptr<JobTexts> texts;
  std::string reducer;
  WaiterList<ByJob> waiters;  // in the order of joining
};

// Fields that only some jobs have; allocated when first needed. Millions may be buried at once.
struct JobExtra : InJobMemory {
  std::uint32_t timeouts = 0;
  std::uint32_t releases = 0;
  std::uint32_t buries = 0;
  std::uint32_t kicks = 0;
  std::uint64_t burial = 0;    // order of burial, while buried
  Time ended = 0;              // of a failed job: when; 0 = not known
  std::uint32_t attempts = 0;  // bad ends that its tube counts
  Cause cause = Cause::kNone;
  bool retrying = false;  // delayed until its next attempt
  bool key_free = false;  // another job may take its key: this one runs, or is dead
  bool untold = false;    // the journal took no record that it left the delayed or buried jobs
  std::unique_ptr<JobRest> rest;
};
static_assert(sizeof(JobExtra) == 48, "the memory budget of burying half of 10^6 jobs is 32 MB");

// Drops one reference; the last one frees the memory.
struct JobUnref {
  void operator()(Job* job) const { Drop(job); }
  static void Drop(Job* job);
};
using JobPtr = std::unique_ptr<Job, JobUnref>;

// A job: record, unique key and a body below kBlockFrom bytes in ONE allocation; a larger body has
// a block of its own:
//   Job | unique key | body | CR LF
//   Job | address of the block | unique key        block: body | CR LF
// If such a larger body is the key itself, its hash (HashOfBody) lies in the place of the key.
// The CR LF is always there, so that a beanstalk reply sends body and CR LF from one place.
//
// The engine owns every job that has an id. Replies that are not sent yet share it by reference
// (Ref), so that a body is sent without a copy even if the job is deleted meanwhile. Loop's thread
// only.
class Job {
 public:
  static constexpr std::size_t kMaxUnique = 64;     // bytes, Gearman's limit
  static constexpr std::uint32_t kBlockFrom = 128;  // bytes of a body that has a block of its own

  // Memory for a job with a key and room for `body_size` bytes, not yet known to the engine.
  // `unique` is at most kMaxUnique bytes; empty = none. `id`: of one without an engine, for tests.
  static JobPtr New(std::uint32_t body_size, std::string_view unique = {}, JobId id = 0);
  // One whose body, of kBlockFrom bytes or more, is in the journal alone.
  static JobPtr NewWithoutBody(std::uint32_t body_size, std::string_view unique);
  // nullptr: there is no memory for it.
  static JobPtr TryNew(std::uint32_t body_size, std::string_view unique = {});
  // The same job with room for a larger body, while its body arrives. It has one reference.
  // nullptr: there is no memory for it, and the job is gone.
  static JobPtr TryGrow(JobPtr job, std::uint32_t body_size);
  // From now on the body, which is complete, is the unique key. The job has one reference. False:
  // there is no memory for the hash.
  static bool TryKeyByBody(JobPtr& job);
  // One more reference.
  static JobPtr Ref(Job& job);

  JobId id() const { return id_; }
  Tube& tube() const { return *place; }
  JobState state() const { return state_; }
  // The client's key, or else the one that its tube made of the body; "-" stands for the body.
  std::string_view unique() const {
    if (unique_is_body) return "-";
    if (unique_size_ > 0) return {KeyBytes(), unique_size_};
    return texts() == nullptr ? std::string_view() : texts()->key;
  }
  // Whether the body has its memory; of every job that New, TryNew or TryGrow returned.
  bool has_body() const { return !HasBlock() || Block() != nullptr; }
  std::uint32_t body_size() const { return body_size_; }
  std::string_view body() const { return {BodyBytes(), body_size_}; }
  // Writable, with the two bytes after the body: for the session that fills a new job.
  std::span<char> space() { return {BodyBytes(), body_size_ + std::size_t{2}}; }

  // The consumer that has reserved it; nullptr in other states.
  Consumer* holder() const { return state_ == JobState::kReserved ? link_.held.holder : nullptr; }
  // When its holder got it, to the second; 0 in other states.
  Time taken_at() const {
    return state_ == JobState::kReserved ? Time{link_.held.taken_s} * kSecond : 0;
  }
  // All zero if nothing was counted.
  const JobExtra& extra() const;
  const JobRest& rest() const;

  // The session that makes the job sets these five; from then on the engine reads and changes them.
  std::uint32_t priority = 0;
  std::uint32_t ttr_s = 0;    // 0 = none
  std::uint32_t delay_s = 0;  // of the put or the last release, for statistics
  std::uint32_t reserves = 0;
  Time created = 0;

  // Of a body that is the key and may leave; else empty.
  std::string_view body_hash() const {
    if (!unique_is_body || !HasBlock()) return {};
    return {KeyBytes(), unique_size_};
  }
  // Texts from policies; nullptr: there are none.
  const JobTexts* texts() const { return OwnRest() == nullptr ? nullptr : OwnRest()->texts.get(); }
  // The tube that a dead job came from; empty: it is not dead.
  std::string_view origin() const {
    return texts() == nullptr ? std::string_view() : texts()->origin;
  }
  bool ExpiredAt(Time now) const { return OwnRest() != nullptr && OwnRest()->expiry.time <= now; }
  // Its bytes in JobMemory.
  std::size_t memory() const { return OwnSize() + (HasBlock() ? body_size_ + std::size_t{2} : 0); }

  // --- Of the engine: who is no part of it reads jobs with an id, and no more.
  JobPlace place;  // its group is nullptr if its tube has none
  JobExtra& MakeExtra();
  JobRest& MakeRest();
  JobTexts& MakeTexts();
  void ForgetCauseText();
  bool has_extra() const { return extra_ != nullptr; }
  // nullptr: there is none yet.
  JobRest* OwnRest() { return extra_ == nullptr ? nullptr : extra_->rest.get(); }
  const JobRest* OwnRest() const { return const_cast<Job*>(this)->OwnRest(); }
  // Bodies: whether the body has a block of its own, which may leave memory and come back.
  bool HasBlock() const { return body_size_ >= kBlockFrom; }
  // It is in memory, a record has it, and nobody beside the engine has a reference.
  bool BodyMayLeave() const { return HasBlock() && has_body() && refs_ == 1 && durable; }
  void DropBlock();
  // False: there is no memory for it. `body` has the size of the job's.
  bool TryFillBlock(std::string_view body);
  // IndexedHeap: delayed and reserved jobs, ready ones that came out of order.
  std::uint32_t& HeapSlot() { return link_.held.slot; }
  std::uint32_t HeapSlot() const { return link_.held.slot; }
  std::uint64_t HeapOrder() const { return id_; }
  // JobList: ready and buried jobs. Treap: ready ones of a group that came out of order.
  void SetLinks(Job* prev, Job* next) { link_.list = {prev, next}; }
  Job*& Prev() { return link_.list.prev; }
  Job*& Next() { return link_.list.next; }

 private:
  friend class JobStore;
  friend struct JobUnref;

  struct Held {
    Consumer* holder;
    std::uint32_t slot;
    std::uint32_t taken_s;  // when the holder got it, in seconds since 1970
  };
  struct Neighbours {
    Job* prev;
    Job* next;
  };

  Job() = default;
  ~Job() = default;
  static Job* At(void* place, std::uint32_t body_size, std::string_view unique);

  char* Block() const { return *reinterpret_cast<char* const*>(this + 1); }
  void SetBlock(char* block) { *reinterpret_cast<char**>(this + 1) = block; }
  const char* KeyBytes() const {
    return reinterpret_cast<const char*>(this + 1) + (HasBlock() ? sizeof(char*) : 0);
  }
  const char* BodyBytes() const {
    if (!HasBlock()) return KeyBytes() + unique_size_;
    GS_DCHECK(Block() != nullptr);
    return Block();
  }
  char* BodyBytes() { return const_cast<char*>(std::as_const(*this).BodyBytes()); }
  void EndBody() { std::memcpy(BodyBytes() + body_size_, "\r\n", 2); }
  // The body gets a block of its own, which is still to be filled in.
  bool TryMakeBlock();
  std::size_t OwnSize() const { return OwnSize(body_size_, unique_size_); }
  static std::size_t OwnSize(std::uint32_t body_size, std::size_t unique_size) {
    return sizeof(Job) + unique_size +
           (body_size >= kBlockFrom ? sizeof(char*) : body_size + std::size_t{2});
  }

  JobId id_ = 0;
  union {
    Neighbours list;  // ready (also in a tree of its group) or buried
    Held held;        // reserved; delayed and out-of-order ones use the slot alone
  } link_ = {.list = {nullptr, nullptr}};
  JobExtra* extra_ = nullptr;
  std::uint32_t body_size_ = 0;
  std::uint16_t refs_ = 1;
  JobState state_ : 3 = JobState::kGone;

 public:
  bool durable : 1 = false;          // journalled: put by beanstalk or submitted in background
  bool keep_on_failure : 1 = false;  // put by beanstalk: a failure buries it
  bool unique_is_body : 1 = false;   // Gearman's unique "-": jobs with equal bodies are one
  bool out_of_order : 1 = false;     // ready, and in the heap of the queue or the tree of the group
  bool abandoned : 1 = false;        // its last waiter left while it ran: it does not run again

 private:
  std::uint8_t unique_size_ = 0;
};

static_assert(std::is_trivially_copyable_v<Job>, "an arriving job moves as bytes");
static_assert(sizeof(Job) == 72, "the memory budget of a queued job is 100 bytes beside its body");

// The body, which is in memory, and the CR LF behind it.
inline std::string_view BodyCrlf(const Job& job) {
  return {job.body().data(), job.body_size() + std::size_t{2}};
}

// A Gearman client submitted it for a time, and nobody has released it since: its delay, if it has
// one, ends at that time by the wall clock.
inline bool IsForATime(const Job& job) {
  return !job.keep_on_failure && job.extra().releases == 0 && !job.extra().retrying;
}

// Whether it is buried, or dead: moved to a dead tube.
inline bool Failed(const Job& job) {
  return job.state() == JobState::kBuried || !job.origin().empty();
}

// The cause text of a job that was buried because its body is damaged.
inline constexpr std::string_view kDamagedText = "damaged";
inline bool IsDamaged(const Job& job) {
  return job.extra().cause == Cause::kBuried && job.texts() != nullptr &&
         job.texts()->cause_text == kDamagedText;
}
// "failed", "damaged" and so on; empty: it did not end badly.
inline std::string_view CauseOf(const Job& job) {
  return IsDamaged(job) ? kDamagedText : NameOf(job.extra().cause);
}

// A doubly linked list of jobs through their own links: a lane, or the buried ones.
class JobList {
 public:
  bool empty() const { return head_ == nullptr; }
  Job* front() const { return head_; }
  Job* back() const { return tail_; }
  // The job after `job`, which is in this list; nullptr: it is the last.
  static const Job* After(const Job& job) { return const_cast<Job&>(job).Next(); }
  void PushBack(Job* job);
  void PushFront(Job* job);
  // Before `next`; at the end if that is nullptr.
  void Insert(Job* job, Job* next);
  void Remove(Job* job);

 private:
  Job* head_ = nullptr;
  Job* tail_ = nullptr;
};

}  // namespace gearstalk
