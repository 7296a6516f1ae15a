#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/time_histogram.h"
#include "broker/engine/acts.h"
#include "broker/engine/bad_ends.h"
#include "broker/engine/bodies.h"
#include "broker/engine/consumer.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/expiries.h"
#include "broker/engine/failures.h"
#include "broker/engine/groups.h"
#include "broker/engine/id_table.h"
#include "broker/engine/idle_functions.h"
#include "broker/engine/job.h"
#include "broker/engine/job_ids.h"
#include "broker/engine/job_observer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/pace.h"
#include "broker/engine/pauses.h"
#include "broker/engine/records.h"
#include "broker/engine/retention.h"
#include "broker/engine/schedules.h"
#include "broker/engine/seen_keys.h"
#include "broker/engine/slab.h"
#include "broker/engine/transfers.h"
#include "broker/engine/tube.h"
#include "broker/engine/tube_policies.h"
#include "broker/engine/unique_index.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// The queue. One thread, no clock: everything that depends on time takes `now`, and Tick does what
// is due. Every verb checks, changes a job, appends the record of that to the journal, and then
// serves the waiting consumers of the tube that it touched. Verbs have the names that
// beanstalk or Gearman give them; docs/semantics.md says what each does to a job.
//
// A verb costs O(1) or O(log n) in the jobs of a tube. Nothing here walks all tubes, jobs,
// consumers or waiters, except where a comment says so.
class Engine {
 public:
  // How many jobs, watches, waits or tubes one call handles, for the verbs that work in slices.
  static constexpr std::size_t kSlice = 512;

  Engine(EngineOptions options, Journal& journal);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // At any time; all but `normal_to` may change.
  void SetOptions(const EngineOptions& options);
  const EngineOptions& options() const { return options_; }
  void SetLimits(EngineLimits limits);
  const EngineLimits& limits() const { return limits_; }
  // The memory limit is reached, and no job is taken: a session that receives a body discards it
  // and calls RefuseBody.
  bool MemoryFull() const {
    if (memory_short_) return true;
    if (limits_.memory == 0) return false;
    // A body that may leave is no reason.
    const std::size_t stays = JobMemory() - bodies_.movable_bytes();
    return stays + TableMemory() + memory_beside_ > limits_.memory;
  }
  // `beside`: bytes that the server holds for clients. `is_short`: allocations have failed.
  void NoteMemory(std::size_t beside, bool is_short) {
    memory_beside_ = beside;
    memory_short_ = is_short;
  }
  Code RefuseBody() { return CountRefused(Code::kOutOfMemory); }

  // --- Connections -------------------------------------------------------------------------------
  void Join(Consumer& consumer);
  // Gives back its reservations (each counts a lost try) and ends its waits and watches, a bounded
  // number of steps a call. False: there is more, call again. Does nothing for a consumer that has
  // not joined.
  bool Leave(Time now, Consumer& consumer);
  // kTooManyTubes if the tube would exceed the limit of tubes. Watch does likewise, and says
  // kOutOfMemory if there are too many watches.
  Code Use(Consumer& consumer, std::string_view tube);
  // Idempotent. `able` counts the consumer as one of the tube's workers at once (Gearman's CAN_DO);
  // otherwise it counts from its first reservation on. `run_limit` is CAN_DO_TIMEOUT, 0 = none.
  Code Watch(Time now, Consumer& consumer, std::string_view tube, bool able = false,
             Time run_limit = 0);
  // kNotIgnored for the last one, unless `may_be_last`.
  Code Ignore(Time now, Consumer& consumer, std::string_view tube, bool may_be_last = false);
  // Gearman's CANT_DO: Ignore, and what it runs of that function goes back. A bounded number of
  // steps a call, as ResetAbilities; false: there is more, call again.
  bool CantDo(Time now, Consumer& consumer, std::string_view tube);
  bool ResetAbilities(Time now, Consumer& consumer);

  // --- Producing ---------------------------------------------------------------------------------
  // Put and Submit begin with it. A session calls it for a job that it refuses itself.
  void CountAsProducer(Consumer& consumer) {
    totals_.producers += !std::exchange(consumer.producer_, true);
  }
  // beanstalk's put into the used tube. `job` has priority, ttr_s, delay_s and its body set.
  // A tube "$reply/<id>" sends the body to the waiters of the job that the consumer holds instead.
  //
  // Whoever gives `compared` looks at Waits afterwards: the job is still his then. Without it a job
  // whose body is in the journal alone is equal if the hash is.
  Added Put(Time now, Consumer& producer, JobPtr&& job, ComparisonPtr* compared = nullptr);
  // Gearman's submit. A job with the same key in the tube that is not finished is joined instead.
  Added Submit(Time now, Consumer& producer, JobPtr&& job, const Submission& submission,
               ComparisonPtr* compared = nullptr);
  // The observer's connection is gone: ends its waits. Foreground jobs that nobody waits for and
  // nobody runs disappear. A bounded number of steps a call; false: there is more, call again.
  bool Forget(JobObserver& observer);

  // --- Taking ------------------------------------------------------------------------------------
  // beanstalk's reserve: takes the most urgent ready job, or waits until `deadline` (kNever: for
  // ever; <= now: not at all), or says why it cannot. kTaken fills `taken`.
  ReserveResult Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken);
  Taken ReserveJob(Time now, Consumer& consumer, JobId id);
  // Gearman's GRAB_JOB: takes or not, never waits; ends a sleep.
  Taken Grab(Time now, Consumer& consumer);
  // Gearman's PRE_SLEEP: OnJobsAvailable is called at once if there is work, else when there is.
  void Sleep(Time now, Consumer& consumer);
  // The consumer has got the job, whose body it had to wait for: its limits begin.
  void Given(Time now, Consumer& consumer, JobId id);
  // Ends a wait without an answer (half-closed connection).
  void StopWaiting(Consumer& consumer) { dispatch_.EndWait(consumer); }

  // --- By the holder (Delete: also by anybody for a job that nobody holds)
  Outcome Delete(Time now, Consumer& consumer, JobId id);
  Outcome Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                  std::uint32_t delay_s);
  Outcome Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority);
  Outcome Touch(Time now, Consumer& consumer, JobId id);
  Outcome WorkProgress(Time now, Consumer& consumer, JobId id, const Progress& progress);
  Outcome WorkComplete(Time now, Consumer& consumer, JobId id, const ReportData& result);
  Outcome WorkFail(Time now, Consumer& consumer, JobId id);
  Outcome WorkException(Time now, Consumer& consumer, JobId id, const ReportData& text);

  // --- Administration ----------------------------------------------------------------------------
  // Removes a job in any state, and tells its waiters that it failed.
  Outcome Cancel(Time now, JobId id);
  // Up to `bound` jobs of the used tube: buried ones in burial order if there are any, else delayed
  // ones by due time. O(bound log n): a caller with a large bound calls it in slices, and passes
  // `from`, which the first slice sets, to the next ones.
  Kicked Kick(Time now, Consumer& consumer, std::uint64_t bound, std::optional<KickFrom>& from);
  Outcome KickJob(Time now, JobId id);
  Outcome Pause(Time now, std::string_view tube, std::uint32_t seconds);
  Outcome CreateFunction(std::string_view tube);
  Outcome DropFunction(std::string_view tube);  // kInUse while it has workers or unfinished jobs
  // Makes the tube, which stays as long as its limit differs from that of EngineLimits. Only such a
  // limit outlives a restart.
  Outcome SetMaxQueue(std::string_view tube, const MaxQueue& limits);
  // Parts with headers of their own.
  TubePolicies& policies() { return policies_; }
  const TubePolicies& policies() const { return policies_; }
  Acts& acts() { return acts_; }
  Bodies& bodies() { return bodies_; }
  Schedules& schedules() { return schedules_; }
  const Schedules& schedules() const { return schedules_; }
  Transfers& transfers() { return transfers_; }
  const Transfers& transfers() const { return transfers_; }
  Time WallTime(Time now) const;
  // How far the wall clock is ahead of the time that verbs are given. Jobs that were submitted for
  // a time of the wall clock follow it. O(jobs): called when somebody has set the clock.
  void SetWallAhead(Time ahead);
  Time wall_ahead() const { return wall_ahead_; }
  void SetDraining(bool draining) { draining_ = draining; }
  // The broker ends: from now on consumers give back what they hold without losing a try.
  void Stop() { stopping_ = true; }
  bool draining() const { return draining_; }

  // --- Questions ---------------------------------------------------------------------------------
  // The first `bound` jobs of a tube in a state, in the order in which they leave it. Tubes do not
  // list reserved jobs. O(bound log bound).
  void VisitNext(const Tube& tube, JobState state, std::size_t bound,
                 const std::function<void(const Job&)>& visit) const;
  MaxQueue ConfiguredMaxQueue(std::string_view tube) const;
  const Job* Find(JobId id) const { return jobs_.Find(id); }
  // A job with this key in one of the kSlice tubes after tube `last`, which it moves along; begin
  // with 0. nullptr: none there, and none in any tube if `last` is 0 again.
  const Job* FindUnique(std::string_view unique, std::uint64_t& last) const;
  const Tube* FindTube(std::string_view name) const { return tubes_.Find(name); }
  // In the order of creation; begin with 0. For walks in slices: a cursor stays valid across
  // changes.
  const Tube* NextTube(std::uint64_t after) const { return tubes_.Next(after); }
  const Job* NextJob(JobId after) const { return jobs_.Next(after); }
  // How often a job that was there before came into another tube. If it changed during a walk by
  // id, the walk may have missed such a job.
  std::uint64_t moves() const { return moves_; }
  // All ids that were given out are lower.
  JobId next_id() const { return ids_.next(); }
  const Failures& failures() const { return failures_; }
  EngineStats Stats() const;
  // How long consumers waited for each job they got; 0 if it was there. A sleeping worker's wait
  // ends when it is woken.
  const TimeHistogram& waits() const { return waits_; }
  // How old jobs were when a consumer got them; a job that comes back counts each time.
  const TimeHistogram& ages() const { return ages_; }
  // Whether `status` lists it: it has unfinished jobs, a worker, a waiting consumer, or was
  // created.
  bool Listed(const Tube& tube) const;
  // The functions without jobs and workers that gearmand would list, too.
  const IdleFunctions& idle_functions() const { return idle_functions_; }
  // O(n) in the waiting consumers of many tubes, or in such watchers of this tube if they are
  // fewer.
  std::size_t Waiting(const Tube& tube) const { return dispatch_.line().Count(tube); }
  std::size_t Waiters(const Job& job) const;  // O(n) in the different ones
  // default_ttr_s where it has none
  std::uint32_t TtrSeconds(const Job& job) const {
    return job.ttr_s > 0 ? job.ttr_s : options_.default_ttr_s;
  }
  // Until a delayed job is due or a reservation ends; 0 in other states or without an end.
  Time TimeLeft(Time now, const Job& job) const;
  Time PauseLeft(Time now, const Tube& tube) const;
  Band BandOf(std::uint32_t priority) const {
    if (priority < kNormalFrom) return Band::kHigh;
    return priority <= options_.normal_to ? Band::kNormal : Band::kLow;
  }
  const Journal& journal() const { return journal_; }
  // Steps so far of the loops that a caller cannot bound: over waiters, watchers, held jobs. A
  // session that has caused many lets others go first.
  std::uint64_t effort() const { return effort_; }

  // --- Time --------------------------------------------------------------------------------------
  // Does what is due, a bounded number of steps a call. Returns when to call it again: `now` if
  // more is due, kNever if nothing will be.
  Time Tick(Time now);

  // --- Durability --------------------------------------------------------------------------------
  // For the journal, which replays them and carries them forward.
  Records& records() { return records_; }
  // The journal has failed for good: removes the jobs that are not durable, whose producers were
  // not answered, unless a client waits for their end.
  void DropUndurable();

  // For tests: recounts everything that the engine counts, and names the first difference; empty:
  // there is none. O(n) in everything.
  std::string CheckInvariants(const std::vector<const Consumer*>& consumers) const;

 private:
  friend class Acts;
  friend class BadEnds;
  friend class Dispatch;
  friend class Expiries;
  friend class Pace;
  friend class Pauses;
  friend class Records;
  friend class Retention;
  friend class Schedules;
  friend class Transfers;
  friend class TubePolicies;
  // engine_check.cc
  class Audit;

  // engine_apply.cc
  void Insert(JobPtr&& job, Tube& tube);
  void TakeKey(Job& job) {
    if (OwnsKey(job)) uniques_.Insert(job);
  }
  void FreeKey(Job& job) {
    if (OwnsKey(job)) uniques_.Remove(job);
  }
  // A job has its key while it is unfinished. JobExtra::key_free: not even then.
  static bool OwnsKey(const Job& job) { return UniqueIndex::HasKey(job) && !job.extra().key_free; }
  void MoveTo(Job& job, Tube& tube, std::string_view origin);
  void CountQueued(const Job& job, int change) {
    job.tube_->queued_by_band_[static_cast<std::size_t>(BandOf(job.priority))] +=
        static_cast<std::uint32_t>(change);
  }
  void EnterRest(Job& job);
  void LeaveRest(Job& job);
  void EnterReady(Job& job);
  void EnterDelayed(Job& job, Time due);
  void EnterBuried(Job& job, std::uint64_t burial);
  void EnterReserved(Time now, Time deadline, Job& job, Consumer& consumer);
  void LeaveState(Job& job);
  void Erase(Job& job);
  // 0: no record, as the job is not durable or nothing is kept.
  Lsn Append(const Job& job, Record::Kind kind, Records::Beside beside = {}) {
    return persistent_ && job.durable_ ? records_.Append(job, kind, beside) : 0;
  }

  // engine_tubes.cc
  // Somebody has left the tube, or a job has: it goes if it was the last.
  void ReleaseTube(Tube& tube) {
    if (tube.using_ == 0 && tube.watching_ == 0) EraseIfEmpty(tube);
  }
  void EraseIfEmpty(Tube& tube);
  void RemoveWatch(Consumer& consumer, WatchEntry& watch);
  void CountAsWorker(Consumer& consumer) {
    if (!std::exchange(consumer.worker_, true)) CountNewWorker(consumer);
  }
  void CountNewWorker(Consumer& consumer);

  void Count(Tube& tube, std::uint64_t JobCounts::*what) {
    ++(tube.*what);
    ++(totals_.*what);
  }

  // engine.cc
  MaxQueue ConfiguredMaxQueue(const Tube& tube) const;
  TubeSettings OwnSettings(const Tube& tube) const;
  Tube& MakeTube(std::string_view name);
  Tube& TubeNamed(std::string_view name);
  Tube* TubeForUse(std::string_view name);
  // Tubes, watches and waiters have used up their share of the memory. Only the few that an
  // ordinary client needs are still made.
  bool TablesFull() const {
    return limits_.memory > 0 && TableMemory() > limits_.memory / EngineLimits::kTableShare;
  }

  void CountPolicy(Tube& tube, std::uint64_t PolicyCounts::*what) {
    ++(tube.MakeState().counts.*what);
    ++(totals_.*what);
  }

  // engine_produce.cc
  Code CountRefused(Code code);
  Added Refused(Code code) { return {CountRefused(code)}; }
  bool Full(const Tube& tube, std::uint32_t priority) const;
  bool AcceptsWhole(std::uint64_t body) const;
  Code AcceptsNew(std::uint64_t body) const;
  Code AdmitsJob(Tube& tube, const Job& job);
  // How a new job comes.
  struct Arrival {
    Time due = 0;
    JobObserver* waiter = nullptr;
    const Record::Schedule* schedule = nullptr;  // that made it
    ComparisonPtr* compared = nullptr;
    Consumer* producer = nullptr;
  };
  Added Add(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  Added Admit(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  static bool MakeKey(JobPtr& job, const Policy& policy);
  UniqueIndex::Match FindMatch(const Job& job, const Tube& tube, const Comparison* compared) const;
  bool HasToCompare(const Job& job, const Tube& tube, const Arrival& arrival);
  std::optional<Added> FindEqual(Time now, const Job& job, Tube& tube, const Arrival& arrival);
  struct Copy {
    Tube* to;
    JobPtr job;
  };
  Code MakeCopies(const Job& job, const Tube& tube, std::vector<Copy>& copies);
  Code AdmitCopies(Time now, std::vector<Copy>& copies, const Arrival& arrival);
  void DropCopies(std::vector<Copy>& copies);
  Added EnqueueAndCopy(Time now, JobPtr&& job, Tube& tube, const Arrival& arrival);
  Added Enqueue(Time now, JobPtr&& owned, Tube& tube, const Arrival& arrival);
  Added Reply(Time now, Consumer& producer, JobPtr job);
  Added JoinJob(Job& job, JobObserver* waiter);
  void AddWaiter(Job& job, JobObserver& observer);
  void DropWaiters(Job& job);
  // Those who wait for the job, if there are any.
  void Tell(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn) {
    if (job.OwnRest() != nullptr && !job.OwnRest()->waiters.empty()) {
      TellWaiters(job, kind, data, lsn);
    }
  }
  void TellWaiters(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn);

  // engine_groups.cc
  static bool IsGrouped(const Job& job) {
    return job.tube_.group() != nullptr || job.tube_->groups_ != nullptr;
  }
  // Its tube has other groups since it came, or it has just come.
  static bool HasOldPlace(const Job& job) { return job.tube_.groups() != job.tube_->groups_.get(); }
  Code AdmitsToGroup(const Tube& tube, const Job& job) const;
  static void NoteMissing(Tube& tube, const Job& job);
  static void JoinGroup(Job& job, Group& group);
  Group& GroupIn(Groups& groups, const Job& job);
  void Rejoin(Job& job);
  void LeaveGroup(Job& job);
  void EnterGroup(Time now, Job& job);
  void LeaveGroupState(Job& job);
  void NoteGroups(Tube& tube);
  void SetHome(Job& job, Group& home);
  void ForgetHome(Job& job) {
    if (job.texts() != nullptr && job.texts()->home != nullptr) LeaveHome(job);
  }
  void LeaveHome(Job& job);
  void FindHome(Job& job, const Record::Group& known);
  // Nobody sees the next job of its line before this is durable: a job of it ended, or came from
  // elsewhere.
  void HoldLine(const Job& job, Lsn lsn) {
    ended_ = std::max(ended_, lsn);
    Groups* const groups = job.tube_->groups_.get();
    if (groups == nullptr || !groups->lines()) return;
    groups->NoteEnd(HasOldPlace(job) ? nullptr : GroupOf(job), lsn);
  }
  // A line gives up its first job or one that was set aside, and none while one is reserved.
  static bool MayLeaveLine(const Job& job);
  static std::optional<std::string> LineOf(const Job& job);
  void HoldLine(Tube& tube, const std::optional<std::string>& line, Lsn lsn);
  void FollowGroups(Tube& tube);
  void BeginGroupWalk(Tube& tube);
  void AwaitNames();
  void ReadGroup(Time now, Job& job);
  bool FollowsByBody(const Job& job) const;
  bool ReadNames(Time now, std::size_t& jobs);
  Time ReadGroups(Time now, std::size_t jobs);
  void EndGroupWalk();
  void DropRetiredGroups();
  void ForgetIdleGroups(Time now, int& steps);

  // engine_consume.cc
  Taken Take(Time now, Job& job, Consumer& consumer);
  Time BeginLimits(Time now, Job& job, Consumer& consumer);
  Job* HeldBy(const Consumer& consumer, JobId id) const;
  bool Accepts(const Job& job, Record::Kind kind) const;
  void RestartTtr(Time now, Job& job);
  Lsn AppendEnd(const Job& job, Finish::Kind kind);
  Lsn Finished(Job& job, Finish::Kind kind, const ReportData& data);
  void EndRunLimits(Consumer& consumer);
  void GiveBackAll(Time now, std::vector<Job*> jobs, BadEnd how);
  void GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, BadEnd how);

  // What has to be durable before anybody may hear of the job.
  Lsn VisibleFrom(const Job& job) const {
    return job.durable_ ? records_.PutLsn(job.id_) : ids_.lsn();
  }

  // engine_admin.cc
  Lsn KickOne(Time now, Job& job);
  void KickWhole(Time now, JobId id);
  Kicked KickTube(Time now, Tube& tube, std::uint64_t bound, std::optional<KickFrom>& from);

  // engine_tick.cc
  void ArmTube(Tube& tube);
  void ArmConsumer(Consumer& consumer);
  void TubeDue(Time now, Tube& tube, int& steps);
  void ConsumerDue(Time now, Consumer& consumer, int& steps);

  // beanstalk's safety margin before the end of a TTR.
  static constexpr Time kSafetyMargin = kSecond;

  EngineOptions options_;
  EngineLimits limits_;
  Journal& journal_;
  const bool persistent_;
  bool draining_ = false, stopping_ = false;
  Time started_ = 0;  // first Tick
  Time ticked_ = 0;   // last

  IdleGroups idle_groups_;
  // Jobs that follow a changed policy into other groups, and the groups that they were in.
  struct GroupWalk {
    bool active = false;
    bool closing = false;                   // first those that may close their groups, then all
    JobId at = 0;                           // looked at, with all below
    std::vector<std::uint64_t> tubes = {};  // that follow, by id
    std::vector<std::unique_ptr<Groups, DeleteGroups>> retired = {};
  } group_walk_;
  Lsn ended_ = 0;  // the last record that a job ended or left its tube
  TubeTable tubes_;
  IdleFunctions idle_functions_;
  IdTable<Job> jobs_;
  Bodies bodies_{jobs_, journal_};
  std::deque<JobId> unread_;  // jobs whose group is named in a body that has left memory
  BodyQuery name_query_{bodies_};
  Failures failures_{jobs_};
  UniqueIndex uniques_;
  WaiterIndex waiters_;
  SeenKeys seen_{journal_};
  JobIds ids_{journal_};
  std::uint64_t next_burial_ = 1;
  std::uint64_t moves_ = 0;

  mutable std::uint64_t effort_ = 0;
  Deadlines deadlines_;
  Time wall_ahead_ = 0;
  std::size_t memory_beside_ = 0;
  bool memory_short_ = false;

  Records records_{*this};
  Dispatch dispatch_;
  Pauses pauses_{*this};
  BadEnds bad_ends_{*this};
  Retention retention_{*this};
  TubePolicies policies_{*this};
  Pace pace_{*this};
  Expiries expiries_{*this};
  Schedules schedules_{*this};
  Transfers transfers_{*this};
  Acts acts_{*this};

  EngineStats totals_;
  TimeHistogram waits_, ages_;
};

// Tubes whose jobs are answers to jobs, which the engine always takes.
inline constexpr std::string_view kReplyPrefix = "$reply/";
inline bool TakesAnswers(std::string_view tube) { return tube.starts_with(kReplyPrefix); }
inline bool PutsAnswers(const Consumer& producer) { return TakesAnswers(producer.used()->name()); }

// nullptr: there is none.
inline const Tube* TubeOfId(const Engine& engine, std::uint64_t id) {
  const Tube* const tube = engine.NextTube(id - 1);
  return tube != nullptr && tube->id() == id ? tube : nullptr;
}

}  // namespace gearstalk
