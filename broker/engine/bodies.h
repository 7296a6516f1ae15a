#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/engine/id_table.h"
#include "broker/engine/job.h"
#include "broker/engine/job_counts.h"
#include "broker/journal/journal.h"

namespace gearstalk {

class Consumer;

// Somebody needs the body of a job, which may be in the journal alone: Bodies::Bring brings it into
// memory, where it stays as long as the wait lives or until Drop. Destroying it ends the wait.
class BodyWait : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  enum class State : std::uint8_t { kNone, kComing, kHere, kDamaged };

  BodyWait() = default;
  BodyWait(const BodyWait&) = delete;
  BodyWait& operator=(const BodyWait&) = delete;
  virtual ~BodyWait() = default;

  State state() const { return state_; }
  bool coming() const { return state_ == State::kComing; }
  // The job whose body was asked for last. It may have left the engine meanwhile.
  Job* job() const { return job_.get(); }
  void Drop() {
    unlink();
    job_.reset();
    state_ = State::kNone;
  }

 private:
  friend class Bodies;
  // The body is here, or damaged. Called from inside engine calls: must not call the engine back.
  virtual void OnBody() {}

  JobPtr job_;
  State state_ = State::kNone;
};

// How long a request of an operator waits for the disk.
inline constexpr Time kBodyPatience = 5 * kSecond;

// A put whose key is a body that the journal alone has: it is compared before it counts as equal.
// The bodies stay in memory until this is destroyed.
class Comparison final : public BodyWait {
 public:
  // Bodies with which a put is compared; with others it counts as not equal.
  static constexpr std::size_t kMost = 16;

  // `producer`, if there is one, gets OnCompared and outlives it.
  explicit Comparison(Consumer* producer) : producer_(producer) {}

  // What it waited for was read, if it could be.
  void NoteDone();
  bool IsDone(const Job& with) const;
  std::size_t done() const { return done_.size(); }

 private:
  void OnBody() override;

  Consumer* producer_;
  std::vector<JobPtr> done_;
};
using ComparisonPtr = std::unique_ptr<Comparison>;

// Whether a verb that was given this has done nothing yet: call it again with the same job when the
// comparison is no longer coming.
inline bool Waits(const ComparisonPtr& compared) {
  return compared != nullptr && compared->coming();
}
// For the verb, which begins with it.
inline bool StillWaits(ComparisonPtr* compared) {
  if (compared == nullptr || *compared == nullptr) return false;
  if (!Waits(*compared)) (*compared)->NoteDone();
  return Waits(*compared);
}

class Tube;

// Bodies that are in the journal may leave memory: what is needed soon stays. Part of the store.
// It concerns the bodies of Job::kBlockFrom bytes or more; the others never leave.
//
// What leaves: while more than the limit is in memory, a new body goes as soon as its record is on
// disk, unless its tube is so short that it is needed soon. A hand that walks the jobs by id takes
// the rest; each body that comes into memory pays for some of its steps, so that it costs O(1) a
// job. A body stays that is referenced (an unsent reply, a wait) or is no durable job's.
//
// What comes back: a body that somebody waits for, and those of the next jobs of a tube from which
// a job is taken.
class Bodies {
 public:
  // `jobs` and `journal` outlive it.
  Bodies(IdTable<Job>& jobs, BodySource& journal) : jobs_(jobs), journal_(journal) {}
  Bodies(const Bodies&) = delete;
  Bodies& operator=(const Bodies&) = delete;
  ~Bodies();

  // Bytes of bodies in memory; 0: they never leave, 1: all that may leave do.
  void SetLimit(std::uint64_t bytes);

  // Has `wait` wait for the body of a job, if that is not here. `taken`: a consumer takes the job
  // with it. What `wait` waited for before is dropped.
  void Bring(Job& job, BodyWait& wait, BodyUse use, bool taken = false);
  // Has `compared` wait for the body of a job, unless it knows enough of them already. `producer`,
  // if there is one, hears of it.
  void BringToCompare(Job& job, ComparisonPtr& compared, Consumer* producer);
  // The next jobs of a tube, from which one was taken.
  void LookAhead(Tube& tube) {
    if (counts_.in_journal > 0 && limit_ != 1) BringNext(tube);
  }
  // Reads a damaged body again; if it is whole, its job is to be kicked.
  void BringToKick(const Job& job);
  // Drops `wait`; the body goes if it is not worth its memory.
  void LetGo(BodyWait& wait);

  // An answer of the journal: a job whose body is damaged, and whether its consumer waits for it;
  // or one that is to be kicked.
  struct Found {
    JobPtr job;
    bool damaged = true;
    bool taken = false;
  };
  std::optional<Found> OnRead(Time now, JobId id, const BodyRead& read);

  // The engine has a job, and has it no more.
  void OnInsert(const Job& job) {
    if (job.HasBlock()) CountBody(job, 1);
  }
  void OnErase(const Job& job) {
    if (job.HasBlock()) CountBody(job, -1);
  }
  // Its record was appended at `lsn`.
  void OnPut(const Job& job, Lsn lsn);
  // A replay has made the job.
  void OnReplayed(Job& job);

  // Lets bodies go, and tries again what failed; returns when to call it again. `full`: the memory
  // limit is reached, so that bodies go although fewer than their own limit are there.
  Time Tick(Time now, bool full);

  const BodyCounts& counts() const { return counts_; }
  // Bytes in memory that may leave; what is far beyond the limit cannot, as replies refer to it.
  std::uint64_t movable_bytes() const {
    return limit_ == 0 ? 0 : std::min(movable_bytes_, limit_ + kUnderWay);
  }
  // Why bodies cannot be read; empty: they can.
  const std::string& trouble() const { return trouble_; }
  // For tests: recounts, and names the first difference; empty: there is none.
  std::string Check() const;

 private:
  using Waits = boost::intrusive::list<BodyWait, boost::intrusive::constant_time_size<false>>;
  struct Reading {
    JobPtr job;
    BodyUse use = BodyUse::kReply;
    bool taken = false;
    bool kicks = false;
    bool failed = false;  // its last read
    Time again = kNever;  // when to try again; kNever: it is being read
    Waits waits;
  };
  struct Fresh {
    JobId id = 0;
    Lsn lsn = 0;
  };

  bool Over() const {
    return limit_ > 0 && (counts_.memory_bytes > limit_ || (full_ && movable_bytes_ > 0));
  }
  void CountBody(const Job& job, int change);
  void BringNext(Tube& tube);
  bool NeededSoon(const Job& job) const;
  bool LetGoIfFree(Job& job);
  void LeaveMemory(Job& job);
  bool ComeToMemory(Job& job, std::string_view body);
  void NoteBrought(JobId id);
  void Ask(const Job& job, BodyUse use);
  void ExpectAfter(JobId id);
  std::unique_ptr<Reading> Leave(JobId id);
  void Finish(Reading& reading, BodyWait::State state);
  void PassFresh(int& steps);
  void MoveHand(int& steps);
  void PassBrought();
  std::optional<Found> UnaskedDamage(JobId id, const BodyRead& read);
  void NoteDamage(JobId id, const BodyRead& read);
  void TryAgain(Time now);

  static constexpr int kSteps = 512;                     // of one Tick
  static constexpr std::uint64_t kStepsOfABody = 4;      // of the hand
  static constexpr std::size_t kFirstAhead = 8;          // jobs of a tube that are looked at first
  static constexpr std::size_t kAhead = 256;             // and at most
  static constexpr std::uint64_t kAheadBytes = 1 << 20;  // of one look
  static constexpr std::uint64_t kComingBytes = 32 << 20;  // that are read ahead at a time
  static constexpr std::size_t kExpected = 64;             // jobs after one that a query reads
  static constexpr std::uint64_t kUnderWay = 64 << 20;  // bytes that are not on disk yet, or sent
  static constexpr std::size_t kMostBrought = 1 << 16;

  IdTable<Job>& jobs_;
  BodySource& journal_;
  std::uint64_t limit_ = 0;
  bool full_ = false;
  BodyCounts counts_;
  std::uint64_t movable_bytes_ = 0;
  absl::flat_hash_map<JobId, std::unique_ptr<Reading>> coming_;
  std::uint64_t coming_bytes_ = 0;
  std::deque<Fresh> fresh_;    // puts in the order of their records
  std::deque<JobId> brought_;  // bodies that came back
  JobId hand_ = 0;
  std::uint64_t credit_ = 0;  // steps of the hand
  bool strict_ = false;       // the hand takes what is needed soon, too
  Lsn last_put_ = 0;
  JobId last_id_ = 0;       // of a put
  Lsn unsafe_until_ = 0;    // the hand waits until this is on disk
  std::size_t failed_ = 0;  // readings whose last read failed
  std::string trouble_;
};

// The body of one job after the other, for a query that works in slices.
class BodyQuery final : public BodyWait {
 public:
  // `bodies` outlives it.
  explicit BodyQuery(Bodies& bodies) : bodies_(bodies) {}

  // Whether nothing more comes: the body is in memory, or damaged (has_body says which). If false,
  // it is being read: ask again in the next slice.
  bool Knows(Time now, const Job& job);
  // It has been read for so long that the disk is in trouble.
  bool Late(Time now) const { return coming() && now - asked_ > kBodyPatience; }

 private:
  Bodies& bodies_;
  Time asked_ = 0;
};

}  // namespace gearstalk
