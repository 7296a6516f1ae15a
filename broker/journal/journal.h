#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/base/time_histogram.h"
#include "broker/journal/record.h"
#include "broker/journal/store_server.h"

namespace gearstalk {

// What bodies are read back for, the most urgent first.
enum class BodyUse : std::uint8_t { kReply, kAhead, kCarry, kQuery };

// After a read of a body that failed, until it is read again.
inline constexpr Time kReadAgain = 500 * kMillisecond;

// A body as it was read back.
struct BodyRead {
  enum class Result : std::uint8_t {
    kWhole,    // `body` is that of the job
    kDamaged,  // other bytes are there
    kFailed,   // nothing could be read: another try may do better
  };
  Result result = Result::kFailed;
  std::string_view body;
  std::string_view problem;  // names file and offset
  Time took = 0;             // from asking to having
};

// The live state: the engine's. The journal calls it on the loop's thread only.
class LiveState {
 public:
  // A record read back; called in log order. An error ends the replay.
  virtual Status Apply(const Record& record) = 0;

  // Calls `emit` with a kPut record that holds job `id` as it is now, or with the kSeen record of a
  // finished one, if it belongs in the journal; returns whether it did. This is how live jobs are
  // carried forward out of old segments (or re-appended by a replicated journal).
  virtual bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) = 0;

  // The bytes of the body of job `id` that Capture leaves out; 0: it does not.
  virtual std::uint32_t BodyLeftOut(std::uint64_t /*id*/) const { return 0; }

  // Whether the job is buried as damaged: then its record may be without a body.
  virtual bool RestsDamaged(std::uint64_t /*id*/) const { return true; }

  // Whether a replay may leave out bodies, which Fetch reads later.
  virtual bool TakesBodiesLater() const { return false; }

  // Jobs whose bodies a replay has let go and whose bodies must be here when it ends: OnBody is
  // called with each.
  virtual std::vector<std::uint64_t> MissingBodies() const { return {}; }

  // The answer to Journal::Fetch, in a later round. The views of `read` are valid during the call.
  virtual void OnBody(std::uint64_t /*id*/, const BodyRead& /*read*/) {}

  // Calls `emit` once with the next id, and for each schedule, each mark of a transfer, and each
  // tube whose settings outlive a restart.
  virtual void CaptureSettings(const std::function<void(const Record&)>& emit) = 0;

 protected:
  ~LiveState() = default;
};

// The durations of syncs, up to 1 s.
using SyncTimes = HistogramFrom<50 * kMicrosecond, 14>;

// Counters count since the start.
struct JournalStats {
  std::uint64_t appends = 0;  // records
  std::uint64_t appended_bytes = 0;
  std::uint64_t batches = 0;  // writes
  std::uint64_t syncs = 0;
  SyncTimes sync_times{};  // how long acknowledgements waited for the disk or the network
  bool failed = false;     // for good: it needs a restart
  bool full = false;       // there is no space, until there is some
};

// Of a journal that keeps its log in segments; all zero for one that does not.
struct SegmentStats {
  std::uint64_t oldest = 0;  // numbers
  std::uint64_t current = 0;
  std::uint64_t count = 0;
  std::uint64_t size = 0;            // of a new one, in bytes
  std::uint64_t stored_bytes = 0;    // of them all, and of what was set aside
  std::uint64_t live_bytes = 0;      // of live records
  std::uint64_t migrated = 0;        // records carried forward by compaction
  std::uint64_t migrated_bytes = 0;  // of them
  std::uint64_t released = 0;        // segments that left the log
};

// What was read again of a journal to find damage, since the start.
struct VerifyStats {
  std::uint64_t bytes = 0;
  std::uint64_t left_bytes = 0;
  Time ended = 0;  // when all had been read; 0: it has not
  std::uint64_t damaged = 0;
};

// The file system on which a journal lies.
struct DiskSpace {
  std::uint64_t total = 0;  // bytes; 0: there is none, or it is not known
  std::uint64_t free = 0;   // for files of this process
  std::uint64_t limit = 0;  // that has to stay free; 0: nothing
  // Less than that is free, or was and is not a tenth above it yet: no new jobs are taken.
  bool low = false;
  // The highest of 50, 75 and 90 percent that is in use; it is given up 5 percent below.
  std::uint64_t mark = 0;
  // Until the limit is reached at the rate of the last ten minutes; kNever: it does not fill.
  Time full_in = kNever;

  std::uint64_t used_percent() const { return total == 0 ? 0 : (total - free) * 100 / total; }
};
// A limit that is chosen by the size of the file system.
inline constexpr std::uint64_t kUsualFreeDisk = UINT64_MAX;

// How much of a journal that is replayed has been applied.
struct ReplayProgress {
  std::uint64_t records = 0, bytes = 0;
  std::uint64_t total_bytes = 0;
};

// The part of this broker among those that share its journal.
struct ReplicaStats {
  enum class Role : std::uint8_t {
    kStarting,
    kReading,    // replays what was there at the start
    kFollowing,  // applies what the active broker writes
    kAcquiring,
    kCatchingUp,  // leads, and replays the rest
    kActive,
    kOver,
  };

  bool shared = true;   // false: it is alone and leads; nothing else here counts
  std::string store{};  // what keeps the journal, by its name
  Role role = Role::kStarting;
  bool suspended = false;  // active, past its deadline
  bool isolated = false;   // suspended for long
  bool stuck = false;      // active, and what it writes is not confirmed for longer than a lease
  bool caught_up = false;  // it follows closely; of an active broker: a standby does
  bool leader_known = false;
  std::string leader{}, leader_address{};
  std::uint64_t epoch = 0;
  Time lease_left = 0;               // 0: not active
  std::uint64_t behind_batches = 0;  // known to be there, not applied
  std::uint64_t takeovers = 0;
  std::uint64_t suspensions = 0;
  Time suspended_time = 0;
  std::uint64_t append_retries = 0;
  std::uint64_t log_bytes = 0, max_bytes = 0;
  Time clock_skew = 0;    // the active broker's clock less this one's
  std::string trouble{};  // why it can neither lead nor follow; empty: it can
  std::vector<EndpointStats> endpoints{};
  std::optional<StoreServer> server{};  // of a store that has one
};

// What a journal tells the broker, on the loop's thread. A journal of this process alone calls
// OnReplaying, OnActive and OnServing from within Start; a replicated one calls OnFollowing, and
// the others when its turn comes.
class JournalEvents {
 public:
  // Now and then while it is replayed.
  virtual void OnReplaying(const ReplayProgress& progress) = 0;
  // Now and then while another broker may write it. `caught_up`: it is followed closely.
  virtual void OnFollowing(bool caught_up) = 0;
  // The state is whole and this broker may append; after it the journal asks the LiveState for
  // settings and the next id.
  virtual void OnActive() = 0;
  // Clients may be served from now on.
  virtual void OnServing() = 0;
  // Nothing may be read from clients, run, or sent until OnResumed. `isolated`: this lasts long
  // enough that clients should look for another broker.
  virtual void OnSuspended(bool isolated) = 0;
  virtual void OnResumed() = 0;
  // Nothing may be served or sent any more: the process ends with this exit code.
  virtual void OnOver(Status why, int exit_code) = 0;

 protected:
  ~JournalEvents() = default;
};

// Ids from here on are spare ones: see Journal::SpareIds.
inline constexpr std::uint64_t kFirstSpareId = std::uint64_t{1} << 52U;

// Ids below it are taken, by what a record says.
inline std::uint64_t NextIdAfter(const Record& record) {
  if (record.id >= kFirstSpareId) return 0;
  const bool names = record.kind == Record::Kind::kNextId || record.kind == Record::Kind::kEnd;
  return names ? record.id : record.id + 1;
}

// What a journal says of itself.
class JournalReports {
 public:
  // Whether it keeps anything. If not, callers need not make records, and Append returns 0.
  virtual bool Persistent() const = 0;
  // ok while it accepts all records; otherwise, why it does not.
  virtual Status Health() const = 0;
  // Whether clients may be served at this moment; reads the clock.
  virtual bool MayServe() const { return true; }
  // Bytes appended and not yet written. Above MostWaiting, no more jobs should be taken in.
  virtual std::uint64_t WaitingBytes() const = 0;
  virtual std::uint64_t MostWaiting() const { return 32 << 20; }
  virtual JournalStats Stats() const = 0;
  virtual SegmentStats Segments() const { return {}; }
  virtual VerifyStats Verified() const { return {}; }
  // While it is low, callers make no new jobs durable; all else goes on.
  virtual DiskSpace Disk() const { return {}; }
  // Valid until the next call.
  virtual const ReplicaStats& Replica() const {
    static const ReplicaStats alone{.shared = false, .role = ReplicaStats::Role::kActive};
    return alone;
  }

 protected:
  ~JournalReports() = default;
};

// Bodies of jobs that are not in memory.
class BodySource {
 public:
  // Whether the bodies of jobs can be read back: then those of records up to OnDisk need not stay
  // in memory, and Capture may leave them out.
  virtual bool KeepsBodies() const { return false; }
  // Records up to here are on disk, whatever counts as durable.
  virtual Lsn OnDisk() const { return 0; }
  // Reads the body of a live job; LiveState::OnBody is called once in a later round. Never blocks.
  virtual void Fetch(std::uint64_t /*id*/, BodyUse /*use*/) {}

 protected:
  ~BodySource() = default;
};

// Makes changes durable. All calls and callbacks are on the loop's thread; other threads wait for
// the disk or the network. Only broker/app knows which journal a broker has: memory_journal.h
// (nothing is kept), wal/wal_journal.h (segment files) or replica/replicated_journal.h (shared).
class Journal : public JournalReports, public BodySource {
 public:
  virtual ~Journal() = default;

  // Called once and first: replays the journal into `state`. `state` and `events` must
  // outlive the journal. An error means that the broker cannot run.
  virtual Status Start(LiveState& state, JournalEvents& events) = 0;

  // Takes one record and returns its position. Never blocks. A journal that keeps nothing returns
  // 0. After a failure the record is dropped: callers ask `Accepts` before they change anything.
  virtual Lsn Append(const Record& record) = 0;

  // Whether records of this kind can still be made durable; Health says why not.
  // Deletions are accepted longer than the rest, so that a full disk can be drained.
  virtual bool Accepts(Record::Kind kind) const = 0;

  // Whether there is space for a job with a body of so many bytes.
  virtual bool HasRoomFor(std::uint64_t /*body*/) const { return true; }

  // Leaves so many bytes of its file system free; kUsualFreeDisk: see DiskWatch.
  virtual void KeepFree(std::uint64_t /*bytes*/) {}
  // Reads what is on disk again, once now and then every week, at so many bytes a second; 0: never.
  virtual void Verify(std::uint64_t /*pace*/) {}

  // The first of 2^30 ids that no earlier broker can have given out: for jobs without a record
  // while kNextId is not accepted. 0: there are none.
  virtual std::uint64_t SpareIds() const { return 0; }

  // Does what is due, and returns when to call again; kNever: nothing will be due.
  virtual Time Tick(Time /*now*/) { return kNever; }

  // The end of a round: writes the records appended in it as one batch.
  virtual void Flush(Time now) = 0;

  // A descriptor, readable when OnNotify is to be called in the round, before Flush. -1: none.
  // Valid once Start has returned.
  virtual int NotifyFd() const { return -1; }
  virtual void OnNotify() {}

  // The durable position. It only grows; `on_durable` is called each time.
  virtual Lsn Durable() const = 0;
  virtual void SetOnDurable(std::function<void(Lsn)> on_durable) = 0;

  // `on_stuck` is called when the journal learns that records that were appended and are not
  // durable will never be (for_good), or not before there is space. Replies that wait for them have
  // to be given up.
  virtual void SetOnStuck(const std::function<void(bool for_good)>& /*on_stuck*/) {}

  // Lets another broker take over at once, then calls `done`. Nothing is appended after it.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it.
  virtual void Leave(std::function<void()> done) { done(); }
  // Makes durable what it can, and ends. No other call may follow.
  virtual Status Close() = 0;
};

// Ignores all events: for tools and tests, which serve no clients.
class NoEvents : public JournalEvents {
 public:
  virtual ~NoEvents() = default;
  void OnReplaying(const ReplayProgress& /*progress*/) override {}
  void OnFollowing(bool /*caught_up*/) override {}
  void OnActive() override {}
  void OnServing() override {}
  void OnSuspended(bool /*isolated*/) override {}
  void OnResumed() override {}
  void OnOver(Status /*why*/, int /*exit_code*/) override {}
};

}  // namespace gearstalk
