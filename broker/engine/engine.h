#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/asking.h"
#include "broker/engine/bad_ends.h"
#include "broker/engine/consuming.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/live_records.h"
#include "broker/engine/operating.h"
#include "broker/engine/producing.h"
#include "broker/engine/schedules.h"
#include "broker/engine/store.h"
#include "broker/engine/transfers.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// What an engine is made of; its faces refer to it.
struct EngineParts {
  EngineParts(const EngineOptions& options, Journal& journal) : store(options, journal) {}

  JobStore store;
  Dispatch dispatch{store, bad_ends};
  BadEnds bad_ends{store, dispatch};
};

// The queue: a store of jobs, those who decide about them, and four faces: for producers,
// consumers, administrators, and whoever asks. One thread, no clock: everything that depends on
// time takes `now`, and Tick does what is due. Every verb checks, changes a job, appends the record
// of that to the journal, and then serves the waiting consumers of the tube that it touched. Verbs
// have the names that beanstalk or Gearman give them; docs/semantics.md says what each does to a
// job.
//
// A verb costs O(1) or O(log n) in the jobs of a tube. Nothing here walks all tubes, jobs,
// consumers or waiters, except where a comment says so.
class Engine : private EngineParts,
               public Producing,
               public Consuming,
               public Operating,
               public Asking {
 public:
  Engine(const EngineOptions& options, Journal& journal);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // By its holder, and by an administrator.
  using Consuming::Bury;
  using Operating::Bury;

  // At any time; all but `normal_to` may change.
  void SetOptions(const EngineOptions& options);
  // O(tubes): at start and when the configuration changes.
  void SetLimits(EngineLimits limits) { store.SetLimits(std::move(limits)); }
  // `beside`: bytes that the server holds for clients. `is_short`: allocations have failed.
  void NoteMemory(std::size_t beside, bool is_short);
  // Jobs that were submitted for a time of the wall clock follow it. O(jobs): called when somebody
  // has set the clock.
  void SetWallAhead(Time ahead);

  // Does what is due, a bounded number of steps a call. Returns when to call it again: `now` if
  // more is due, kNever if nothing will be.
  Time Tick(Time now);

  // With headers of their own.
  Bodies& bodies() { return store.bodies; }
  Schedules& schedules() { return schedules_; }
  const Schedules& schedules() const { return schedules_; }
  Transfers& transfers() { return transfers_; }
  const Transfers& transfers() const { return transfers_; }
  // For the journal.
  LiveRecords& records() { return records_; }
  void DropUndurable() { store.DropUndurable(); }

  // For tests: recounts everything that the engine counts, and names the first difference; empty:
  // there is none. O(n) in everything.
  std::string CheckInvariants(const std::vector<const Consumer*>& consumers) const;

 private:
  void TubeDue(Time now, Tube& tube, int& steps);

  Schedules schedules_{store, *this};
  Transfers transfers_{store, dispatch, records_};
  LiveRecords records_{store, bad_ends, *this, schedules_, transfers_};
};

}  // namespace gearstalk
