#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/engine/bodies.h"
#include "broker/engine/job.h"
#include "broker/journal/record.h"
#include "broker/transfer/mark.h"

namespace gearstalk {

class Dispatch;
class JobStore;
class LiveRecords;
class Tube;

// Jobs that move in or out: whole puts, the marks of transfers, and held jobs. It stands above the
// engine.
//
// A held job is durable, in no queue and no count, and unseen by every client:
//
//   a job of a source --Hold-----+--> phase 1: the source --Confirm--> phase 2: the source
//   a job of ours ----HoldBack---+    still has it                     is about to give it up
//                                          |                                |
//            Commit: it appears in its     +---------------+----------------+
//            state, at its place by id  <------------------+--------> Drop: it is gone
//
// A mark says how far a transfer has come. A put and the advance of its mark are one record.
class Transfers {
 public:
  // They outlive its last use.
  Transfers(JobStore& store, Dispatch& dispatch, LiveRecords& records)
      : store_(store), dispatch_(dispatch), records_(records) {}
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();

  struct Change {
    Code code = Code::kOk;
    JobId id = 0;  // of the job put or held; 0: it joined another, or was refused for good
    Lsn lsn = 0;
    bool ok() const { return code == Code::kOk; }
  };
  struct Held {
    OwnedRecord record;
    std::string transfer;
    std::size_t memory;  // as JobMemory counts it
  };

  // nullptr: no transfer has this name.
  const transfer::Mark* Find(std::string_view name) const;
  // Whether the broker has given out no id from `smallest` on; `next` is above all ids of the
  // source.
  bool CanKeepIds(std::uint64_t smallest, std::uint64_t next) const;
  // Makes the mark. `next_id`: ids below are taken from now on; `burials`: so are burial numbers.
  Change Begin(std::string_view name, transfer::Mark mark, std::uint64_t next_id,
               std::uint64_t burials);
  Change Advance(std::string_view name, transfer::Mark change);
  // Somebody puts jobs of a transfer, or of one after the other; Release when he is gone. Until all
  // are, jobs that come buried take the places that their source gave them.
  void Use() { ++users_; }
  void Release();

  // A job with every field of `job`; id 0: a new one. `change` goes with it into the mark. A job
  // whose key a live job has joins it, one whose id a live job has is refused: in the mark, too.
  // There `key` names it. `compared` is as in Engine::Put. A change that settles another job than
  // the next one is kNotIgnored; a job that no journal stores is kInvalid, as in Hold.
  Change Put(Time now, std::string_view name, const Record& job, std::string_view key,
             transfer::Mark change, ComparisonPtr* compared = nullptr);
  // `job.held` is the phase.
  Change Hold(std::string_view name, const Record& job);
  Change Confirm(std::string_view name, JobId id);  // phase 2
  Change Commit(Time now, std::string_view name, JobId id, ComparisonPtr* compared = nullptr);
  Change Drop(std::string_view name, JobId id);
  // A job of ours that nobody has reserved, that its line gives up, and whose body is in memory,
  // becomes a held job of the transfer, in phase 1.
  Change HoldBack(std::string_view name, JobId id);
  // Ids below it are taken.
  Change RaiseNextId(JobId id);
  // Settings of a tube; those that are left out stay.
  Change SetTube(const Record& settings);
  // kInUse while the transfer has held jobs.
  Change Forget(std::string_view name);

  // A job as a put record has it, and the settings of a tube that are its own.
  void Describe(const Job& job, Record& record) const;
  TubeSettings SettingsOf(const Tube& tube) const;

  // Walks: by id, and by name ("" first). nullptr: no more.
  const Held* NextHeld(JobId after) const;
  const transfer::Mark* NextMark(std::string& name) const;
  std::size_t held() const { return held_.size(); }
  std::size_t HeldOf(std::string_view name) const;

  // Replay and compaction: what concerns held jobs and marks.
  // True: the record is done with. False: it is the engine's, too.
  bool Apply(const Record& record);
  bool Capture(JobId id, const std::function<void(const Record&)>& emit) const;
  void CaptureMarks(const std::function<void(const Record&)>& emit) const;
  // Held jobs that a replay has kept without their bodies; OnBody brings them, and those of jobs
  // that are not held.
  std::vector<JobId> MissingBodies() const;
  void OnBody(JobId id, std::string_view body);
  // The first difference between what is kept here and the jobs, or "".
  std::string Check() const;

 private:
  Code Admits(const Record& job) const;
  bool IsTaken(JobId id) const;
  Lsn AppendMark(std::string_view name, const transfer::Mark& mark);
  Change Refuse(std::string_view name, const Record& job, transfer::Mark change,
                std::string_view key, transfer::OutcomeKind kind, std::string text);
  Job* Known(const Record& job, ComparisonPtr* compared) const;
  bool LacksGroup(const Record& job);
  void PlaceBuried(Job& job);
  void Appear(Time now, const Record& record, Lsn lsn);
  std::map<JobId, Held>::iterator FindHeld(std::string_view name, JobId id);
  void Keep(JobId id, const Record& record, std::string_view name);
  // False: there is none.
  bool Lose(std::map<JobId, Held>::iterator held);
  void ApplyMark(const Record::Transfer& of);
  bool ApplyPut(const Record& record);
  bool ApplyChange(const Record& record);
  void TakeOut(Job& job, std::string_view name, Record::Held phase);

  JobStore& store_;
  Dispatch& dispatch_;
  LiveRecords& records_;
  std::map<std::string, transfer::Mark, std::less<>> marks_;
  std::map<JobId, Held> held_;
  std::map<std::string, std::size_t, std::less<>> held_of_;  // transfers that hold jobs
  std::size_t users_ = 0;
  // Buried jobs of the running transfers, by tube and order of burial: they come in order of id.
  absl::btree_map<std::pair<std::uint64_t, std::uint64_t>, JobId> imported_burials_;
};

}  // namespace gearstalk
