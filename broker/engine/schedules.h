#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/policy/schedule.h"

namespace gearstalk {

// A schedule as it runs. Its times are those of the wall clock.
struct RunningSchedule {
  Schedule entry;
  Plan plan;
  Time planned = 0;  // the last planned time that was run, skipped or missed; or when it began
  Time ran = 0;      // the last planned time of a job; 0: none
  Time next = kNever;
  JobId last_job = 0;
  std::uint64_t runs = 0, skipped = 0, missed = 0;
  bool off = false;
  bool configured = false;  // otherwise the journal knows it, and the configuration does not (yet)

  static constexpr std::uint32_t kIdle = UINT32_MAX;
  std::uint32_t slot = kIdle;
  std::uint32_t& HeapSlot() { return slot; }
  std::uint64_t HeapOrder() const { return 0; }
};

// The schedules by name, and by when they are due.
class Schedules {
 public:
  using Map = std::map<std::string, std::unique_ptr<RunningSchedule>, std::less<>>;

  const Map& all() const { return by_name_; }
  RunningSchedule* Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
  }
  RunningSchedule& FindOrMake(std::string_view name);
  // Those that are not configured are forgotten.
  void DropUnknown();

  // Has it come up at `time`, or not at all (kNever).
  void Await(RunningSchedule& schedule, Time time);
  RunningSchedule* Due(Time wall) const { return due_.top_time() <= wall ? due_.top() : nullptr; }
  Time next() const { return due_.top_time(); }

 private:
  Map by_name_;
  IndexedHeap<RunningSchedule> due_;
};

}  // namespace gearstalk
