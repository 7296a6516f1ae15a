#pragma once

#include <cstddef>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/consumer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/store.h"
#include "broker/engine/tube.h"
#include "broker/engine/waiting_line.h"

namespace gearstalk {

class BadEnds;

// Ready jobs meet waiting consumers. Part of the engine.
//
// Who waits: a consumer that reserves (beanstalk) is given its job at once when there is one
// (OnReserved). One that sleeps (a Gearman worker after PRE_SLEEP) is only told that there is one
// (OnJobsAvailable, the NOOP), and has to ask for it.
//
// What a promise is: the job for which a sleeper was woken is left for it, so that it does not wake
// in vain; its tube counts it as promised. The promise ends when the sleeper asks (Grab), sleeps
// again or leaves, or after 100 ms, when nobody counts on it any more: then all sleepers of the
// tube are woken and those who reserve are served.
//
// What wakes whom: a verb ends with Serve of each tube where a job got ready, then with ServeFreed
// for places and groups that it freed; what it leaves, the Tick at the end of the round serves. The
// one who has waited longest is first (WaitingLine), until jobs or waiters run out. A consumer that
// begins to wait has looked for a job before (BestFor, ReadyTubes).
//
// What a hand-out begins: the job's TTR, and the consumer's CAN_DO_TIMEOUT if that is sooner, as a
// deadline of the consumer.
//
// What it costs: O(1) for a tube whose waiters watch few tubes, whatever waits elsewhere; for
// waiters of many tubes as WaitingLine says. A slice of JobStore::kSlice jobs at most is served at
// a time.
class Dispatch {
 public:
  // They outlive its last use.
  Dispatch(JobStore& store, BadEnds& bad_ends);

  WaitingLine& line() { return line_; }
  const WaitingLine& line() const { return line_; }

  // The most urgent job of the tubes that the consumer watches. Ends jobs that are past their
  // expiry before it looks further. nullptr: there is none, or so many had expired that the next
  // Tick goes on.
  Job* BestFor(Time now, Consumer& consumer);
  void BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until);
  void EndWait(Consumer& consumer);
  // Gearman's PRE_SLEEP, of a consumer that does not wait and has no promise.
  void Sleep(Time now, Consumer& consumer);

  // Hands a job to the consumer. Given: it has got the job, whose body it had to wait for, and its
  // limits begin.
  Taken Take(Time now, Job& job, Consumer& consumer);
  void Given(Time now, Consumer& consumer, JobId id);
  // nullptr: the consumer does not hold it.
  Job* HeldBy(const Consumer& consumer, JobId id) const;
  // The TTR of a job that is held begins anew.
  void RestartTtr(Time now, Job& job);
  // As in gearmand, the CAN_DO_TIMEOUTs of a worker end when it sleeps.
  void EndRunLimits(Consumer& consumer);

  // Hands ready jobs to those who reserve and wakes those who sleep, first come first, until jobs
  // or waiters run out, or after a slice, which makes the tube due again. A job for which somebody
  // was woken is left for him. `fresh` is the job that just got ready, if there is one.
  void Serve(Time now, Tube& tube, const Job* fresh = nullptr);
  // Serves the tubes of jobs that got ready, the most urgent job first.
  void ServeTubesOf(Time now, std::vector<const Job*> jobs);
  // First come, first served: those who waited get what a verb just made possible.
  void ServeFreed(Time now) {
    if (store_.pace.has_freed()) ServeAllFreed(now);
  }
  // Ends the pauses that are over, and serves those tubes.
  void EndPauses(Time now) {
    if (store_.pauses.next() <= now) EndDuePauses(now);
  }

  // Ends the consumer's promise. The tube, which has to be served then; nullptr: there was none.
  Tube* TakePromise(Consumer& consumer);
  void DropPromise(Time now, Consumer& consumer);
  // Ends promises that are over, a bounded number of steps a call; the time of the next.
  Time BreakPromises(Time now);
  // Its wait is over, or a reservation of it: at most `steps` of those, from which it takes theirs.
  void EndDue(Time now, Consumer& consumer, int& steps);
  // One of its reservations has no more than a second left.
  static bool DeadlineSoon(Time now, const Consumer& consumer) {
    return consumer.held_.top_time() - kSafetyMargin <= now;
  }

  // Whether it has a job that may leave.
  static bool Runnable(const Tube& tube) { return tube.ready() > 0 && tube.FrontJob() != nullptr; }

 private:
  // beanstalk's safety margin before the end of a TTR.
  static constexpr Time kSafetyMargin = kSecond;

  std::uint32_t TtrFor(const Job& job, const Consumer& consumer) const;
  Time BeginLimits(Time now, Job& job, Consumer& consumer);
  void Arm(Consumer& consumer);
  // At most so many jobs or wakeups; false: it gave none, and ended no expired one.
  bool ServeSome(Time now, Tube& tube, const Job* fresh, std::size_t most);
  // Tubes that give again all at once: the most urgent job of them all leaves first. Those that the
  // slice does not reach are due at once.
  void ServeTogether(Time now, std::vector<Tube*> tubes);
  void ServeAllFreed(Time now);
  void EndDuePauses(Time now);
  void ServeSoon(Time now, const WatchList& watched);
  void EndWaitForJob(Time now, Consumer& consumer);
  void Wake(Time now, Consumer& sleeper, Tube& tube);
  void WakeSleepers(Time now, Tube& tube);
  void BreakPromise(Time now, Consumer& consumer);

  JobStore& store_;
  BadEnds& bad_ends_;
  WaitingLine line_;
  Consumer::PromisedList promised_;  // by time
};

}  // namespace gearstalk
