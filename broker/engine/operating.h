#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/engine/consumer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/store.h"

namespace gearstalk {

class BadEnds;
class Dispatch;

// The engine for administrators: what they and other clients do to jobs that they neither put nor
// hold, and to tubes.
class Operating {
 public:
  // They outlive it.
  Operating(JobStore& store, Dispatch& dispatch, BadEnds& bad_ends)
      : store_(store), dispatch_(dispatch), bad_ends_(bad_ends) {}

  // --- Jobs
  // kNotFound: there is no such job. kJournal: the journal takes no record, and nothing changed.

  // Removes a job in any state, and tells its waiters that it failed.
  Outcome Cancel(Time now, JobId id);
  // Up to `bound` jobs of the used tube, or of the one named: buried ones in burial order if there
  // are any, else delayed ones by due time. O(bound log n): a caller with a large bound calls it in
  // slices, and passes `from`, which the first slice sets, to the next ones. kNotFound: there is no
  // such tube.
  Kicked Kick(Time now, const Consumer& consumer, std::uint64_t bound,
              std::optional<KickFrom>& from);
  Kicked Kick(Time now, std::string_view tube, std::uint64_t bound, std::optional<KickFrom>& from);
  // Kicks a buried or a delayed job; kNotFound for all others. One whose body is damaged stays
  // buried, as the last, until its body was read again: no record, lsn 0.
  Outcome KickJob(Time now, JobId id);
  // LiveRecords::OnBody: the body that KickJob or Kick asked for is whole.
  void KickWhole(Time now, JobId id);
  // Puts a job that nobody holds into another tube. Id, counters, state and due time stay; a buried
  // one becomes the last of the buried ones there. kNotFound also for a reserved job; kInvalid for
  // a tube of answers, kTooManyTubes and kQueueFull as for a new job.
  Outcome Move(Time now, JobId id, std::string_view tube);
  // Buries a ready or a delayed job, with `force` also a reserved one. kNotFound for all others.
  Outcome Bury(JobId id, std::optional<std::uint32_t> priority, bool force);
  // Takes a reserved job from its holder, as a release that counts no attempt: the holder's next
  // word about it finds nothing, as after its TTR. kNotFound for all others.
  Outcome TakeBack(Time now, JobId id, std::uint32_t delay_s);

  // --- Tubes
  // kJournal as for jobs. Those that make a tube: kInvalid for a tube of answers, kTooManyTubes if
  // the tube would exceed the limit of tubes.

  // The tube gives no jobs for so long from now on; 0 ends its pause. kNotFound: there is no such
  // tube.
  Outcome Pause(Time now, std::string_view tube, std::uint32_t seconds);
  // Makes the tube, which stays without jobs and workers until DropFunction.
  Outcome CreateFunction(std::string_view tube);
  // kNotFound: there is no such function. kInUse while it has workers, waiting consumers, or a job
  // in any state.
  Outcome DropFunction(std::string_view tube);
  // Makes the tube, which stays as long as its limit differs from the configured one: that of
  // EngineLimits, else the policy's max_jobs. Only such a limit outlives a restart.
  Outcome SetMaxQueue(std::string_view tube, const MaxQueue& limits);
  // The limit that the configuration gives; kNotFound: there is no such tube.
  Outcome ResetMaxQueue(std::string_view tube);

  // As in TubePolicies.
  void SetRules(Time now, PolicyRules rules);
  PolicySet SetPolicy(Time now, std::string_view tube, std::string_view key,
                      std::optional<std::string_view> value);

  void SetDraining(bool draining) { store_.draining = draining; }

 private:
  Lsn KickOne(Time now, Job& job);
  Kicked KickTube(Time now, Tube& tube, std::uint64_t bound, std::optional<KickFrom>& from);
  Lsn AppendWhole(const Job& job);

  JobStore& store_;
  Dispatch& dispatch_;
  BadEnds& bad_ends_;
};

}  // namespace gearstalk
