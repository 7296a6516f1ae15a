#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/job.h"

namespace gearstalk {

// The engine once more, as plainly as it can be said: jobs in one map, every question answered by
// a walk over all of them. Consumers and observers are numbers. A verb changes the model the way
// docs/semantics.md says and notes in `told` whom the engine has to tell what, in order.
class Model {
 public:
  enum class What : std::uint8_t {
    kReserved,
    kDeadlineSoon,
    kTimedOut,
    kJobsAvailable,  // to consumers
    kProgress,
    kCompleted,
    kFailed,
    kException,  // to observers
  };
  struct Told {
    int whom;
    What what;
    JobId job;
    bool operator==(const Told&) const = default;
    friend void PrintTo(const Told& told, std::ostream* out) {
      *out << told.whom << " told " << static_cast<int>(told.what) << " of " << told.job;
    }
  };
  struct Key {
    std::string text;  // empty: none
    bool is_body = false;
    bool operator==(const Key&) const = default;
  };
  struct Job {
    JobId id;
    std::string tube;
    std::uint32_t priority;
    std::uint32_t ttr_s;
    JobState state = JobState::kReady;
    bool durable = true;
    bool keep_on_failure = false;
    bool abandoned = false;
    Key key = {};
    int holder = -1;
    Time until = kNever;  // end of the delay or of the reservation
    Time ttr_ends = kNever;
    Time run_limit = kNever;
    std::uint64_t burial = 0;
    std::uint32_t lost_tries = 0;
    std::vector<int> waiters = {};
  };
  enum class Wait : std::uint8_t { kNone, kReserving, kSleeping };
  struct Watched {
    std::string tube;
    Time run_limit = 0;
  };
  struct Consumer {
    std::string used;
    std::vector<Watched> watched;
    Wait wait = Wait::kNone;
    Time wait_until = kNever;
    std::uint64_t since = 0;
    std::string promised;  // tube, empty: none
    Time promise_ends = 0;
    bool needs_ttr = false;
  };
  enum class Reserved : std::uint8_t { kTaken, kWaits, kDeadlineSoon, kTimedOut };

  Model(int consumers, bool wake_all, std::uint32_t job_retries);

  // --- Verbs. Those that name a job return false where the engine says kNotFound.
  void Put(Time now, int producer, JobId id, std::uint32_t priority, std::uint32_t ttr_s, Time due);
  // The jobs one of which a submission with this key joins; empty: it makes a new one.
  std::vector<JobId> Joinable(std::string_view tube, const Key& key) const;
  void Submit(Time now, JobId id, std::string_view tube, const Key& key, std::uint32_t priority,
              int waiter, Time due);
  void Join(JobId id, int waiter);
  void Forget(int observer);
  Reserved Reserve(Time now, int consumer, Time deadline, JobId& taken);
  bool ReserveJob(Time now, int consumer, JobId id);
  JobId Grab(Time now, int consumer);  // 0: none
  void Sleep(Time now, int consumer);
  void StopWaiting(int consumer) { EndWait(consumer); }
  bool Delete(int consumer, JobId id);
  bool Release(Time now, int consumer, JobId id, std::uint32_t priority, std::uint32_t delay_s);
  bool Bury(int consumer, JobId id, std::uint32_t priority);
  bool Touch(Time now, int consumer, JobId id);
  bool Report(Time now, int consumer, JobId id);
  bool Complete(int consumer, JobId id);
  bool Fail(int consumer, JobId id, What what);
  bool Cancel(JobId id);
  int Kick(Time now, int consumer, int bound);
  bool KickJob(Time now, JobId id);
  bool Pause(Time now, const std::string& tube, std::uint32_t seconds);
  void Use(int consumer, std::string_view tube);
  void Watch(Time now, int consumer, std::string_view tube, Time run_limit);
  bool Ignore(Time now, int consumer, std::string_view tube, bool may_be_last);
  void Unable(Time now, int consumer, std::string_view tube);
  void ResetAbilities(Time now, int consumer);
  void Leave(Time now, int consumer);

  // --- Time
  Time NextEvent() const;
  void Do(Time now);  // everything that is due
  // Whether several things are due now whose order nobody has promised.
  bool Ambiguous(Time now) const;

  bool Exists(std::string_view tube) const;
  int RunningOf(int consumer, std::string_view tube) const;

  std::map<JobId, Job> jobs;
  std::vector<Consumer> consumers;
  std::map<std::string, Time, std::less<>> paused;  // until when
  std::vector<Told> told;

 private:
  static constexpr std::size_t kWide = 16;
  static constexpr Time kMargin = kSecond;  // before the end of a TTR

  Job* HeldBy(int consumer, JobId id);
  Watched* FindWatch(int consumer, std::string_view tube);
  const Watched* FindWatch(int consumer, std::string_view tube) const;
  void Forgo(int consumer);  // its promise ends, abandoned
  std::vector<JobId> HeldInOrder(int consumer) const;
  Time FirstDeadline(int consumer) const;
  std::size_t ReadyIn(std::string_view tube) const;
  std::size_t PromisedIn(std::string_view tube) const;
  Job* Best(int consumer);
  Job* BestIn(std::string_view tube);
  int LongestWaiting(std::string_view tube) const;
  void BeginWait(int consumer, Wait wait, Time until);
  void EndWait(int consumer);
  void Serve(Time now, const std::string& tube, bool fresh);
  void Wake(Time now, int consumer, const std::string& tube);
  void WakeSleepers(std::string_view tube);
  void DropPromise(Time now, int consumer);
  void Take(Time now, Job& job, int consumer);
  void Become(Job& job, JobState state);
  void GetReady(Time now, Job& job);
  void GiveBack(Time now, Job& job, bool lost_try);
  void GiveBackAll(Time now, const std::vector<JobId>& ids, bool lost_try);
  // False: it is gone, or has failed.
  bool ComesBack(Job& job, bool lost_try);
  void Finish(Job& job, What what);
  void BuryJob(Job& job, What what);
  void FailJob(Job& job, What what);
  void Tell(Job& job, What what);
  void RestartTtr(Time now, Job& job);
  void Tidy();  // a pause ends with its tube
  void ConsumerDue(Time now, int consumer);

  const bool wake_all_;
  const std::uint32_t job_retries_;
  std::uint64_t next_wait_ = 1;
  std::uint64_t next_burial_ = 1;
  std::vector<int> promises_;  // who was woken, in order
};

}  // namespace gearstalk
