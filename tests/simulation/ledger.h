#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "tests/simulation/group_plan.h"

namespace gearstalk::simulation {

// What clients know of a job, from what they asked for and what they were told.
struct KnownJob {
  std::uint64_t token = 0;  // in its body, and in no other
  std::string tube;
  std::uint32_t priority = 0, ttr_s = 0;
  std::size_t size = 0;
  bool durable = true;
  JobId id = 0;
  Time asked = 0;           // when its put was sent
  Time put = kNever;        // when that was answered
  bool there = false;       // its put was answered
  bool ended = false;       // somebody was told of its end, or it was refused
  bool deleted = false;     // its deletion was answered
  bool remembered = false;  // its holder has deleted it: its key stays taken
  bool put_again = false;   // somebody has put its body once more
  int end_asks = 0;         // ends that were asked for, and may come to pass
  Time vanishes = kNever;  // a policy may remove it from then on; 0: it lives as long as its client
  Time expires = kNever;   // nobody may get it after that
  int hand_outs = 0;       // since the broker was started
  Time not_before = 0;     // the end of its delay, at the earliest
  const void* holder = nullptr;
  Time held_until = 0;  // at the earliest
  Time taken = 0;
  Time told = 0;         // when somebody was last told that he has it, or asked for it by its id
  bool touched = false;  // its place in the queue is not known
  bool grouped = false;  // its body names a group, or says that it has none
  bool json = false;     // all of its body is JSON
  std::string group{};   // empty: it has none
  std::string body{};    // all of it, of a job that comes by the calendar
  bool aside = false;    // it may be buried: others of its group go on
  int lent = 0;          // a transfer may hold it
  bool away = false;     // one does
  Time buried = kNever;  // since when it surely is
};

// All jobs that clients of a run know, and what must be true of them. Replies are noted when they
// leave the broker, so the order of calls is the broker's.
// What the body of a job begins with that comes by the calendar.
inline constexpr std::string_view kScheduled = "S ";

class Ledger {
 public:
  // Without an error yet.
  bool ok() const { return failure_.empty(); }
  const std::string& failure() const { return failure_; }
  void Fail(const std::string& what) {
    if (ok()) failure_ = what;
  }

  KnownJob& Ask(KnownJob job);
  static std::string BodyOf(const KnownJob& job);
  // Jobs come by the calendar, with these bodies, once each: `expect` makes one of them, or
  // nothing if no schedule has this body.
  void ExpectScheduled(std::function<std::optional<KnownJob>(std::string_view)> expect) {
    expect_ = std::move(expect);
  }
  // It is on disk.
  void OnScheduled(std::string_view body, JobId id);
  // The job whose body this is; nullptr, and a failure, if it is nobody's.
  KnownJob* OfBody(std::string_view body);
  KnownJob* OfId(JobId id);

  // `stale`: as in HandOut. `floor`: all ids up to it were known before the put was sent.
  void OnPut(KnownJob& job, JobId id, JobId floor, Time now, bool stale);
  // The same body was put again, where keys of finished jobs stay taken.
  void OnPutAgain(const KnownJob& job, JobId id);
  // Somebody else saw its id before its put was answered.
  void Learn(KnownJob& job, JobId id);
  // `honest`: neither the disk nor an operator may be the reason.
  void OnRefused(KnownJob& job, bool honest);
  JobId highest_id() const { return highest_id_; }

  struct HandOut {
    const void* holder = nullptr;
    const std::set<std::string>* watched = nullptr;  // nullptr: it asked for this job
    Time asked = 0;
    std::uint32_t default_ttr_s = 0;  // 0: none
    bool stale = false;               // it may have been made long before it left the broker
    std::uint64_t tube = 0;           // the engine's number of the job's tube
  };
  // `taken`: the second in which the engine says that it was; 0: not known.
  void OnHandedOut(KnownJob& job, const HandOut& out, Time taken, Time now);
  void OnTouched(KnownJob& job, const void* holder, Time asked);
  // The holder wants to end its hold in some way.
  void OnGivenUp(KnownJob& job) { job.holder = nullptr, Stir(job); }
  // `asked`: when. Its answer may leave behind that of who has the job by then.
  void OnReleased(KnownJob& job, std::uint32_t priority, Time not_before, Time asked);
  void OnEndAsked(KnownJob& job);
  void OnEndRefused(KnownJob& job) { --job.end_asks; }
  void OnEnded(KnownJob& job);
  // A job with this body may be put again, and is the same job.
  KnownJob* SomeRemembered(const std::string& tube, std::uint64_t lot);
  // Its waiting client was told so.
  void OnFinished(KnownJob& job) { job.ended = true; }
  bool SurelyHolds(const KnownJob& job, const void* holder, Time now) const {
    return job.holder == holder && now < job.held_until;
  }
  // A client is gone: what it held goes back.
  void Forget(const void* holder, Time now);
  // An operator asks a transfer to hold what it finds. It holds the job; it is to give it back;
  // it does not hold it.
  void OnLendAsked(KnownJob& job);
  // It may hold jobs of this tube that come meanwhile, too; empty: of none.
  void SetLending(const std::string& tube) { lending_ = tube; }
  static void OnLent(KnownJob& job) { job.away = true; }
  static void OnGivenBack(KnownJob& job);
  void OnStayed(KnownJob& job);
  // Those that may be there.
  void VisitTube(const std::string& tube, const std::function<void(KnownJob&)>& visit);
  // Somebody kicks in this tube.
  void OnKickAsked(const std::string& tube);
  // A kick that was asked for since then may find a job of the tube.
  bool MayBeKicked(const std::string& tube, Time since) const;
  // Somebody kicks, or asks for, this job by its id.
  void OnNamed(JobId id);
  // Somebody pauses the tube. `number`: the engine's; a tube that ends takes its pause with it.
  void OnPauseAsked(const std::string& tube, std::uint64_t number);
  // `until`: at the earliest; 0: refused.
  void OnPauseAnswered(const std::string& tube, std::uint64_t number, Time from, Time until);

  // Until the next start burials may not be kept.
  void OnDiskFailure();
  // The broker was started again. `kept`: from a journal.
  void OnRestart(bool kept);
  // What is on disk may be damaged: from now on jobs may be lost, or back.
  void OnDamage() { damaged_ = true; }
  bool damaged() const { return damaged_; }
  // A schedule may run anew what damage has taken from the journal, and a client may put it again.
  bool MayComeAgain(const KnownJob& job) const {
    return damaged_ && (!job.body.empty() || job.put_again);
  }
  // Jobs are handed out in no order that clients can tell.
  void NoOrder() { ordered_ = false; }
  // A reply may come long after a job was chosen.
  void LateReplies() { ordered_ = prompt_ = false; }
  // Broker's clocks go differently, by a few percent, and others read other times after a takeover.
  void ClocksDiffer() { clocks_differ_ = true; }
  // What may be left of a span if the broker's clock is fast.
  Time Least(Time span) const { return clocks_differ_ ? span / 100 * 95 : span; }
  // So many hand-outs that end badly are all that a job of the tube gets.
  void LimitTries(const std::string& tube, int most) { most_tries_[tube] = most; }
  // From `since` on; before, another limit may have been in force.
  void LimitRunning(const std::string& tube, std::size_t most, Time since = 0) {
    most_running_[tube] = {most, since};
  }

  // The time as the world has it.
  void Advance(Time to) { time_ = to; }

  // --- Groups: ledger_groups.cc
  void SetGroups(const GroupPlan& plan);
  // Its holder wants it buried, or says that it failed where that buries it.
  static void OnSetAside(KnownJob& job) { job.aside = true; }
  // `asked`: when its burial was asked for. A kick meanwhile may have found it.
  void OnBuried(KnownJob& job, Time asked, Time now);
  void OnKickAnswered(const std::string& tube) {
    Kicks& kicks = kicks_[tube];
    if (kicks.asks > 0) --kicks.asks;
    kicks.answered = time_;
  }
  // Somebody takes out all jobs that are left, one after the other, and no job waits.
  void OnSweep();
  void OnSwept(const KnownJob& job, JobId id);

  // At a moment at which no reply is on its way.
  void CheckOrder(bool nothing_unsent);
  // After a round in which a job of a line was handed out. `awaited`: whether the holder of a job
  // before it still waits for the answer to its deletion.
  void CheckLineEnds(const std::function<bool(const KnownJob&)>& awaited);
  // What the engine has against what clients know.
  void Compare(const Engine& engine, Time now);
  std::size_t certain() const;

 private:
  using Place = std::pair<std::uint32_t, JobId>;
  struct Pause {
    Time from = 0, until = kNever;  // kNever: not known
    int asks = 0;                   // without an answer
    bool alone = false;             // the last one was asked for while there was no other
    std::uint64_t tube = 0;         // the engine's number, as it was asked for
  };
  struct Passed {
    KnownJob* job;
    std::string by;
    Time turn = 0;  // its group's turn had come by then; 0: it is more urgent
  };

  // A job of a line was handed out, and one before it is gone, as nobody was told yet.
  struct LineEnd {
    const KnownJob* job;
    std::string by;
  };

  void LeaveQueue(KnownJob& job);
  KnownJob* Scheduled(std::string_view body);
  void CheckPause(const KnownJob& job, const HandOut& out, Time least, Time most);
  void CheckPlace(const KnownJob& job, const HandOut& out, Time now);
  // It was put, and nobody may have ended it.
  bool Certain(const KnownJob& job) const {
    return job.there && !job.ended && job.end_asks == 0 && job.tube != lending_;
  }
  void CheckRunning(const KnownJob& job, Time taken, Time now);
  static bool IsHeld(const KnownJob& job, Time now) {
    return job.holder != nullptr && job.end_asks == 0 && now < job.held_until;
  }

  // The jobs of one group whose ids are known, but for those that ended.
  struct Group {
    std::map<JobId, KnownJob*> jobs;
    std::multiset<Time> taken;  // since the pace began
    JobId swept = 0;
    Time turn = 0;     // of its last hand-out; 0: not known
    Time stirred = 0;  // when one of its jobs last was handed out, or came back, or ended
  };
  void JoinGroup(KnownJob& job);
  void CheckGroup(KnownJob& job, const HandOut& out, Time taken, Time now);
  void CheckLine(const KnownJob& job, Time since, Group& group, bool set_aside, Time now);
  void CheckAdmitted(const KnownJob& job);
  bool MayBeFull(const KnownJob& job) const;
  void CheckTurn(const KnownJob& job, const HandOut& out, Time taken);
  bool Waited(const KnownJob& job, Time since) const;
  void Stir(const KnownJob& job);
  void CheckGroupLimits(const KnownJob& job, const GroupPlan& plan, Group& group, Time taken,
                        Time now);

  std::deque<KnownJob> jobs_;  // by token, from 1
  std::function<std::optional<KnownJob>(std::string_view)> expect_;
  std::map<std::string, KnownJob*, std::less<>> scheduled_;  // by body
  std::unordered_map<JobId, KnownJob*> by_id_;
  // Jobs that are surely ready, and when that was known.
  std::map<std::string, std::map<Place, std::pair<KnownJob*, Time>>, std::less<>> queued_;
  std::map<std::string, Pause, std::less<>> paused_;
  std::map<std::string, std::pair<std::size_t, Time>, std::less<>> most_running_;
  std::map<std::string, GroupPlan, std::less<>> group_plans_;
  std::map<std::pair<std::string, std::string>, Group> groups_;  // by tube and name
  struct Kicks {
    int asks = 0;       // without an answer
    Time answered = 0;  // the last one
  };
  std::map<std::string, Kicks, std::less<>> kicks_;  // by tube
  std::map<std::string, int, std::less<>> most_tries_;
  std::vector<Passed> passed_;
  std::vector<LineEnd> line_ends_;
  JobId highest_id_ = 0;
  Time time_ = 0;
  Time forgot_at_ = 0;
  bool damaged_ = false, ordered_ = true, prompt_ = true, burials_kept_ = true;
  bool clocks_differ_ = false;
  std::string lending_;  // see SetLending
  std::string failure_;
};

}  // namespace gearstalk::simulation
