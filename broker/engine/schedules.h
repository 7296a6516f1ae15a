#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/engine/bodies.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/engine/outcome.h"
#include "broker/journal/record.h"
#include "broker/policy/schedule.h"

namespace gearstalk {

class JobStore;
class Producing;

// A schedule as it runs. Its times are those of the wall clock.
struct RunningSchedule : HeapElement {
  Schedule entry;
  Plan plan;
  Time planned = 0;  // the last planned time that was run, skipped or missed; or when it began
  Time ran = 0;      // the last planned time of a job; 0: none
  Time next = kNever;
  JobId last_job = 0;
  std::uint64_t runs = 0, skipped = 0, missed = 0;
  bool off = false;
  bool left_out = false;  // its last planned time was skipped or missed, and did not pass while off
  ComparisonPtr compared;   // of the job that it puts, which is tried again
  bool unrecorded = false;  // it missed times of which the journal has no record yet
  bool configured = false;  // otherwise the journal knows it, and the configuration does not (yet)
};

// Jobs that come by the calendar. It stands above the engine: it puts jobs as a client does.
class Schedules {
 public:
  using Map = std::map<std::string, std::unique_ptr<RunningSchedule>, std::less<>>;

  // They outlive it.
  Schedules(JobStore& store, Producing& producing) : store_(store), producing_(producing) {}

  const Map& all() const { return by_name_; }
  const RunningSchedule* Find(std::string_view name) const;
  // Those of the configuration. An error, and nothing changed: one whose plan is not good.
  Status Set(Time now, const std::vector<Schedule>& entries, const std::string& default_zone);
  // One job now; the plan stays. kInUse: the last run is not finished, and may not overlap.
  // Nothing was done if its `compared` Waits: call it again.
  Outcome Run(Time now, std::string_view name);
  Outcome Switch(Time now, std::string_view name, bool on);

  // Puts the jobs that are due, a bounded number, and returns when to call again. Begins with the
  // first call after a replay.
  Time Tick(Time now) { return now < tick_ ? tick_ : RunDue(now); }
  // From a record of the schedule itself, or of a job that it made.
  void Apply(const Record& record);
  void Capture(const std::function<void(const Record&)>& emit) const;

 private:
  RunningSchedule& FindOrMake(std::string_view name);
  RunningSchedule* FindConfigured(std::string_view name);
  void Begin(Time now);
  void PlanNext(RunningSchedule& schedule);
  void Await(RunningSchedule& schedule, Time time);
  Time RunDue(Time now);
  std::uint64_t Settle(Time now, Time wall, RunningSchedule& schedule);
  bool TryRun(Time now, RunningSchedule& schedule);
  static void Miss(RunningSchedule& schedule, std::uint64_t times, Time last);
  bool IsUnfinished(JobId id) const;
  Outcome Put(Time now, RunningSchedule& schedule, Time planned, bool by_plan);
  Lsn Append(RunningSchedule& schedule);

  JobStore& store_;
  Producing& producing_;
  Map by_name_;
  IndexedHeap<RunningSchedule> due_;
  Time tick_ = 0;  // when to run next
  bool begun_ = false;
};

}  // namespace gearstalk
