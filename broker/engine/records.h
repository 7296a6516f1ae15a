#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/engine/job.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

class Engine;
class Tube;

// Changes as records of the journal, and records as changes. Part of the engine.
//
// A verb changes the state and then appends what the state is now. A replay meets the records of a
// job in their order, but those that were carried forward may come again and late: the newer one
// counts, and a record of a job that is gone says nothing.
class Records final : public LiveState {
 public:
  explicit Records(Engine& engine) : engine_(engine) {}

  // What a record says beside the state of its job.
  struct Beside {
    bool moved = false;                          // the job has changed its tube
    const Record::Schedule* schedule = nullptr;  // that made it
  };
  // The change that a durable job has just had.
  Lsn Append(const Job& job, Record::Kind kind, Beside beside);
  Lsn AppendSettings(const Tube& tube);
  // Of the last settings of any tube.
  Lsn settings_lsn() const { return settings_lsn_; }
  // A put whose record is under way.
  void NoteUnsynced(JobId id, Lsn lsn);
  // What has to be durable before anybody may hear of the put; 0: nothing.
  Lsn PutLsn(JobId id) const { return unsynced_puts_.empty() ? 0 : FindUnsynced(id); }
  // The journal has failed. Visits the jobs whose puts were never durable.
  void TakeUndurable(Lsn durable, const std::function<void(Job&)>& visit);
  // The tube goes.
  void Forget(const Tube& tube);

  void Fill(const Job& job, Record& record) const;
  bool Capture(JobId id, const std::function<void(const Record&)>& emit) override;
  void CaptureSettings(const std::function<void(const Record&)>& emit) override;
  std::uint32_t BodyLeftOut(JobId id) const override;
  bool RestsDamaged(JobId id) const override;
  bool TakesBodiesLater() const override;
  std::vector<JobId> MissingBodies() const override;
  void OnBody(JobId id, const BodyRead& read) override;

  // records_apply.cc
  Status Apply(const Record& record) override;
  void ApplyPut(const Record& record);
  // Once, when everything was applied and before any verb: O(tubes with settings), or O(jobs) if
  // the clock is behind the times in the records: then no delay and no pause is longer from now on
  // than what was asked for. Delayed jobs that became due meanwhile get ready at the first Tick.
  void BecomeActive(Time now);
  bool replaying() const { return replaying_; }
  // Buried jobs find their place by burial, as a replay meets burials in another order than they
  // happened. Only while it replays.
  void InsertBuried(Job& job);
  void RemoveBuried(const Job& job);

 private:
  // Of the tube, the burial, and the job.
  using BurialKey = std::tuple<std::uint64_t, std::uint64_t, JobId>;
  static BurialKey BurialKeyOf(const Job& job);
  struct UnsyncedPut {
    JobId job;
    Lsn lsn;
    bool operator<(JobId id) const { return job < id; }
  };

  static Record::Group RecordOf(const GroupHead* group);
  static void FillGroups(const Job& job, Record& record);
  void JoinRecorded(Job& job, const Record& record);
  static void FillFailure(const Job& job, Record& record);
  Lsn FindUnsynced(JobId id) const;
  void ApplyOfJob(const Record& record);
  static void ApplyCounters(Job& job, const Record::Counters& counters);
  void ApplyState(Job& job, const Record& record);
  void ApplySeen(const Record& record);
  void ApplyFate(Job& job, const Record& record);
  void ApplySettings(const Record& record);
  void NoteBegin(Time end, std::uint32_t seconds);
  void ShortenTimes(Time now);

  Engine& engine_;
  bool replaying_ = false;  // from the first Apply to BecomeActive
  Time newest_ = 0;         // the latest time at which a delay or a pause read back was begun
  absl::btree_map<BurialKey, Job*> burials_;  // while it replays
  std::set<std::uint64_t> tubes_;             // those whose settings the journal knows, by id
  Lsn settings_lsn_ = 0;
  std::deque<UnsyncedPut> unsynced_puts_;  // by id; those that are durable go with the next put
};

}  // namespace gearstalk
