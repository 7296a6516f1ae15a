#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "broker/postgres/caller.h"
#include "broker/postgres/conninfo.h"
#include "broker/postgres/statements.h"
#include "broker/replica/log_store.h"

namespace gearstalk::postgres {

// A shard in a schema of PostgreSQL: the row of `shard`, and a row of `part` for each part. Every
// write names the epoch in that row, and raises its revision, while it holds the row.
//
// A row that is visible may still be lost by the next promotion: what is found to be there counts
// as done when a later commit was confirmed (Statements::Confirm).
class PostgresStore final : public LogStore {
 public:
  // `hosts` come from HostsOf. `max_bytes`: of the log. `boot` reads CLOCK_BOOTTIME.
  PostgresStore(PostgresOptions options, std::vector<Host> hosts, std::uint64_t max_bytes,
                std::function<Time()> boot);

  void Open(Done done) override { open_done_ = std::move(done); }
  int NotifyFd() const override { return caller_.notify_fd(); }
  void OnNotify() override;
  Time Tick(Time now) override;

  void Look(LookDone done) override;
  void Found(const ShardMeta& meta, Done done) override;
  void ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) override;
  void Announce(const Reign& standby, Done done) override;
  void Acquire(const LogView& seen, const Reign& reign, AcquireDone done) override;
  void Append(Revision fence, std::uint64_t seq, const std::string& bytes, std::uint64_t oldest,
              Done done) override;
  void Beat(Revision fence, std::uint64_t epoch, BeatDone done) override;
  void Release(Revision fence, const Reign& reign, Done done) override;
  void Trim(Revision fence, std::uint64_t below, TrimDone done) override;
  void Read(std::uint64_t from, std::uint64_t count, Revision at, ReadDone done) override;
  bool KeepsBodies() const override { return true; }
  void Fetch(Revision fence, const std::vector<PartPiece>& pieces, const FetchDone& done) override;
  void Follow(Revision from, LogWatcher& watcher) override;
  void StopFollowing() override { watch_.watcher = nullptr; }
  StoreStats Stats() const override;
  const StoreWords& Words() const override { return kPostgresWords; }

  // At SIGHUP: connects anew with what is in the files now.
  void Reconnect(std::vector<Host> hosts) { caller_.Reconnect(std::move(hosts)); }

 private:
  // An acquire whose answer is awaited.
  struct Acquiring {
    LogView seen;
    Reign reign;
    AcquireDone done;
    std::uint64_t place = 0;  // of the server beside which no other one is primary
    Time sent = 0;            // when the first try left; 0: none has
  };
  // An append whose answer is awaited.
  struct Appending {
    std::uint64_t epoch = 0, seq = 0, oldest = 1;
    const std::string* bytes = nullptr;
    Done done;
    int rooms = 0;  // that were made for it
  };
  // What a watch goes on from.
  struct Watching {
    LogWatcher* watcher = nullptr;  // nullptr: nobody watches
    std::uint64_t number = 0;       // of the watch
    Revision from = 0;
    Revision leader_at = 0, beat = -1;
    Time again = 0;
  };

  CallPlan Quick(Statement statement, std::string answers = {}) const;
  CallPlan Slow(Statement statement, std::string answers = {}) const;
  std::uint64_t EpochOf(Revision fence) const;
  StoreResult OlderState(std::uint64_t last) const;
  StoreResult Lost(std::uint64_t seq, std::uint64_t last) const;
  StoreResult Missing() const;
  // --- the beginning
  void AdvanceOpen();
  void CheckPooler(const Done& done);
  void SendLook(LookDone done);
  void MakeTables(const Done& done);
  void WriteMeta(Statement statement, Done done);
  void AskFacts(Time now);
  void NoteFacts(const Facts& facts);
  // --- leading
  void Survey(Acquiring acquiring);
  void SendAcquire(const Acquiring& acquiring);
  void LookForAcquire(const Acquiring& acquiring);
  void JudgeAcquire(const Acquiring& acquiring, const CallAnswer& answer);
  void EndBlockers(std::int64_t pid, std::uint64_t seen, std::uint64_t epoch);
  void SendAppend(const Appending& append);
  void OnAppend(const Appending& append, const CallAnswer& answer);
  Done WithRoom(const Appending& append);
  void LookForAppend(const Appending& append);
  StoreResult Foreign(const std::string& what) const;
  void OnAppended(const Appending& append);
  void LookForBeat(Revision fence, std::uint64_t epoch, BeatDone done);
  // --- partitions
  void MakeRoom(Done done);
  void OnRoom(const StoreResult& result);
  std::uint64_t WidthAfter(const std::vector<Partition>& partitions) const;
  void DropBelow(std::uint64_t below, const TrimDone& done);
  // --- following
  void Poll(Time now);
  void OnPoll(const CallAnswer& answer);
  void TellParts(const Rows& rows, const LogView& view);
  void EndWatch(const StoreResult& result);
  void NoteSeen(const LogPart& part, std::uint64_t server);
  void CheckSeen();
  void ConfirmSeen(Time now);

  const PostgresOptions options_;
  const Statements statements_;
  const std::uint64_t max_bytes_;
  const std::function<Time()> boot_;
  Caller caller_;
  Done open_done_;
  bool pooler_checked_ = false;
  bool has_tables_ = false;
  Time ask_facts_ = 0;  // again
  bool asking_facts_ = false;
  std::uint64_t told_of_ = 0;  // number of the server whose facts were logged
  std::string told_standbys_;
  std::size_t primaries_ = 0;

  bool ending_blockers_ = false;
  Revision fence_ = 0;  // of the last acquire
  std::uint64_t epoch_ = 0;
  std::uint64_t last_ = 0;    // of this broker's appends
  std::uint64_t oldest_ = 0;  // that the shard's row says
  Time notify_after_ = 0;
  std::uint64_t room_to_ = 0;   // partitions end there; 0: not known
  std::uint64_t width_ = 0;     // of the last partition
  std::uint64_t first_to_ = 0;  // the first partition ends there; 0: not known
  bool making_room_ = false;
  std::vector<Done> room_awaited_;

  Watching watch_;
  bool polling_ = false;  // for this watch or one before
  // The part behind those that were read; 0: the first one of the watch's revision. Revisions of
  // two servers cannot be compared once one of them was promoted.
  std::uint64_t next_ = 0;
  std::uint64_t looked_last_ = 0;  // the highest last part that a look has shown
  PageSize page_;
  LogPart seen_;                 // the last part that was read
  std::uint64_t seen_at_ = 0;    // number of the server that it was read from
  std::uint64_t confirmed_ = 0;  // up to here, parts are on the standbys, too
  bool confirming_ = false;
  Time confirm_after_ = 0;
};

}  // namespace gearstalk::postgres
