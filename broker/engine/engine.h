#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/time_histogram.h"
#include "broker/base/wall_clock.h"
#include "broker/engine/acts.h"
#include "broker/engine/consumer.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/expiries.h"
#include "broker/engine/id_table.h"
#include "broker/engine/idle_functions.h"
#include "broker/engine/job.h"
#include "broker/engine/job_ids.h"
#include "broker/engine/job_observer.h"
#include "broker/engine/limits.h"
#include "broker/engine/outcome.h"
#include "broker/engine/pace.h"
#include "broker/engine/ready_tubes.h"
#include "broker/engine/records.h"
#include "broker/engine/schedules.h"
#include "broker/engine/seen_keys.h"
#include "broker/engine/slab.h"
#include "broker/engine/transfers.h"
#include "broker/engine/tube.h"
#include "broker/engine/tube_policies.h"
#include "broker/engine/tube_table.h"
#include "broker/engine/unique_index.h"
#include "broker/engine/verdict.h"
#include "broker/engine/waiter_index.h"
#include "broker/engine/waiting_line.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// The queue. One thread, no clock: everything that depends on time takes `now`, and Tick does what
// is due. Every verb checks, appends at most one record to the journal, applies, and then serves
// the waiting consumers of the tube it touched. Verbs are named as beanstalk or Gearman name them;
// docs/semantics.md says what each does to a job.
//
// Costs are O(1) or O(log n) in the jobs of a tube; nothing here walks all tubes, jobs, consumers
// or waiters, except where a comment says so.
class Engine {
 public:
  // Jobs, watches or tubes that verbs which say so do in one call.
  static constexpr std::size_t kSlice = 512;

  Engine(EngineOptions options, Journal& journal);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // While it runs; all but `normal_to` may change.
  void SetOptions(const EngineOptions& options);
  const EngineOptions& options() const { return options_; }
  void SetLimits(EngineLimits limits);
  const EngineLimits& limits() const { return limits_; }
  // No job is taken: whoever receives a body may as well drop it, and says so with RefuseBody.
  bool MemoryFull() const {
    if (memory_short_) return true;
    return limits_.memory > 0 && JobMemory() + TableMemory() + memory_beside_ > limits_.memory;
  }
  // Bytes that others occupy for clients, and whether allocations have failed.
  void NoteMemory(std::size_t beside, bool is_short) {
    memory_beside_ = beside;
    memory_short_ = is_short;
  }
  Code RefuseBody() { return CountRefused(Code::kOutOfMemory); }

  // --- Connections -------------------------------------------------------------------------------
  void Join(Consumer& consumer);
  // Its reservations go back (a lost try each), its waits and watches end: a bounded number of
  // steps a call. False: there is more, call again. Does nothing for one that has not joined.
  bool Leave(Time now, Consumer& consumer);
  // kTooManyTubes if the tube would be one too many; so says Watch, and kOutOfMemory if there are
  // too many watches.
  Code Use(Consumer& consumer, std::string_view tube);
  // Idempotent. `able` counts the consumer as one of the tube's workers at once (Gearman's CAN_DO);
  // otherwise it counts from its first reservation on. `run_limit` is CAN_DO_TIMEOUT, 0 = none.
  Code Watch(Time now, Consumer& consumer, std::string_view tube, bool able = false,
             Time run_limit = 0);
  // kNotIgnored for the last one, unless `may_be_last`.
  Code Ignore(Time now, Consumer& consumer, std::string_view tube, bool may_be_last = false);
  // Gearman's CANT_DO: Ignore, and what it runs of that function goes back. A bounded number of
  // steps a call, as ResetAbilities; false: there is more, call again.
  bool Unable(Time now, Consumer& consumer, std::string_view tube);
  bool ResetAbilities(Time now, Consumer& consumer);

  // --- Producing ---------------------------------------------------------------------------------
  // Put and Submit begin with it. For a session that refuses a job which the engine never sees.
  void CountAsProducer(Consumer& consumer);
  // beanstalk's put into the used tube. `job` has priority, ttr_s, delay_s and its body set.
  // A tube "$reply/<id>" sends the body to the waiters of the job that the consumer holds instead.
  Added Put(Time now, Consumer& producer, JobPtr job);
  // Whether what is put there are answers to jobs, which are taken at all times.
  static bool TakesAnswers(std::string_view tube) { return tube.starts_with(kReplyPrefix); }
  static bool Answers(const Consumer& producer) { return TakesAnswers(producer.used_->name()); }
  // Gearman's submit. A job with the same key in the tube that is not finished is joined instead.
  Added Submit(Time now, Consumer& producer, JobPtr job, const Submission& submission);
  // The observer's connection is gone: it leaves all its jobs. Foreground jobs that nobody waits
  // for any more and nobody runs disappear: a bounded number of steps a call. False: there is more,
  // call again.
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
  // Ends a wait without an answer (half-closed connection).
  void StopWaiting(Consumer& consumer);

  // --- By the holder (Delete: also by anybody for a job that nobody holds)
  Outcome Delete(Time now, Consumer& consumer, JobId id);
  Outcome Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                  std::uint32_t delay_s);
  Outcome Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority);
  Outcome Touch(Time now, Consumer& consumer, JobId id);
  Outcome Report(Time now, Consumer& consumer, JobId id, const Progress& progress);
  Outcome Complete(Time now, Consumer& consumer, JobId id, const ReportData& result);
  Outcome Fail(Time now, Consumer& consumer, JobId id);
  Outcome Except(Time now, Consumer& consumer, JobId id, const ReportData& text);

  // --- Administration ----------------------------------------------------------------------------
  // Takes a job away, whatever its state; its waiters are told that it failed.
  Outcome Cancel(Time now, JobId id);
  // Up to `bound` jobs of the used tube: buried ones in burial order if there are any, else delayed
  // ones by due time. O(bound log n): callers with a large bound call it in slices, and say so with
  // `delayed` (what the first slice chose), which is set on return.
  Kicked Kick(Time now, Consumer& consumer, std::uint64_t bound, std::optional<bool>& delayed);
  Outcome KickJob(Time now, JobId id);
  Outcome Pause(Time now, std::string_view tube, std::uint32_t seconds);
  Outcome CreateFunction(std::string_view tube);
  Outcome DropFunction(std::string_view tube);  // kInUse while it has workers or unfinished jobs
  // Makes the tube, which stays as long as its limit differs from that of EngineLimits. A limit
  // that does not, or none, is not remembered: the configuration decides at the next start.
  Outcome SetMaxQueue(std::string_view tube, const MaxQueue& limits);
  // Each says what it is in a header of its own.
  TubePolicies& policies() { return policies_; }
  const TubePolicies& policies() const { return policies_; }
  Acts& acts() { return acts_; }
  Schedules& schedules() { return schedules_; }
  const Schedules& schedules() const { return schedules_; }
  Transfers& transfers() { return transfers_; }
  const Transfers& transfers() const { return transfers_; }
  Time WallTime(Time now) const;
  // How far the wall clock is ahead of the time that verbs are given. Jobs that were submitted for
  // a time of the wall clock keep it. O(jobs): when the clock of the machine was set.
  void SetWallAhead(Time ahead);
  Time wall_ahead() const { return wall_ahead_; }
  void SetDraining(bool draining) { draining_ = draining; }
  // The broker ends: what consumers hold from now on goes back unharmed, no try is lost.
  void Stop() { stopping_ = true; }
  bool draining() const { return draining_; }

  // --- Questions ---------------------------------------------------------------------------------
  // The first `bound` jobs of a tube in a state, in the order in which they leave it. Not for
  // reserved ones, which no tube lists. O(bound log bound).
  void VisitNext(const Tube& tube, JobState state, std::size_t bound,
                 const std::function<void(const Job&)>& visit) const;
  MaxQueue ConfiguredMaxQueue(std::string_view tube) const;
  const Job* Find(JobId id) const { return jobs_.Find(id); }
  // Some job with this key in the next kSlice tubes behind `last`, which moves along; begin with 0.
  // nullptr: in none of these, and in none at all if `last` is 0 again.
  const Job* FindUnique(std::string_view unique, std::uint64_t& last) const;
  const Tube* FindTube(std::string_view name) const { return tubes_.Find(name); }
  // In the order of creation; pass 0 first. For walks in slices: a cursor stays good across
  // changes.
  const Tube* NextTube(std::uint64_t after) const { return tubes_.Next(after); }
  const Job* NextJob(JobId after) const { return jobs_.Next(after); }
  // How often a job with an old id came into a tube: a walk by id may have missed one if it has
  // changed.
  std::uint64_t moves() const { return moves_; }
  // Ids below it were given out.
  JobId next_id() const { return ids_.next(); }
  std::size_t TubeCount() const { return tubes_.size(); }
  EngineStats Stats() const;
  // How long consumers had waited for each job they got, 0 if it was there. A sleeping worker's
  // wait ends with its wakeup.
  const TimeHistogram& waits() const { return waits_; }
  // How old jobs were when a consumer got them; a job that comes back counts each time.
  const TimeHistogram& ages() const { return ages_; }
  // Whether `status` lists it: it has unfinished jobs, a worker, a waiting consumer, or was
  // created.
  bool Listed(const Tube& tube) const;
  // What gearmand would list besides.
  const IdleFunctions& idle_functions() const { return idle_functions_; }
  // O(those who wait and watch many tubes), or such watchers of this tube if they are fewer.
  std::size_t Waiting(const Tube& tube) const { return waiting_.Count(tube); }
  std::size_t Waiters(const Job& job) const;       // O(different ones)
  std::uint32_t TtrSeconds(const Job& job) const;  // default_ttr_s where it has none
  // Until a delayed job is due or a reservation ends; 0 in other states or without an end.
  Time TimeLeft(Time now, const Job& job) const;
  Time PauseLeft(Time now, const Tube& tube) const;
  Band BandOf(std::uint32_t priority) const;
  const Journal& journal() const { return journal_; }
  // Steps so far of the loops that a caller cannot bound: over waiters, watchers, held jobs.
  // Whoever shares the thread fairly makes a pause when verbs have taken many.
  std::uint64_t effort() const { return effort_; }

  // --- Time --------------------------------------------------------------------------------------
  // Does what is due, a bounded number of steps a call, and returns when to call again: at once
  // (`now`) if more is due, kNever if nothing will be.
  Time Tick(Time now);

  // --- Durability --------------------------------------------------------------------------------
  // For the journal, which reads them back and carries them forward.
  Records& records() { return records_; }
  // The journal has failed for good. Jobs that are not durable never will be, so that nobody could
  // be told of them: they go, unless a client waits for their end.
  void DropUndurable();

  // Recounts everything that is kept counted and compares; a message names the first difference.
  // O(all): for tests.
  std::string CheckInvariants(const std::vector<const Consumer*>& consumers) const;

 private:
  friend class Acts;
  friend class Expiries;
  friend class Pace;
  friend class Records;
  friend class Schedules;
  friend class Transfers;
  friend class TubePolicies;
  // engine_check.cc
  class Audit;

  // engine_apply.cc
  void Insert(JobPtr job, Tube& tube);
  void TakeKey(Job& job) {
    if (OwnsKey(job)) uniques_.Insert(job);
  }
  void FreeKey(Job& job) {
    if (OwnsKey(job)) uniques_.Remove(job);
  }
  // A job has its key while it is unfinished. JobExtra::key_free: not even then.
  static bool OwnsKey(const Job& job) { return UniqueIndex::HasKey(job) && !job.extra().key_free; }
  void MoveTo(Job& job, Tube& tube, std::string_view origin);
  void CountQueued(const Job& job, int change);
  void EnterReady(Job& job);
  void EnterDelayed(Job& job, Time due);
  void EnterBuried(Job& job, std::uint64_t burial);
  void EnterReserved(Time deadline, Job& job, Consumer& consumer);
  void LeaveState(Job& job);
  void Erase(Job& job);
  // 0: no record, as the job is not durable or nothing is kept.
  Lsn Append(const Job& job, Record::Kind kind, const Records::Beside& beside = {}) {
    return persistent_ && job.durable_ ? records_.Append(job, kind, beside) : 0;
  }

  // engine_tubes.cc
  void ReleaseTube(Tube& tube);
  void RemoveWatch(Consumer& consumer, gearstalk::Watch& watch);
  void CountAsWorker(Consumer& consumer);

  void Count(Tube& tube, std::uint64_t JobCounts::*what) {
    ++(tube.*what);
    ++(totals_.*what);
  }

  // engine_limits.cc
  MaxQueue ConfiguredMaxQueue(const Tube& tube) const;
  TubeSettings OwnSettings(const Tube& tube) const;
  Tube& MakeTube(std::string_view name);
  Tube& TubeNamed(std::string_view name);
  Tube* TubeForUse(std::string_view name);
  // Tubes, watches and waiters have their share of the memory: no more of them, but for the few of
  // an ordinary client.
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
  bool ExceedsBytes(Tube& tube, const Job& job);
  Code AdmitsJob(const Tube& tube, const Job& job, bool durable) const;
  // How a new job comes.
  struct Arrival {
    Time due = 0;
    JobObserver* waiter = nullptr;
    const Record::Schedule* schedule = nullptr;  // that made it
  };
  Added Add(Time now, JobPtr job, Tube& tube, const Arrival& arrival);
  Added Admit(Time now, JobPtr job, Tube& tube, const Arrival& arrival);
  static void MakeKey(Job& job, const Policy& policy);
  std::optional<Added> FindEqual(Time now, const Job& job, Tube& tube, JobObserver* waiter);
  Code MakeCopies(Time now, const Job& job, const Tube& tube,
                  std::vector<std::pair<Tube*, JobPtr>>& copies);
  Added EnqueueAndCopy(Time now, JobPtr job, Tube& tube, const Arrival& arrival);
  Added Enqueue(Time now, JobPtr job, Tube& tube, const Arrival& arrival);
  Added Reply(Time now, Consumer& producer, JobPtr job);
  Added JoinJob(Job& job, JobObserver* waiter);
  void AddWaiter(Job& job, JobObserver& observer);
  void DropWaiters(Job& job);
  void Tell(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn);

  // engine_consume.cc
  Taken Take(Time now, Job& job, Consumer& consumer);
  Job* HeldBy(const Consumer& consumer, JobId id) const;
  bool Accepts(const Job& job, Record::Kind kind) const;
  void RestartTtr(Time now, Job& job);
  Lsn AppendEnd(const Job& job, Finish::Kind kind);
  Lsn Finished(Job& job, Finish::Kind kind, const ReportData& data);
  void GiveBackAll(Time now, std::vector<Job*> jobs, BadEnd how);
  void GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, BadEnd how);

  // engine_retry.cc
  struct Ended {
    Outcome outcome;
    bool ready = false;  // in its tube, which has not been served yet
  };
  Ended End(Time now, Job& job, const Ending& ending);
  Outcome EndHeld(Time now, const Consumer& consumer, JobId id, const Ending& ending);
  void NoteCause(Job& job, const Verdict& verdict, std::string_view text);
  void CountEnd(Job& job, BadEnd how);
  Lsn Carry(Time now, Job& job, const Verdict& verdict, Finish::Kind kind, const ReportData& text);
  Lsn RunAgain(Time now, Job& job, const Verdict& verdict, BadEnd how);
  Lsn BuryJob(Time now, Job& job, Finish::Kind kind, const ReportData& text);
  Lsn MoveDead(Time now, Job& job, Finish::Kind kind, const ReportData& text);
  bool MoveBuries(const Job& job) const;
  void LogFailure(const Job& job, const Verdict& verdict) const;

  // engine_retain.cc
  Time BurialTime(const Job& job) const;
  Time RetentionDue(const Tube& tube) const;
  bool Prune(Time now, Tube& tube, int& steps);

  // What has to be durable before anybody may hear of the job.
  Lsn VisibleFrom(const Job& job) const {
    return job.durable_ ? records_.PutLsn(job.id_) : ids_.lsn();
  }

  // engine_admin.cc
  Lsn KickOne(Time now, Job& job);
  Kicked KickTube(Time now, Tube& tube, std::uint64_t bound, std::optional<bool>& delayed);

  // engine_wait.cc
  Job* BestFor(Time now, Consumer& consumer);
  void EndRunLimits(Consumer& consumer);
  void BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until);
  void EndWait(Consumer& consumer);
  void EndWaitForJob(Time now, Consumer& consumer);
  // The most jobs, or wakeups; false: it gave none.
  bool Serve(Time now, Tube& tube, const Job* fresh = nullptr, std::size_t most = kSlice);
  void ServeTogether(Time now, std::vector<Tube*> tubes);
  void Wake(Time now, Consumer& sleeper, Tube& tube);
  void WakeSleepers(Time now, Tube& tube);
  Tube* TakePromise(Consumer& consumer);
  void DropPromise(Time now, Consumer& consumer);
  static bool Runnable(const Tube& tube) { return tube.ready() > 0 && !tube.Stopped(); }
  void BreakPromise(Time now, Consumer& consumer);
  void BreakPromises(Time now);

  // engine_tick.cc
  void ArmTube(Tube& tube);
  void NotePause(Tube& tube);
  void EndPause(Tube& tube);
  void EndPauses(Time now);
  void ArmConsumer(Consumer& consumer);
  void TubeDue(Time now, Tube& tube, int& steps);
  void ConsumerDue(Time now, Consumer& consumer, int& steps);

  // Tubes whose jobs are answers.
  static constexpr std::string_view kReplyPrefix = "$reply/";
  // beanstalk's safety margin before the end of a TTR.
  static constexpr Time kSafetyMargin = kSecond;

  EngineOptions options_;
  EngineLimits limits_;
  Journal& journal_;
  const bool persistent_;
  bool draining_ = false, stopping_ = false;
  Time started_ = 0;  // first Tick
  Time ticked_ = 0;   // last

  TubeTable tubes_;
  IdleFunctions idle_functions_;
  IdTable<Job> jobs_;
  UniqueIndex uniques_;
  WaiterIndex waiters_;
  SeenKeys seen_{journal_};
  JobIds ids_{journal_};
  std::uint64_t next_burial_ = 1;
  std::uint64_t moves_ = 0;

  mutable std::uint64_t effort_ = 0;
  ReadyTubes ready_tubes_;
  WaitingLine waiting_{effort_};
  Consumer::PromisedList promised_;  // by time
  Deadlines deadlines_;
  std::set<std::pair<Time, std::uint64_t>> pauses_;  // when they end, of which tube
  Time next_pause_end_ = kNever;
  Time wall_ahead_ = 0;
  std::size_t memory_beside_ = 0;
  bool memory_short_ = false;
  std::minstd_rand random_{std::random_device{}()};

  Records records_{*this};
  TubePolicies policies_{*this};
  Pace pace_{*this};
  Expiries expiries_{*this};
  Schedules schedules_{*this};
  Transfers transfers_{*this};
  Acts acts_{*this};

  EngineStats totals_;
  TimeHistogram waits_, ages_;
};

}  // namespace gearstalk
