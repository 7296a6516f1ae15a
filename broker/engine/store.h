#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/time_histogram.h"
#include "broker/engine/bodies.h"
#include "broker/engine/consumer.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/expiries.h"
#include "broker/engine/failures.h"
#include "broker/engine/grouping.h"
#include "broker/engine/id_table.h"
#include "broker/engine/idle_functions.h"
#include "broker/engine/job.h"
#include "broker/engine/job_ids.h"
#include "broker/engine/job_observer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/pace.h"
#include "broker/engine/pauses.h"
#include "broker/engine/ready_tubes.h"
#include "broker/engine/records.h"
#include "broker/engine/retention.h"
#include "broker/engine/seen_keys.h"
#include "broker/engine/tube.h"
#include "broker/engine/tube_policies.h"
#include "broker/engine/unique_index.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// The jobs and tubes of the engine: ids, keys, and the changes of state with their counters and
// records. Dispatch, BadEnds and the four faces stand on it; it knows none of them.
//
// The tables are open to those who stand on it. A job changes its state, tube or key through the
// functions alone, in a replay as in a verb; but a replay gives a dead job its origin itself
// (LiveRecords::ApplyFate).
class JobStore {
 public:
  // How many jobs, watches, waits or tubes one call handles, for the verbs that work in slices.
  static constexpr std::size_t kSlice = 512;

  JobStore(const EngineOptions& options, Journal& journal);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // --- Jobs --------------------------------------------------------------------------------------
  // A job in no state, with an id that no other has.
  void Insert(JobId id, JobPtr&& job, Tube& tube);
  void Erase(Job& job);
  // A job in no state changes its tube. With an origin it is dead, and its key is free.
  void MoveTo(Job& job, Tube& tube, std::string_view origin);
  // A job in no state comes into one; LeaveState leaves it in none.
  void EnterReady(Job& job);
  void EnterDelayed(Job& job, Time due);
  void EnterBuried(Job& job, std::uint64_t burial);
  // The caller sees to the consumer's deadline.
  void EnterReserved(Time now, Time deadline, Job& job, Consumer& consumer);
  void LeaveState(Job& job);
  // Moves a buried job before another one of its tube.
  static void PlaceBuried(Job& job, Job& next);
  // A ready job comes into the queue of a tube without groups, or leaves it.
  void Queue(Job& job) {
    Tube& tube = job.tube();
    tube.ready_.Push(&job);
    if (tube.ready_.front() == &job) ready.NoteFront(tube);
  }
  static void Unqueue(Job& job) { job.tube().ready_.Remove(&job); }
  // From now on a record is kept of it, or none any more.
  void SetDurable(Job& job, bool durable);
  void TakeKey(Job& job) {
    if (OwnsKey(job)) uniques.Insert(job);
  }
  void FreeKey(Job& job) {
    if (OwnsKey(job)) uniques.Remove(job);
  }

  // --- Their records -----------------------------------------------------------------------------
  bool Accepts(const Job& job, Record::Kind kind) const {
    return !job.durable || journal.Accepts(kind);
  }
  // Whether the journal takes the whole record of a job with such a body.
  bool AcceptsWhole(std::uint64_t body) const {
    return journal.Accepts(Record::Kind::kPut) && journal.HasRoomFor(body);
  }
  // kOk: the journal takes a new job with such a body.
  Code AcceptsNew(std::uint64_t body) const;
  // 0: no record, as the job is not durable or nothing is kept.
  Lsn Append(const Job& job, Record::Kind kind, Records::Beside beside = {}) {
    return persistent && job.durable ? records.Append(job, kind, beside) : 0;
  }
  // The job ends: its record, a word to those who wait for it, and it is gone.
  Lsn Finished(Job& job, Finish::Kind kind, const ReportData& data) {
    const Lsn lsn = AppendEnd(job, kind);
    waiters.Tell(job, kind, data, lsn);
    Erase(job);
    return lsn;
  }
  // What has to be durable before anybody may hear of the job.
  Lsn VisibleFrom(const Job& job) const {
    return job.durable ? records.PutLsn(job.id_) : ids.lsn();
  }
  // The journal has failed for good: removes the jobs whose puts were not on disk, and whose
  // producers were not answered, unless a client waits for their end.
  void DropUndurable();

  // --- Tubes -------------------------------------------------------------------------------------
  // Finds or makes it, whatever the limits.
  Tube& TubeNamed(std::string_view name);
  // Finds or makes it. nullptr: there are as many tubes as allowed, or TablesFull.
  Tube* TubeForUse(std::string_view name) {
    Tube* const found = tubes.Find(name);
    return found != nullptr ? found : MakeTubeInLimits(name);
  }
  // Somebody has left the tube, or a job has: it goes if it was the last.
  void ReleaseTube(Tube& tube) {
    if (tube.using_count == 0 && tube.watching == 0) EraseIfEmpty(tube);
  }
  MaxQueue ConfiguredMaxQueue(std::string_view tube) const;
  MaxQueue ConfiguredMaxQueue(const Tube& tube) const;
  // The settings that differ from the configuration, which the journal keeps.
  TubeSettings OwnSettings(const Tube& tube) const;
  // Its next delayed job or the end of its pause may be another.
  void ArmTube(Tube& tube);
  // Whether it has as many unfinished jobs as its limit allows for this priority.
  bool Full(const Tube& tube, std::uint32_t priority) const;

  // --- Limits and counters -----------------------------------------------------------------------
  // O(tubes).
  void SetLimits(EngineLimits limits);
  // No job is taken.
  bool MemoryFull() const { return memory_short || (limits.memory > 0 && ExceedsMemory()); }
  // Tubes, watches and waiters have used up their share of the memory. Only the few that an
  // ordinary client needs are still made.
  bool TablesFull() const {
    return limits.memory > 0 && TableMemory() > limits.memory / EngineLimits::kTableShare;
  }
  void Count(Tube& tube, std::uint64_t JobCounts::*what) {
    ++(tube.*what);
    ++(totals.*what);
  }
  void CountPolicy(Tube& tube, std::uint64_t PolicyCounts::*what) {
    ++(tube.MakeState().counts.*what);
    ++(totals.*what);
  }
  Code CountRefused(Code code) {
    ++totals.refused[static_cast<std::size_t>(code)];
    return code;
  }
  Added Refused(Code code) { return {CountRefused(code)}; }
  Band BandOf(std::uint32_t priority) const {
    if (priority < kNormalFrom) return Band::kHigh;
    return priority <= options.normal_to ? Band::kNormal : Band::kLow;
  }
  // default_ttr_s where it has none
  std::uint32_t TtrSeconds(const Job& job) const {
    return job.ttr_s > 0 ? job.ttr_s : options.default_ttr_s;
  }
  // engine_check.cc
  class Audit;

  // --- Tables, and what is known of all jobs -----------------------------------------------------
  EngineOptions options;
  EngineLimits limits;
  Journal& journal;
  const bool persistent;  // the journal keeps records
  bool draining = false;
  Time started = 0;     // first Tick
  Time ticked = 0;      // the latest that Tick or a put was told, for what is called without one
  Time wall_ahead = 0;  // of the wall clock, before the time that verbs are given
  std::size_t memory_beside = 0;
  bool memory_short = false;
  std::uint64_t next_burial = 1;
  std::uint64_t moves = 0;           // of jobs, into other tubes
  mutable std::uint64_t effort = 0;  // steps of the loops that a caller cannot bound
  EngineStats totals;
  TimeHistogram waits, ages;  // of hand-outs: see Asking

  IdleGroups idle_groups;
  TubeTable tubes;
  IdleFunctions idle_functions;
  IdTable<Job> jobs;
  Bodies bodies{jobs, journal};
  Failures failures{jobs};
  UniqueIndex uniques;
  Waiters waiters{effort};
  SeenKeys seen{journal};
  JobIds ids{journal};
  Deadlines deadlines;
  ReadyTubes ready;
  Pauses pauses{tubes, ready};
  Pace pace{deadlines, ready};
  Expiries expiries;
  Retention retention{*this};
  Grouping grouping{*this};
  TubePolicies policies{*this};
  Records records{*this};

 private:
  bool ExceedsMemory() const;
  // A job has its key while it is unfinished. JobExtra::key_free: not even then.
  static bool OwnsKey(const Job& job) { return UniqueIndex::HasKey(job) && !job.extra().key_free; }
  void CountQueued(const Job& job, int change) {
    job.tube().queued_by_band_[static_cast<std::size_t>(BandOf(job.priority))] +=
        static_cast<std::uint32_t>(change);
  }
  void EnterRest(Job& job);
  void LeaveRest(Job& job);
  Lsn AppendEnd(const Job& job, Finish::Kind kind);
  Tube* MakeTubeInLimits(std::string_view name);
  Tube& MakeTube(std::string_view name);
  void EraseIfEmpty(Tube& tube);
};

// Tubes whose jobs are answers to jobs, which the engine always takes.
inline constexpr std::string_view kReplyPrefix = "$reply/";
inline bool TakesAnswers(std::string_view tube) { return tube.starts_with(kReplyPrefix); }
inline bool PutsAnswers(const Consumer& producer) { return TakesAnswers(producer.used()->name()); }

}  // namespace gearstalk
