#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/journal/store_server.h"

namespace gearstalk {

// The revision of the whole store at which a key was written last; 0: there is no such key.
using Revision = std::int64_t;

// The value of `leader`.
struct Reign {
  std::string broker;   // replica.name
  std::string address;  // replica.address
  std::string id;       // of the process, drawn at random
  std::uint64_t attempt = 0;
  std::uint64_t epoch = 0;
  Time lease = 0;
  bool vacant = false;
};

// The value of `meta`.
struct ShardMeta {
  std::uint32_t format = 0;
  std::uint32_t shard = 0;
  std::string server_name;
  std::string created;  // for people
};

// The small keys of a shard at one revision.
struct LogView {
  Revision at = 0;
  // `beat_at` is 0 under a leader that holds on while the store has no space for its beats.
  Revision leader_at = 0, beat_at = 0, tail_at = 0, meta_at = 0, standby_at = 0;
  Reign leader;                        // if leader_at is not 0
  ShardMeta meta;                      // if meta_at is not 0
  std::uint64_t last = 0, oldest = 1;  // sequence numbers out of `tail`
};

// What messages call a kind of store and its parts.
struct StoreWords {
  std::string name;       // its own
  std::string within;     // a journal is "below" ...
  std::string shard;      // ... a "prefix"
  std::string option;     // of the configuration, that names the shard
  std::string erase;      // what removes a shard: "delete all keys below the prefix"
  std::string command;    // of a shell that does so
  std::string backup;     // what the store is restored from: "snapshot"
  std::string make_room;  // what gives it space: "compact its history, ..."
};

// kCorrupt: an import has begun and not ended. It leads from its beginning on, and writes `meta`
// last.
inline Status CheckImport(const LogView& view, const StoreWords& words) {
  if (view.meta_at != 0 || (view.leader_at == 0 && view.last == 0)) return {};
  return {Code::kCorrupt,
          "meta is missing: the import of this journal was not finished (unless it still runs, " +
              words.erase + ", and import again), or keys of it were deleted (restore " +
              words.name + ")"};
}

// kCorrupt: something that is no broker deleted a key of a shard, which brokers never delete.
inline Status KeyIsMissing(const std::string& key, const StoreWords& words) {
  return {Code::kCorrupt,
          key + " is missing: keys of this journal were deleted; restore " + words.name};
}

// One key of the log.
struct LogPart {
  std::uint64_t seq = 0;
  std::string bytes;
};

// Some bytes of a part.
struct PartPiece {
  std::uint64_t seq = 0;
  std::uint32_t offset = 0;  // in the part, header included
  std::uint32_t size = 0;
};

enum class StoreAnswer : std::uint8_t {
  kDone,
  kFenced,   // another broker acquired the shard; of an acquire: it lost the race
  kFull,     // not done: the store has no space
  kTrimmed,  // what was asked for is not kept any more
  kRefused,  // of an acquire or announcement: not done, until the operator acts; the Status says
             // how
  kFailed,   // not done, and trying again would not help; the Status says why: kJournal if a fresh
             // process may find the store usable
};

struct StoreResult {
  StoreAnswer answer = StoreAnswer::kDone;
  Status why;  // of kFull, kRefused and kFailed

  bool done() const { return answer == StoreAnswer::kDone; }
};

inline StoreResult Fenced() { return {StoreAnswer::kFenced, {}}; }
inline StoreResult FailedWith(Status why) { return {StoreAnswer::kFailed, std::move(why)}; }

// Whether this acquire made `leader` what it is.
inline bool IsSameReign(const Reign& leader, const Reign& reign) {
  return leader.id == reign.id && leader.attempt == reign.attempt && !leader.vacant;
}

// How long a store waits for an answer before it tries again beside the first try: beats, acquires
// and looks; and what carries bytes.
inline Time QuickHedge(Time lease) { return std::max(lease / 8, 200 * kMillisecond); }
inline Time SlowHedge(Time lease) { return std::max(lease / 4, 500 * kMillisecond); }

// How many parts to ask for at once: pages of many small batches would cost a round trip for few
// bytes each.
class PageSize {
 public:
  std::uint64_t parts() const { return parts_; }
  // A page had so many bytes.
  void OnPage(std::uint64_t bytes) {
    if (bytes <= kBytes / 2) parts_ = std::min(2 * parts_, kMost);
    if (bytes > 2 * kBytes) parts_ = std::max(parts_ / 2, std::uint64_t{1});
  }

 private:
  static constexpr std::uint64_t kMost = 128;  // parts have up to 256 KiB
  static constexpr std::uint64_t kBytes = 1 << 20;

  std::uint64_t parts_ = 16;
};

// What changes in a shard, in the order of the store.
class LogWatcher {
 public:
  virtual void OnPart(LogPart part) = 0;
  virtual void OnReign(const Reign& reign, Revision at) = 0;
  // `beat`: the revision that wrote it; 0: the leader deleted it, to hold on without space.
  virtual void OnBeat(Revision beat, Revision at) = 0;
  // Everything up to this revision was told.
  virtual void OnSeen(Revision at) = 0;
  // The watch is over; kDone: open another one after the last revision that was seen.
  virtual void OnWatchEnd(const StoreResult& result) = 0;

 protected:
  ~LogWatcher() = default;
};

struct StoreStats {
  std::vector<EndpointStats> endpoints;
  std::uint64_t append_retries = 0;  // tries of appends after the first
  std::string trouble;               // why the last call got no answer; empty: it got one
  std::optional<StoreServer> server;
};

// A shard of a store that is shared by brokers: the keys of docs/replication.md. Everything is
// called and calls back on the loop's thread. Every call is answered exactly once, never from
// within the call. A call whose outcome is not known goes out again, with the same bytes, until it
// is known: callers need no timeouts, and may wait for ever while the store is not there.
//
// Times are those of CLOCK_BOOTTIME.
class LogStore {
 public:
  using Done = std::function<void(StoreResult)>;
  using LookDone = std::function<void(StoreResult, const LogView&)>;
  using BeatDone = std::function<void(StoreResult, Time sent)>;
  using TrimDone = std::function<void(StoreResult, bool more)>;
  using ReadDone = std::function<void(StoreResult, std::vector<LogPart>)>;
  using FetchDone = std::function<void(StoreResult, const std::vector<std::string>&)>;

  virtual ~LogStore() = default;

  // Before anything else. kFailed: the store cannot be used as it is configured. Answered also
  // where the store cannot be reached.
  virtual void Open(Done done) = 0;
  // The loop calls OnNotify when the descriptor is readable; -1: never.
  virtual int NotifyFd() const = 0;
  virtual void OnNotify() = 0;
  // Sends second tries that are due; returns when to call again.
  virtual Time Tick(Time now) = 0;

  virtual void Look(LookDone done) = 0;
  // Writes `meta` if there is none, and no leader, which an import would be. kFenced: there is one.
  virtual void Found(const ShardMeta& meta, Done done) = 0;
  // Replaces `meta`, if it is still that of revision `seen`.
  virtual void ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) = 0;

  // A standby has caught up: writes `standby`. kRefused: it may not write, and so could not lead.
  virtual void Announce(const Reign& standby, Done done) = 0;

  // Becomes the leader if nothing happened since `seen`. `fence` is the revision that every later
  // write names, `last` the end of the log, `sent` when the first try left.
  struct Acquired {
    Revision fence = 0;
    std::uint64_t last = 0, oldest = 1;
    Time sent = 0;
    Revision at = 0;  // at which the log can be read up to `last`
  };
  using AcquireDone = std::function<void(StoreResult, const Acquired&)>;
  virtual void Acquire(const LogView& seen, const Reign& reign, AcquireDone done) = 0;
  // One at a time, in rising order; `bytes` stays until the answer. `oldest`: the log is needed
  // from there on. kFailed: something else writes to this log.
  virtual void Append(Revision fence, std::uint64_t seq, const std::string& bytes,
                      std::uint64_t oldest, Done done) = 0;
  // Without space it deletes `beat` instead, which shows that the leader holds on. `sent`: when
  // the try that worked left.
  virtual void Beat(Revision fence, std::uint64_t epoch, BeatDone done) = 0;
  // Leaves the leader's key vacant.
  virtual void Release(Revision fence, const Reign& reign, Done done) = 0;
  // Deletes a slice of what is below `below`; `more`: there may be more.
  virtual void Trim(Revision fence, std::uint64_t below, TrimDone done) = 0;

  // `count` parts from `from` on, as they were at revision `at`; fewer at the end of the log.
  virtual void Read(std::uint64_t from, std::uint64_t count, Revision at, ReadDone done) = 0;
  // Whether pieces of parts can be read, so that bodies need not stay in memory.
  virtual bool KeepsBodies() const { return false; }
  // Reads pieces of parts. A piece that the log has no more, or not whole, comes shorter. `fence`
  // 0: for a broker that does not lead. kFailed: the store is there and cannot read one of them;
  // with the status kCorrupt it never will.
  virtual void Fetch(Revision /*fence*/, const std::vector<PartPiece>& /*pieces*/,
                     const FetchDone& /*done*/) {}
  // Watches from the revision `from` on, instead of what was watched before.
  virtual void Follow(Revision from, LogWatcher& watcher) = 0;
  virtual void StopFollowing() = 0;

  virtual StoreStats Stats() const = 0;
  virtual const StoreWords& Words() const = 0;
};

}  // namespace gearstalk
