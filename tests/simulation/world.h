#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/faulty_file_system.h"
#include "tests/replica/fake_store.h"
#include "tests/simulation/broker.h"
#include "tests/simulation/client.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/plan.h"

namespace gearstalk::simulation {

// Where the bytes go that a broker sends to a client that is gone.
class Nobody final : public Ear {
 public:
  Nobody(const Clock& clock, Ledger& ledger) : clock_(clock), ledger_(ledger) {}
  void OnBytes(std::string_view) override { ledger_.Forget(this, clock_.Now()); }
  void OnClosed() override {}

 private:
  const Clock& clock_;
  Ledger& ledger_;
};

// A run: a broker, its disk, its clients and what goes wrong; or brokers that share a store. One
// thread. The same plan gives
// the same run, event by event.
class World {
 public:
  World(const Plan& plan, bool verbose);
  ~World();

  // What was not as promised; empty: everything was.
  std::string Run();
  Time elapsed() const { return now() - began_; }
  // Of everything that happened.
  std::uint64_t digest() const { return digest_; }

  static constexpr std::uint32_t kDefaultTtr = 20;    // seconds
  static constexpr Time kLatestBreak = 60 * kSecond;  // a broker hears of a reset so much later
  static constexpr Time kExpiry = 3 * kSecond;        // where jobs expire
  static constexpr int kMostTries = 3;

  // --- For clients
  Time now() const { return clock_.Now(); }
  Random& random() { return random_; }
  Ledger& ledger() { return ledger_; }
  const Plan& plan() const { return plan_; }
  // nullptr: it is down.
  Broker* broker() { return broker_.get(); }
  // The number of the process; 0: it is down.
  std::uint64_t life() const { return broker_ == nullptr ? 0 : life_; }
  // The engine's number of a tube; 0: it is not there.
  std::uint64_t NumberOf(const std::string& tube) const;
  // nullptr: nobody listens.
  Connection* Accept(Ear& ear) { return broker_ == nullptr ? nullptr : broker_->Accept(ear); }
  void After(Time delay, std::function<void()> what);
  // What the broker calls `time`; its seconds may be a little longer or shorter than ours.
  Time TimeOfBroker(Time time) const;
  // Whether reads of bodies that have left memory may fail.
  bool ReadsFail() const {
    return plan_.Has(Feature::kColdBodies) &&
           (plan_.Has(Feature::kIoErrors) || plan_.Has(Feature::kDescriptors));
  }
  // The broker takes nothing in before that.
  Time awake_at() const { return awake_at_; }
  const std::vector<std::string>& tubes() const { return tubes_; }
  // What its policy does with jobs of a tube.
  static bool Expires(const std::string& tube) { return tube == "p-expires"; }
  static bool Remembers(const std::string& tube) { return tube == "p-unique"; }
  static bool HasPolicy(const std::string& tube) { return tube.starts_with('p'); }
  // nullptr: its policy has no groups.
  const GroupPlan* GroupsOf(const std::string& tube) const;
  // Of a new job, if its tube has groups.
  void ChooseGroup(KnownJob& job);
  Nobody& nobody() { return nobody_; }
  bool healed() const { return healed_; }
  // Nothing but a policy may be the reason to refuse a job.
  bool honest() const;
  void Say(const std::string& what);
  // Lets so much time pass: for those who wait inside of an event.
  void GoOn(Time time) { RunUntil(now() + time); }
  // Somebody was told of a put.
  void CheckDurable(JobId id);
  // Since when no new jobs are taken; kNever: they are.
  Time draining_since() const { return draining_since_; }

 private:
  using Loss = FaultyFileSystem::Loss;

  void RunUntil(Time until);
  void Advance(Time to);
  void ListJobs() const;
  void RunRound();
  bool Start();
  // Whether the disk may be the reason why something fails.
  bool DiskFails() const {
    return disk_failed_ || disk_full_ || no_descriptors_ || disk_.stopped();
  }
  void Crash(Loss loss);
  void Restart(Time after);
  // Of each job that outlives the process: what no restart changes.
  static std::map<JobId, std::string> PlacesOf(const Engine& engine);
  // Of tubes with jobs, and their ends.
  static std::map<std::string, Time> PausesOf(const Engine& engine);
  void CheckPlaces();
  void StopInOrder();
  std::unique_ptr<Journal> NewJournal();
  Time WriterDelay();
  Broker::Options OptionsOfBroker();
  void PlanTubes();
  void PlanGroups();
  GroupPlan NewGroups(const GroupPlan& old);
  // With those of the groups.
  PolicyRules Policies() const;
  void TellPolicies(Time since);
  bool AdoptPolicies(Broker& broker);

  // schedules.cc
  void PlanSchedules();
  std::optional<KnownJob> ExpectScheduled(std::string_view body) const;
  void WatchSchedules();
  void CheckSchedule(const Schedule& schedule);
  void EndSchedules();
  void StepClock();
  void PlanReload();
  void Reload();
  void PlanDrain();
  void SetDraining(bool draining);
  void MakeClients();

  // shared.cc: brokers that share a store
  // One of them. `broker` is the process, unless it is the one that serves.
  struct Member {
    std::string name;
    FakeLink link;
    std::unique_ptr<Broker> broker;
    Time awake_at = 0;
    FakeClock clock;
    Time ahead = 0, boot_ahead = 0;  // of its clock, and of that which begins with the host
    std::int64_t drift = 0;          // in millionths
  };
  bool shared() const { return plan_.Has(Feature::kReplicated); }
  void StartMembers();
  void StartMember(Member& member);
  std::unique_ptr<Journal> SharedJournal(Member& member);
  // A process of a member; nullptr: it is down.
  Broker* ProcessOf(const Member& member) const {
    return &member == leader_ ? broker_.get() : member.broker.get();
  }
  Time NextRound() const;
  Time NextOfMembers() const;
  void RunStore();
  void RunMembers();
  void Lead(Member& member);
  void Follow(Member& member);
  void End(Member& member, const std::string& why);
  void DisturbMember();
  void SetClock(Member& member) const;
  void DisturbStore(Member& member);
  void HealStore();
  void CheckFollowers();

  // faults.cc
  void PlanFault();
  void Disturb();
  void DisturbClient();
  void Kill(bool power);
  bool DiesAfterReplies();
  Loss LossOf(bool power) {
    return !power ? Loss::kNone : random_.OneIn(2) ? Loss::kAll : Loss::kSome;
  }
  void FailCalls();
  void FillDisk();
  void FailOpens();
  void GiveDescriptors();
  void KillLater();
  void Rot();
  void Heal();

  // ending.cc: after the faults
  void Finish();
  bool SomebodyWaits() const;
  void CheckWaits();
  // Asks the broker, and gives it time to answer.
  using Question = std::function<std::string(const std::string&)>;
  void Drain();
  void Open(const Question& ask);
  bool TakeOne(const Question& ask);
  void CheckEmpty();
  void CheckSpace();

  const Plan plan_;
  const bool verbose_;
  Random random_;
  FakeClock clock_;
  const Time began_;
  FaultyFileSystem disk_;
  Simulation network_;
  FakeShard shard_;
  std::vector<std::unique_ptr<Member>> members_;
  Member* leader_ = nullptr;  // whose process is `broker_`
  bool heard_ = false;        // a member has heard of the store
  Ledger ledger_;
  Nobody nobody_{clock_, ledger_};
  std::unique_ptr<Broker> broker_;  // that serves
  std::vector<std::unique_ptr<Client>> clients_;
  Operator operator_{*this};
  std::multimap<Time, std::function<void()>> events_;
  std::vector<std::string> tubes_;
  std::vector<PolicyEntry> policies_;
  std::vector<GroupPlan> groups_;
  bool long_names_ = false;      // of groups
  std::size_t max_running_ = 0;  // of p-running
  std::uint64_t policies_version_ = 0;
  std::vector<Schedule> schedules_;
  std::map<std::string, Schedule> all_schedules_;  // since the run began
  inline static Time wall_ahead_ = 0, wall_ = 0;   // one world at a time
  Time wall_most_ = 0;                             // the latest that it has said
  Time served_from_ = 0;                           // when the broker began to, or its clock stepped
  std::uint64_t segment_size_ = 0;
  Sync sync_ = Sync::kAlways;
  WalJournal* wal_ = nullptr;  // the broker's
  // Of the broker that was stopped in order; none, if it died or its disk failed.
  std::optional<std::map<JobId, std::string>> stopped_places_;
  std::map<std::string, Time> stopped_pauses_;
  Time awake_at_ = 0;   // paused until then
  bool power_ = false;  // the next death is that of the machine
  bool dying_ = false;  // a call is set at which it dies
  bool disk_failed_ = false, disk_full_ = false, no_descriptors_ = false, rotten_ = false,
       starting_ = false, healed_ = false;
  Time draining_since_ = kNever;
  std::uint64_t life_ = 0;
  std::uint64_t rounds_at_once_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace gearstalk::simulation
