#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/engine/job.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

class BadEnds;
class JobStore;
class Operating;
class Schedules;
class Transfers;

// The engine for the journal, which replays records to it and carries them forward.
class LiveRecords final : public LiveState {
 public:
  // They outlive its last use.
  LiveRecords(JobStore& store, BadEnds& bad_ends, Operating& operating, Schedules& schedules,
              Transfers& transfers)
      : store_(store),
        bad_ends_(bad_ends),
        operating_(operating),
        schedules_(schedules),
        transfers_(transfers) {}

  Status Apply(const Record& record) override;
  void ApplyPut(const Record& record);
  // Once, when everything was applied and before any verb: O(tubes with settings), or O(jobs) if
  // the clock is behind the times in the records: then no delay and no pause is longer from now on
  // than what was asked for. Delayed jobs that became due meanwhile get ready at the first Tick.
  void BecomeActive(Time now);

  bool Capture(JobId id, const std::function<void(const Record&)>& emit) override;
  void CaptureSettings(const std::function<void(const Record&)>& emit) override;
  std::uint32_t BodyLeftOut(JobId id) const override;
  bool RestsDamaged(JobId id) const override;
  bool TakesBodiesLater() const override;
  std::vector<JobId> MissingBodies() const override;
  void OnBody(JobId id, const BodyRead& read) override;

 private:
  static void JoinRecorded(Job& job, const Record& record);
  void ApplyOfJob(const Record& record);
  static void ApplyCounters(Job& job, const Record::Counters& counters);
  void ApplyState(Job& job, const Record& record);
  void ApplySeen(const Record& record);
  void ApplyFate(Job& job, const Record& record);
  void ApplySettings(const Record& record);
  void NoteBegin(Time end, std::uint32_t seconds);
  void ShortenTimes(Time now);

  JobStore& store_;
  BadEnds& bad_ends_;
  Operating& operating_;
  Schedules& schedules_;
  Transfers& transfers_;
  Time newest_ = 0;  // the latest time at which a delay or a pause read back was begun
};

}  // namespace gearstalk
