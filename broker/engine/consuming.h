#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/bad_ends.h"
#include "broker/engine/consumer.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/outcome.h"
#include "broker/engine/store.h"

namespace gearstalk {

// The engine for connections, and for those of them that take jobs: what they use and watch, hold
// and end.
class Consuming {
 public:
  // They outlive its last use.
  Consuming(JobStore& store, Dispatch& dispatch, BadEnds& bad_ends)
      : store_(store), dispatch_(dispatch), bad_ends_(bad_ends) {}
  Consuming(const Consuming&) = delete;
  Consuming& operator=(const Consuming&) = delete;

  // --- Connections -------------------------------------------------------------------------------
  // A consumer that has not joined; Leave comes before its destructor.
  static void Join(Consumer& consumer);
  // Gives back its reservations (each counts a lost try) and ends its waits and watches, a bounded
  // number of steps a call. False: there is more, call again. Does nothing for a consumer that has
  // not joined.
  bool Leave(Time now, Consumer& consumer);
  // The broker ends: from now on consumers give back what they hold without losing a try.
  void Stop() { stopping_ = true; }
  // Put and Submit begin with it; a session calls it before a body that it may still refuse.
  void CountAsProducer(Consumer& consumer) {
    store_.totals.producers += !std::exchange(consumer.producer_, true);
  }
  // Makes the tube if it does not exist. kTooManyTubes if the tube would exceed the limit of tubes.
  // Watch does likewise, and says kOutOfMemory to a consumer of many tubes when tables are full
  // (JobStore::TablesFull).
  Code Use(Consumer& consumer, std::string_view tube);
  // Idempotent. `able` counts the consumer as one of the tube's workers at once (Gearman's CAN_DO);
  // otherwise it counts from its first reservation on. `run_limit` is CAN_DO_TIMEOUT, 0 = none.
  Code Watch(Time now, Consumer& consumer, std::string_view tube, bool able = false,
             Time run_limit = 0);
  // kNotIgnored for the last one, unless `may_be_last`; kOk for a tube that it does not watch.
  Code Ignore(Time now, Consumer& consumer, std::string_view tube, bool may_be_last = false);
  // Gearman's CANT_DO: Ignore, and what it runs of that function goes back. A bounded number of
  // steps a call, as ResetAbilities; false: there is more, call again.
  bool CantDo(Time now, Consumer& consumer, std::string_view tube);
  bool ResetAbilities(Time now, Consumer& consumer);

  // --- Taking ------------------------------------------------------------------------------------
  // beanstalk's reserve: takes the most urgent ready job, or waits until `deadline` (kNever: for
  // ever; <= now: not at all), or says why it cannot. kTaken fills `taken`.
  ReserveResult Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken);
  // Takes a job that nobody holds, also a delayed or a buried one. No job: there is none, it is
  // past its expiry, or another job of its line comes first.
  Taken ReserveJob(Time now, Consumer& consumer, JobId id);
  // Gearman's GRAB_JOB: takes or not, never waits; ends a sleep.
  Taken Grab(Time now, Consumer& consumer);
  // Gearman's PRE_SLEEP: OnJobsAvailable is called at once if there is work, else when there is.
  void Sleep(Time now, Consumer& consumer);
  // The consumer has got the job, whose body it had to wait for: its limits begin.
  void Given(Time now, Consumer& consumer, JobId id) { dispatch_.Given(now, consumer, id); }
  // Ends a wait without an answer (half-closed connection).
  void StopWaiting(Consumer& consumer) { dispatch_.EndWait(consumer); }

  // --- By the holder (Delete: also by anybody for a job that nobody holds)
  // kNotFound: the consumer does not hold the job. kJournal: the journal takes no record of the
  // end, and the job stays as it is. Release, Bury, WorkFail and WorkException end the hand-out as
  // Judge says (verdict.h).

  Outcome Delete(Time now, Consumer& consumer, JobId id);
  Outcome Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                  std::uint32_t delay_s);
  Outcome Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority);
  // The TTR begins anew. WorkProgress does likewise, and tells the waiters.
  Outcome Touch(Time now, Consumer& consumer, JobId id);
  Outcome WorkProgress(Time now, Consumer& consumer, JobId id, const Progress& progress);
  Outcome WorkComplete(Time now, Consumer& consumer, JobId id, const ReportData& result);
  Outcome WorkFail(Time now, Consumer& consumer, JobId id);
  Outcome WorkException(Time now, Consumer& consumer, JobId id, const ReportData& text);

 private:
  void RemoveWatch(Consumer& consumer, WatchEntry& watch);
  void CountAsWorker(Consumer& consumer) {
    if (!std::exchange(consumer.worker_, true)) CountNewWorker(consumer);
  }
  void CountNewWorker(Consumer& consumer);
  void GiveBackAll(Time now, const std::vector<Job*>& jobs, BadEnd how);
  void GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, BadEnd how);

  JobStore& store_;
  Dispatch& dispatch_;
  BadEnds& bad_ends_;
  bool stopping_ = false;
};

}  // namespace gearstalk
