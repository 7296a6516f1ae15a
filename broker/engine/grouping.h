#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/engine/bodies.h"
#include "broker/engine/groups.h"
#include "broker/engine/job.h"
#include "broker/engine/tube.h"
#include "broker/journal/record.h"

namespace gearstalk {

class JobStore;

// Jobs come into groups and leave them; a changed policy is followed job by job. Part of the store.
//
// A job of a tube with groups is in one of them, in any state. A dead one is also in that of the
// tube that it came from, its home.
class Grouping {
 public:
  explicit Grouping(JobStore& store);

  static bool IsGrouped(const Job& job) {
    return job.place.group() != nullptr || job.tube().groups() != nullptr;
  }
  // Its tube has other groups since it came, or it has just come.
  static bool HasOldPlace(const Job& job) { return job.place.groups() != job.tube().groups(); }
  // A line gives up its first job or one that was set aside, and none while one is reserved.
  static bool MayLeaveLine(const Job& job);
  // The name of the line that the job leaves for another tube, empty if it is not read yet;
  // nothing: it is in none.
  static std::optional<std::string> LineOf(const Job& job);
  // Whether a new job may come into its group.
  static Code Admits(const Tube& tube, const Job& job);
  // A job has come; many in a row without a group are worth a word in the log.
  static void NoteMissing(Tube& tube, const Job& job);

  // A job in no state comes into a group of its tube, which has groups.
  static void Join(Job& job, Group& group);
  // A job in no state, or one that its old group counts no more, leaves that group and comes into
  // the one that its tube has for it now.
  void Rejoin(Job& job);
  // A job in no state leaves its group, if it is in one.
  static void Part(Job& job);
  // A job has entered a state, or leaves one: it counts in its group there.
  void EnterState(Time now, Job& job);
  void LeaveState(Job& job);
  void SetHome(Job& job, Group& home);
  void ForgetHome(Job& job) {
    if (job.texts() != nullptr && job.texts()->home != nullptr) LeaveHome(job);
  }
  // For a dead job without a home. `known` is what a record says of it.
  void FindHome(Job& job, const Record::Group& known);

  // Nobody sees the next job of its line before this is durable: a job of it ended, or came from
  // elsewhere.
  void HoldLine(const Job& job, Lsn lsn) {
    ended_ = std::max(ended_, lsn);
    Groups* const groups = job.tube().groups();
    if (groups == nullptr || !groups->lines()) return;
    groups->NoteEnd(HasOldPlace(job) ? nullptr : GroupOf(job), lsn);
  }
  void HoldLine(Tube& tube, const std::optional<std::string>& line, Lsn lsn);

  // The policy of a tube is another. Where its groups are others, its jobs follow in slices, by id.
  // Until it was looked at, a job is not given.
  void Follow(Tube& tube);
  // Names still come from the disk after a start: lines, and groups that a failure may hold, give
  // nothing until theirs are known.
  void AwaitNames();
  // Looks at up to so many jobs. Returns when to call it again; kNever: there is nothing to do, or
  // it waits for a body.
  Time Read(Time now, std::size_t jobs);
  // The tube's front may be another; other groups may give now, or will later by themselves.
  void NoteGroups(Tube& tube);
  // Groups without jobs whose bucket is full are forgotten, at most `steps`.
  void ForgetIdle(Time now, int& steps);

 private:
  Group& GroupIn(Groups& groups, const Job& job);
  void LeaveHome(Job& job);
  void BeginWalk(Tube& tube);
  void EndWalk();
  void DropRetired();
  void ReadJob(Time now, Job& job);
  bool FollowsByBody(const Job& job) const;
  bool ReadNames(Time now, std::size_t& jobs);

  JobStore& store_;
  // Jobs that follow a changed policy into other groups, and the groups that they were in.
  struct Walk {
    bool active = false;
    bool closing = false;                   // first those that may close their groups, then all
    JobId at = 0;                           // looked at, with all below
    std::vector<std::uint64_t> tubes = {};  // that follow, by id
    std::vector<GroupsPtr> retired = {};
  } walk_;
  std::deque<JobId> unread_;  // jobs whose group is named in a body that has left memory
  BodyQuery name_query_;
  Lsn ended_ = 0;  // the last record that a job ended or left its tube
};

}  // namespace gearstalk
