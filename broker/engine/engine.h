#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/base/time_histogram.h"
#include "broker/engine/consumer.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/id_table.h"
#include "broker/engine/job.h"
#include "broker/engine/job_counts.h"
#include "broker/engine/job_observer.h"
#include "broker/engine/limits.h"
#include "broker/engine/ready_index.h"
#include "broker/engine/slab.h"
#include "broker/engine/tube.h"
#include "broker/engine/tube_table.h"
#include "broker/engine/unique_index.h"
#include "broker/journal/journal.h"

namespace gearstalk {

struct EngineOptions {
  std::uint32_t default_ttr_s = 120;  // TTR of a job without one, for a consumer that needs one
  std::uint32_t normal_to = 65536;    // highest priority that counts as Band::kNormal
  std::uint32_t job_retries = 0;      // lost tries after which a job fails; 0 = no limit
  bool wake_all = false;              // every new job wakes every sleeper, as gearmand does
};

// How a verb that changes something ended. Nobody may be told of it before `lsn` is durable.
struct Outcome {
  Code code = Code::kOk;
  Lsn lsn = 0;
  bool ok() const { return code == Code::kOk; }
};

struct Added {
  Code code = Code::kOk;
  JobId id = 0;
  Lsn lsn = 0;
  bool ok() const { return code == Code::kOk; }
};

struct Taken {
  Job* job = nullptr;  // nullptr: none
  Lsn lsn = 0;
};

// What `reserve` of a consumer came to at once.
enum class ReserveResult : std::uint8_t { kTaken, kWaits, kDeadlineSoon, kTimedOut };

struct EngineStats : JobCounts {
  std::size_t urgent = 0, ready = 0, reserved = 0, delayed = 0, buried = 0;
  std::size_t tubes = 0;
  std::size_t producers = 0, workers = 0, waiting = 0;  // connections
  std::array<std::uint64_t, kCodes> refused{};          // jobs and tubes, by Code
};

// The queue. One thread, no clock: everything that depends on time takes `now`, and Tick does what
// is due. Every verb checks, appends at most one record to the journal, applies, and then serves
// the waiting consumers of the tube it touched. Verbs are named as beanstalk or Gearman name them;
// docs/semantics.md says what each does to a job.
//
// Costs are O(1) or O(log n) in the jobs of a tube; nothing here walks all tubes, jobs, consumers
// or waiters, except where a comment says so.
class Engine final : public LiveState {
 public:
  // Jobs, watches or tubes that verbs which say so do in one call.
  static constexpr std::size_t kSlice = 512;

  Engine(EngineOptions options, Journal& journal);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // While it runs; all but `normal_to` may change.
  void SetOptions(const EngineOptions& options) { options_ = options; }

  const EngineOptions& options() const { return options_; }
  void SetLimits(EngineLimits limits);
  const EngineLimits& limits() const { return limits_; }
  // No job is taken: whoever receives a body may as well drop it, and says so with RefuseBody.
  bool MemoryFull() const { return limits_.memory > 0 && JobMemory() > limits_.memory; }
  Code RefuseBody() { return CountRefused(Code::kOutOfMemory); }

  // --- Connections -------------------------------------------------------------------------------
  void Join(Consumer& consumer);
  // Its reservations go back (a lost try each), its waits and watches end: a bounded number of
  // steps a call. False: there is more, call again. Does nothing for one that has not joined.
  bool Leave(Time now, Consumer& consumer);
  // kTooManyTubes if the tube would be one too many; so says Watch.
  Code Use(Consumer& consumer, std::string_view tube);
  // Idempotent. `able` counts the consumer as one of the tube's workers at once (Gearman's CAN_DO);
  // otherwise it counts from its first reservation on. `run_limit` is CAN_DO_TIMEOUT, 0 = none.
  Code Watch(Time now, Consumer& consumer, std::string_view tube, bool able = false,
             Time run_limit = 0);
  // kNotIgnored for the last one, unless `may_be_last`.
  Code Ignore(Time now, Consumer& consumer, std::string_view tube, bool may_be_last = false);
  // Gearman's CANT_DO: Ignore, and what it runs of that function goes back. A bounded number of
  // steps a call, as ResetAbilities. False: there is more, call again.
  bool Unable(Time now, Consumer& consumer, std::string_view tube);
  bool ResetAbilities(Time now, Consumer& consumer);

  // --- Producing ---------------------------------------------------------------------------------
  // Put and Submit begin with it. For a session that refuses a job which the engine never sees.
  void CountAsProducer(Consumer& consumer);
  // beanstalk's put into the used tube. `job` has priority, ttr_s, delay_s and its body set.
  // A tube "$reply/<id>" sends the body to the waiters of the job that the consumer holds instead.
  Added Put(Time now, Consumer& producer, JobPtr job);
  struct Submission {
    std::string_view tube;
    JobObserver* waiter = nullptr;  // foreground: who waits; nullptr = background, durable
    Time due = 0;                   // not before (epoch)
    std::string_view reducer;
    bool unique_is_body = false;  // Gearman's "-"
  };
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
  // ever;
  // <= now: not at all), or says why it cannot. kTaken fills `taken`.
  ReserveResult Reserve(Time now, Consumer& consumer, Time deadline, Taken& taken);
  Taken ReserveJob(Time now, Consumer& consumer, JobId id);
  // Gearman's GRAB_JOB: takes or not, never waits; ends a sleep.
  Taken Grab(Time now, Consumer& consumer);
  // Gearman's PRE_SLEEP: OnJobsAvailable is called at once if there is work, else when there is.
  void Sleep(Time now, Consumer& consumer);
  // Ends a wait without an answer (half-closed connection).
  void StopWaiting(Consumer& consumer);

  // --- By the holder (Delete: also by anybody for a job that nobody holds)
  // -------------------------
  Outcome Delete(Time now, Consumer& consumer, JobId id);
  Outcome Release(Time now, Consumer& consumer, JobId id, std::uint32_t priority,
                  std::uint32_t delay_s);
  Outcome Bury(Time now, Consumer& consumer, JobId id, std::uint32_t priority);
  Outcome Touch(Time now, Consumer& consumer, JobId id);
  Outcome Report(Time now, Consumer& consumer, JobId id, const Progress& progress);
  Outcome Complete(Time now, Consumer& consumer, JobId id, std::string_view result);
  Outcome Fail(Time now, Consumer& consumer, JobId id);
  Outcome Except(Time now, Consumer& consumer, JobId id, std::string_view text);

  // --- Administration ----------------------------------------------------------------------------
  // Takes a job away, whatever its state; its waiters are told that it failed.
  Outcome Cancel(Time now, JobId id);
  struct Kicked {
    std::uint64_t count = 0;
    Lsn lsn = 0;
    Code code = Code::kOk;
  };
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
  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }

  // --- Questions ---------------------------------------------------------------------------------
  const Job* Find(JobId id) const { return jobs_.Find(id); }
  // Some job with this key in the next kSlice tubes behind `last`, which moves along; begin with 0.
  // nullptr: in none of these, and in none at all if `last` is 0 again.
  const Job* FindUnique(std::string_view unique, std::uint64_t& last) const;
  const Tube* FindTube(std::string_view name) const { return tubes_.Find(name); }
  // In the order of creation; pass 0 first. For walks in slices: a cursor stays good across
  // changes.
  const Tube* NextTube(std::uint64_t after) const { return tubes_.Next(after); }
  const Job* NextJob(JobId after) const { return jobs_.Next(after); }
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
  // O(those who wait and watch many tubes), or such watchers of this tube if they are fewer.
  std::size_t Waiting(const Tube& tube) const;
  std::size_t Waiters(const Job& job) const;       // O(result)
  std::uint32_t TtrSeconds(const Job& job) const;  // default_ttr_s where it has none
  // Until a delayed job is due or a reservation ends; 0 in other states or without an end.
  Time TimeLeft(Time now, const Job& job) const;
  Time PauseLeft(Time now, const Tube& tube) const;
  std::uint32_t PauseSeconds(const Tube& tube) const { return tube.pause_s_; }
  Band BandOf(std::uint32_t priority) const;
  const Journal& journal() const { return journal_; }
  // Steps so far of the loops that a caller cannot bound: over waiters, watchers, held jobs.
  // Whoever shares the thread fairly makes a pause when verbs have taken many.
  std::uint64_t effort() const { return effort_; }

  // --- Time --------------------------------------------------------------------------------------
  // Does what is due, a bounded number of steps a call, and returns when to call again: at once
  // (`now`) if more is due, kNever if nothing will be.
  Time Tick(Time now);

  // --- LiveState: replay and compaction
  // ------------------------------------------------------------
  Status Apply(const Record& record) override;
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override;
  void CaptureSettings(const std::function<void(const Record&)>& emit) override;
  // After Journal::Replay, before anything else. Delayed jobs that became due meanwhile get ready
  // at the first Tick.
  void FinishReplay();
  // The journal has failed for good. Jobs that are not durable never will be, so that nobody could
  // be told of them: they go, unless a client waits for their end.
  void DropUndurable();

  // Recounts everything that is kept counted and compares; a message names the first difference.
  // O(all): for tests.
  std::string CheckInvariants(const std::vector<const Consumer*>& consumers) const;

 private:
  // engine_check.cc
  class Audit;

  // engine_apply.cc
  void Insert(JobPtr job, Tube& tube);
  void CountQueued(const Job& job, int change);
  void EnterReady(Job& job);
  void EnterDelayed(Job& job, Time due);
  void EnterBuried(Job& job, std::uint64_t burial);
  void EnterReserved(Time deadline, Job& job, Consumer& consumer);
  void LeaveState(Job& job);
  void Erase(Job& job);
  JobId TakeId(bool recorded);
  Lsn Append(const Job& job, Record::Kind kind);
  void NoteUnsynced(JobId id, Lsn lsn);
  Lsn AppendSettings(const Tube& tube);
  void FillRecord(const Job& job, Record& record) const;
  void FillSettings(const Tube& tube, Record& record) const;
  void ApplyPut(const Record& record);
  void ApplyState(Job& job, const Record& record);
  void ApplySettings(const Record& record);

  // engine_tubes.cc
  void ReleaseTube(Tube& tube);
  void RemoveWatch(Consumer& consumer, gearstalk::Watch& watch);
  void CountAsWorker(Consumer& consumer);

  void Count(Tube& tube, std::uint64_t JobCounts::*what) {
    ++(tube.*what);
    ++(totals_.*what);
  }

  // engine_limits.cc
  MaxQueue ConfiguredMaxQueue(std::string_view tube) const;
  bool LimitedByAdmin(const Tube& tube) const;
  Tube& MakeTube(std::string_view name);
  Tube& TubeNamed(std::string_view name);
  Tube* TubeForUse(std::string_view name);

  // engine_produce.cc
  Code CountRefused(Code code);
  Added Refused(Code code) { return {CountRefused(code)}; }
  Code AdmitsJob(const Tube& tube, std::uint32_t priority, bool durable) const;
  Added Enqueue(Time now, JobPtr job, Tube& tube, Time due);
  Added Reply(Time now, Consumer& producer, std::string_view body);
  Added JoinJob(Job& job, JobObserver* waiter);
  static void AddWaiter(Job& job, JobObserver& observer);
  static void DropWaiters(Job& job);
  void Tell(Job& job, Finish::Kind kind, std::string_view data, Lsn lsn);

  // engine_consume.cc
  Taken Take(Time now, Job& job, Consumer& consumer);
  Job* HeldBy(const Consumer& consumer, JobId id) const;
  bool Accepts(const Job& job, Record::Kind kind) const;
  void RestartTtr(Time now, Job& job);
  Lsn BuryJob(Job& job, Finish::Kind kind, std::string_view text);
  Outcome FailJob(Job& job, Finish::Kind kind, std::string_view text);
  Lsn Finished(Job& job, Finish::Kind kind, std::string_view data);
  void GiveBack(Time now, Job& job, bool lost_try);
  void GiveBackAll(Time now, std::vector<Job*> jobs, bool lost_try);
  void GiveBackHeld(Time now, Consumer& consumer, std::size_t& steps, bool lost_try);
  bool RunsAgain(Job& job, bool lost_try);
  // What has to be durable before anybody may hear of the job.
  Lsn VisibleFrom(const Job& job) const;

  // engine_admin.cc
  Lsn KickOne(Job& job);

  // engine_wait.cc
  Job* BestFor(Consumer& consumer);
  template <typename Visit>
  void VisitReady(const Consumer& consumer, Visit visit) const;
  void BeginWait(Time now, Consumer& consumer, Consumer::Wait wait, Time until);
  void EndWait(Consumer& consumer);
  void EndWaitForJob(Time now, Consumer& consumer);
  void StandInLine(Consumer& consumer);
  void StandInLineOf(gearstalk::Watch& watch);
  void StandOutOfLine(Consumer& consumer);
  static void StandOutOfLineOf(gearstalk::Watch& watch);
  template <typename Visit>
  void VisitWideWaiting(const Tube& tube, Visit visit) const;
  Consumer* LongestWaiting(const Tube& tube) const;
  Consumer* LongestWideWaiting(const Tube& tube) const;
  void Serve(Time now, Tube& tube, const Job* fresh = nullptr);
  void Wake(Time now, Consumer& sleeper, Tube& tube);
  void WakeSleepers(Time now, Tube& tube);
  Tube* TakePromise(Consumer& consumer);
  void DropPromise(Time now, Consumer& consumer);
  static bool Runnable(const Tube& tube) { return tube.ready() > 0 && !tube.paused(); }
  void BreakPromise(Time now, Consumer& consumer);
  void BreakPromises(Time now);

  // engine_tick.cc
  void ArmTube(Tube& tube);
  void EndPause(Tube& tube);
  void ArmConsumer(Consumer& consumer);
  void TubeDue(Time now, Tube& tube, int& steps);
  void ConsumerDue(Time now, Consumer& consumer, int& steps);
  void Expire(Time now, Job& job);

  // Tubes whose jobs are answers.
  static constexpr std::string_view kReplyPrefix = "$reply/";
  // beanstalk's safety margin before the end of a TTR.
  static constexpr Time kSafetyMargin = kSecond;

  EngineOptions options_;
  EngineLimits limits_;
  Journal& journal_;
  const bool persistent_;
  bool draining_ = false;

  TubeTable tubes_;
  IdTable<Job> jobs_;
  UniqueIndex uniques_;
  Deadlines deadlines_;

  JobId next_id_ = 1;
  JobId ids_recorded_ = 1;                  // the journal knows that ids below are taken
  Lsn ids_lsn_ = 0;                         // since when
  Lsn settings_lsn_ = 0;                    // of the last settings of any tube
  std::set<std::uint64_t> recorded_tubes_;  // those whose settings the journal knows, by id
  std::uint64_t next_burial_ = 1;
  std::uint64_t next_wait_ = 1;
  std::vector<Tube*> stirred_;  // tubes with ready jobs, in no order
  FreshTubes fresh_;
  std::vector<Tube*> replayed_;
  Consumer::WideList wide_waiting_;
  Consumer::PromisedList promised_;  // by time
  struct UnsyncedPut {
    JobId job;
    Lsn lsn;
    bool operator<(JobId id) const { return job < id; }
  };
  std::deque<UnsyncedPut> unsynced_puts_;  // by id; those that are durable go with the next put

  mutable std::uint64_t effort_ = 0;
  EngineStats totals_;
  TimeHistogram waits_, ages_;
};

}  // namespace gearstalk
