#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/time_histogram.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/outcome.h"
#include "broker/engine/store.h"

namespace gearstalk {

// The engine for whoever asks: nothing here changes it.
class Asking {
 public:
  // They outlive it.
  Asking(const JobStore& store, const Dispatch& dispatch) : store_(store), dispatch_(dispatch) {}

  // --- The engine
  const EngineOptions& options() const { return store_.options; }
  const EngineLimits& limits() const { return store_.limits; }
  const JournalReports& journal() const { return store_.journal; }
  EngineStats Stats() const;
  // The memory limit is reached, and no job is taken: a session that receives a body discards it
  // and calls RefuseBody.
  bool MemoryFull() const { return store_.MemoryFull(); }
  bool draining() const { return store_.draining; }
  Time WallTime(Time now) const { return store_.options.WallTime(now); }
  // How far the wall clock is ahead of the time that verbs are given.
  Time wall_ahead() const { return store_.wall_ahead; }
  // How long consumers waited for each job they got; 0 if it was there. A sleeping worker's wait
  // ends when it is woken.
  const TimeHistogram& waits() const { return store_.waits; }
  // How old jobs were when a consumer got them; a job that comes back counts each time.
  const TimeHistogram& ages() const { return store_.ages; }
  // Steps so far of the loops that a caller cannot bound: over waiters, watchers, held jobs. A
  // session that has caused many lets others go first.
  std::uint64_t effort() const { return store_.effort; }

  // --- Jobs
  // nullptr: there is none.
  const Job* Find(JobId id) const { return store_.jobs.Find(id); }
  // A job with this key in one of the JobStore::kSlice tubes after tube `last`, which it moves
  // along; begin with 0. nullptr: none there, and none in any tube if `last` is 0 again.
  const Job* FindUnique(std::string_view unique, std::uint64_t& last) const;
  // In the order of creation; begin with 0. For walks in slices: a cursor stays valid across
  // changes.
  const Job* NextJob(JobId after) const { return store_.jobs.Next(after); }
  // How often a job that was there before came into another tube. If it changed during a walk by
  // id, the walk may have missed such a job.
  std::uint64_t moves() const { return store_.moves; }
  // All ids that were given out are lower.
  JobId next_id() const { return store_.ids.next(); }
  const Failures& failures() const { return store_.failures; }
  // O(n) in the different ones.
  std::size_t CountWaiters(const Job& job) const { return store_.waiters.Count(job); }
  // What has to be durable before anybody may hear of the put; 0: nothing.
  Lsn PutLsn(JobId id) const { return store_.records.PutLsn(id); }
  std::uint32_t TtrSeconds(const Job& job) const { return store_.TtrSeconds(job); }
  // Until a delayed job is due or a reservation ends; 0 in other states or without an end.
  static Time TimeLeft(Time now, const Job& job);
  Band BandOf(std::uint32_t priority) const { return store_.BandOf(priority); }

  // --- Tubes
  // nullptr: there is none.
  const Tube* FindTube(std::string_view name) const { return store_.tubes.Find(name); }
  // By id, as NextJob.
  const Tube* NextTube(std::uint64_t after) const { return store_.tubes.Next(after); }
  // 0: it is not paused.
  static Time PauseLeft(Time now, const Tube& tube);
  MaxQueue ConfiguredMaxQueue(std::string_view tube) const {
    return store_.ConfiguredMaxQueue(tube);
  }
  // Whether `status` lists it: it has a job in any state, a waiting consumer, a worker that can do
  // it or once could, or was created.
  bool Listed(const Tube& tube) const;
  // The functions without jobs and workers that gearmand would list, too.
  const IdleFunctions& idle_functions() const { return store_.idle_functions; }
  const TubePolicies& policies() const { return store_.policies; }
  // O(n) in the waiting consumers of many tubes, or in such watchers of this tube if they are
  // fewer.
  std::size_t Waiting(const Tube& tube) const { return dispatch_.line().Count(tube); }

 private:
  const JobStore& store_;
  const Dispatch& dispatch_;
};

// nullptr: there is none.
inline const Tube* TubeOfId(const Asking& engine, std::uint64_t id) {
  const Tube* const tube = engine.NextTube(id - 1);
  return tube != nullptr && tube->id() == id ? tube : nullptr;
}

}  // namespace gearstalk
