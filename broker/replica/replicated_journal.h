#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/segmented_log.h"
#include "broker/replica/batch_writer.h"
#include "broker/replica/clock_skew.h"
#include "broker/replica/follower.h"
#include "broker/replica/log_space.h"
#include "broker/replica/log_store.h"
#include "broker/replica/reign.h"
#include "broker/replica/stored_bodies.h"

namespace gearstalk {

struct ReplicaOptions {
  std::string name;     // for people
  std::string address;  // for people
  std::string server_name;
  Time lease = 2 * kSecond;
  std::uint64_t max_bytes = 1 << 30;
  std::function<Time()> boot;             // reads CLOCK_BOOTTIME
  std::function<Time()> wall;             // reads CLOCK_REALTIME
  std::function<std::uint64_t()> random;  // a number drawn at random
};

// A reign of this process, with an id that no other has; without its epoch.
Reign NewReign(const ReplicaOptions& options);
// What the first broker of a shard writes.
ShardMeta NewShard(const ReplicaOptions& options);
// What the operator of a store without space has to know.
Status NoSpace(const Status& why, const StoreWords& words);

// The journal of a broker that shares a log with others. One of them is active and writes; the
// others follow. docs/replication.md has the protocol. A broker goes through these roles:
//
//   starting -> reading -> following -> acquiring -> catching up -> active
//                              ^------------'  lost the race
//
// An active broker whose deadline passed is suspended, and after another lease isolated; a
// confirmed beat ends both. It is over when another broker has acquired the shard.
//
// Flush sends the records of a round to the store; only it and OnNotify send anything.
class ReplicatedJournal final : public Journal,
                                private Medium,
                                private LogWatcher,
                                private Follower::Sink {
 public:
  ReplicatedJournal(ReplicaOptions options, std::unique_ptr<LogStore> store);

  Status Start(LiveState& state, JournalEvents& events) override;
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override;
  bool Accepts(Record::Kind kind) const override;
  std::uint64_t SpareIds() const override;
  Status Health() const override;
  Time Tick(Time now) override;
  void Flush(Time now) override;
  int NotifyFd() const override { return store_->NotifyFd(); }
  void OnNotify() override { store_->OnNotify(); }
  bool MayServe() const override;
  Lsn Durable() const override { return writer_.durable(); }
  void SetOnDurable(std::function<void(Lsn)> on_durable) override {
    on_durable_ = std::move(on_durable);
  }
  void SetOnStuck(const std::function<void(bool for_good)>& on_stuck) override {
    on_stuck_ = on_stuck;
  }
  std::uint64_t WaitingBytes() const override { return writer_.waiting_bytes(); }
  std::uint64_t MostWaiting() const override { return 8 << 20; }
  bool KeepsBodies() const override { return store_->KeepsBodies(); }
  Lsn OnDisk() const override { return writer_.durable(); }
  void Fetch(std::uint64_t id, BodyUse use) override;
  JournalStats Stats() const override;
  SegmentStats Segments() const override;
  const ReplicaStats& Replica() const override;
  void Leave(std::function<void()> done) override;
  Status Close() override { return {}; }

  LogStore& store() { return *store_; }

 private:
  using Role = ReplicaStats::Role;

  // A standby has caught up while it applies what a look shows within this time.
  static constexpr Time kBehind = 3 * kSecond;
  // An active broker that has heard of none for so long has no standby.
  static constexpr Time kStandbyAway = 30 * kSecond;

  // replicated_journal.cc: from the start to the turn to acquire
  void FirstLook();
  void LookForRemains(const LogView& view);
  void Found();
  void LookAtEnd(const LogView& view);
  void OnFirstLook(const LogView& view);
  Status CheckMeta(const ShardMeta& meta) const;
  void ReadPage();
  void OnPage(const StoreResult& result, const std::vector<LogPart>& parts);
  void ReadAgain();
  void ReadOn(const LogView& view);
  void OpenWatch();
  void FollowTick(Time now);
  Time NextFollowTick(Time now) const;
  void Look(Time now);
  void OnLook(const LogView& view);
  void NoteReign(const Reign& reign, Revision at);
  void NoteBeat(Revision beat, Revision at);
  bool ApplySlice(Time now);
  void Take(const LogPart& part);
  void NoteEvent();
  Time silent_at() const;

  void Announce(Time now);
  void NoteApplied();
  bool CaughtUp(Time now) const {
    return role_ == Role::kFollowing && fresh_ && (!ahead_ || now < ahead_->boot + kBehind);
  }

  // --- LogWatcher
  void OnPart(LogPart part) override;
  void OnReign(const Reign& reign, Revision at) override;
  void OnBeat(Revision beat, Revision at) override;
  void OnSeen(Revision at) override { seen_at_ = std::max(seen_at_, at); }
  void OnWatchEnd(const StoreResult& result) override;
  // --- Follower::Sink
  Status OnBatch(const PartHeader& first, std::uint64_t bytes,
                 const std::vector<std::uint32_t>& pieces) override;
  Status OnRecord(const Record& record, std::size_t size) override;

  // replicated_report.cc: what others are told
  void TellProgress(Time now);
  void TellOfStore(Time now);
  void WarnOfLargeFile(const StoreStats& store);
  bool IsStuck(Time now) const;
  std::string Trouble(const StoreStats& store, Time now) const;

  // replicated_active.cc: from the acquire to the end
  void Acquire();
  void OnAcquired(const StoreResult& result, const LogStore::Acquired& acquired, Time wait);
  void BecomeActive();
  void BeginSegment(bool barrier);
  void ActiveTick(Time now);
  Time NextActiveTick() const;
  void Beat(Time now);
  void OnBeatAnswer(const StoreResult& result, Time sent);
  void ServeIfReady(Time now);
  void NoteTenure(Time now);
  void Compact();
  void Send();
  void SendPart();
  void OnAppended(const StoreResult& result);
  void OnPartCommitted();
  void NoteFull(const Status& why);
  Time next_trim() const;
  void Trim(Time now);
  void OnTrimmed(const StoreResult& result, bool more, std::uint64_t below);
  void LookForStandby();
  void FinishLeaving();

  // replicated_bodies.cc: bodies that are left in the store, and read back
  Status Apply(const Record& record);
  bool AwaitsBodies();
  void OnBodyRead(const StoredBodies::Request& request, const BodyRead& read);
  void TakeMissing(const StoredBodies::Request& request, const BodyRead& read);
  std::uint64_t OldestNeeded() const;

  // --- Medium
  Compactor::Frame Write(const Record& record) override;
  std::optional<std::uint64_t> RoomIfFull() const override;
  bool ReadsBodies() const override { return KeepsBodies(); }
  void ReadToCarry(std::uint64_t id, std::uint32_t /*bytes*/) override {
    Fetch(id, BodyUse::kCarry);
  }
  Time Now() const override { return boot(); }

  void Fail(const StoreResult& result);
  void Over(Status why, int exit_code);
  const StoreWords& words() const { return store_->Words(); }
  bool reading() const { return role_ == Role::kReading || role_ == Role::kCatchingUp; }
  bool leads() const { return role_ == Role::kCatchingUp || role_ == Role::kActive; }
  Time boot() const { return options_.boot(); }

  const ReplicaOptions options_;
  const std::unique_ptr<LogStore> store_;
  LiveState* state_ = nullptr;
  JournalEvents* events_ = nullptr;
  std::function<void(Lsn)> on_durable_;
  std::function<void(bool)> on_stuck_;
  Role role_ = Role::kStarting;
  Role was_ = Role::kStarting;  // before it began to acquire
  Status no_lead_;              // why this broker cannot begin to lead
  Status may_not_write_;        // why, of a standby that was refused what it announced
  Time found_again_ = kNever;   // the shard, when the store had no space for it
  mutable ReplicaStats replica_;
  JournalStats stats_;

  // Following
  // What a look at the store has shown.
  struct Sight {
    Time boot = 0, wall = 0;  // when it was asked for
    std::uint64_t last = 0;   // the end of the log
  };

  Follower follower_{*this};
  SegmentedLog log_{*this};
  LogSpace space_{log_.compactor(), store_->KeepsBodies()};
  Silence silence_;
  ClockSkew skew_;
  LogView seen_;             // newest of each key
  Revision beat_as_of_ = 0;  // at which seen_.beat_at was so
  Revision read_at_ = 0;     // pages are read at this revision
  std::uint64_t read_to_ = 0;
  PageSize page_;
  bool page_asked_ = false;
  bool read_again_ = false;  // from the next look on: history was compacted
  bool watching_ = false;
  bool followed_ = false;   // a watch has told something
  int silent_watches_ = 0;  // watches in a row that told nothing
  Revision seen_at_ = 0;    // the watch told everything up to here
  Time last_event_ = 0;
  Time watch_again_ = kNever;
  bool looking_ = false;
  bool must_look_ = false;  // before the next acquire
  Time next_look_ = 0;
  Time acquire_from_ = 0;       // several brokers do not acquire a vacant shard at the same moment
  Sight sight_;                 // the newest one
  std::optional<Sight> ahead_;  // a sight of which not all has been applied
  bool fresh_ = false;          // the one before was applied within kBehind
  bool told_caught_up_ = false;
  Time announce_again_ = 0;  // that it has caught up
  bool announcing_ = false;
  Time tell_again_ = 0;
  Time answered_ = 0;  // when the store was last heard
  Time tell_of_store_ = 0, trouble_since_ = 0;
  bool large_told_ = false;

  // Leading
  Reign reign_;
  Revision fence_ = 0;
  Tenure tenure_;
  Tenure::State told_ = Tenure::State::kActive;
  bool beating_ = false;
  bool serving_ = false;
  Time serve_from_ = 0;  // the one that led before may act until then
  BatchWriter writer_;
  Lsn barrier_ = 0;
  Status full_;  // the store has no space
  Time send_again_ = kNever;
  Time part_sent_ = 0;
  Time suspended_at_ = 0, past_suspended_ = 0;
  bool trimming_ = false;
  Time last_trim_ = 0;
  std::uint64_t trimmed_ = 0;  // keys below are gone
  Time look_for_standby_ = 0;
  Revision standby_at_ = 0;  // of the key of standbys
  Time standby_seen_ = 0;    // when it was seen to change
  StoredBodies bodies_{*store_, space_, options_.boot,
                       [this](const StoredBodies::Request& request, const BodyRead& read) {
                         OnBodyRead(request, read);
                       },
                       [this](const StoreResult& result) { Fail(result); }};
  bool missing_asked_ = false;  // for what has to be here before this broker leads
  std::set<std::uint64_t> missing_;
  std::function<void()> leave_done_;
  bool releasing_ = false;
  Time wall_now_ = 0;  // of the round, for headers
};

}  // namespace gearstalk
