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
#include "broker/engine/job.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

class JobStore;
class Tube;

// Changes as records of the journal. Part of the store.
//
// A verb changes the state and then appends what the state is now. A replay meets the records of a
// job in their order, but those that were carried forward may come again and late: the newer one
// counts, and a record of a job that is gone says nothing. LiveRecords applies them.
class Records {
 public:
  explicit Records(JobStore& store) : store_(store) {}

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
  // Tubes whose settings the journal knows, by id.
  std::set<std::uint64_t>& tubes() { return tubes_; }
  // The tube goes.
  void Forget(const Tube& tube);
  // Their settings as records; those that are back to the configuration's leave the list.
  void CaptureTubes(const std::function<void(const Record&)>& emit);
  void Fill(const Job& job, Record& record) const;

  // A put whose record is under way.
  void NoteUnsynced(JobId id, Lsn lsn);
  // What has to be durable before anybody may hear of the put; 0: nothing.
  Lsn PutLsn(JobId id) const { return unsynced_puts_.empty() ? 0 : FindUnsynced(id); }
  // The journal has failed. Visits the jobs whose puts were never durable.
  void TakeUndurable(Lsn durable, const std::function<void(Job&)>& visit);

  // From the first record that is applied to the end of the replay.
  bool replaying() const { return replaying_; }
  void BeginReplay() { replaying_ = true; }
  void EndReplay();
  // Buried jobs find their place by burial, as a replay meets burials in another order than they
  // happened. Only while it replays. InsertBuried: the job before which it stands; nullptr: it is
  // the last.
  Job* InsertBuried(Job& job);
  void RemoveBuried(const Job& job) { burials_.erase(BurialKeyOf(job)); }

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
  static void FillFailure(const Job& job, Record& record);
  Lsn FindUnsynced(JobId id) const;

  JobStore& store_;
  bool replaying_ = false;
  absl::btree_map<BurialKey, Job*> burials_;
  std::set<std::uint64_t> tubes_;
  Lsn settings_lsn_ = 0;
  std::deque<UnsyncedPut> unsynced_puts_;  // by id; those that are durable go with the next put
};

}  // namespace gearstalk
