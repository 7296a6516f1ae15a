// From a directory into a shard that has no journal yet.

#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_recovery.h"
#include "broker/journal/wal/wal_scan.h"
#include "broker/replica/batch_writer.h"
#include "broker/replica/follower.h"
#include "broker/replica/log_space.h"
#include "broker/replica/replica_tools.h"
#include "broker/replica/store_call.h"

namespace gearstalk {
namespace {

// Sends records as a broker would.
class Importer {
 public:
  Importer(StoreCalls& calls, const LogStore::Acquired& acquired, std::uint64_t epoch)
      : calls_(calls), fence_(acquired.fence) {
    writer_.Begin(epoch, 1, 0, 0);
    writer_.BeginSegment(segment_, true);
  }
  Status Add(const Record& record) {
    bytes_ += writer_.Append(record);
    writer_.EndRound();
    if (bytes_ >= LogSpace::kSegmentBytes) {
      writer_.BeginSegment(++segment_, false);
      bytes_ = 0;
    }
    return writer_.waiting_bytes() < LogSpace::kSegmentBytes ? Status() : Send();
  }
  Status Send() {
    while (writer_.Ready() || writer_.InBatch()) {
      writer_.NextPart(WallClock(), 1, false);
      GS_TRY(calls_.Append(fence_, writer_.seq(), writer_.part(), 1));
      writer_.OnCommitted();
    }
    return {};
  }
  Lsn records() const { return writer_.last(); }

 private:
  StoreCalls& calls_;
  const Revision fence_;
  BatchWriter writer_;
  std::uint64_t segment_ = 1, bytes_ = 0;
};

// Counts what the log has; `next_id`: no id from there on was given out.
Status FindLive(const std::string& directory, Census& live, std::uint64_t& next_id) {
  WalRecovery recovery(SystemFileSystem(), directory);
  Status status = recovery.Run([&live](const Record& record, std::size_t size) {
    live.Count(record, 1, size);
    return Status();
  });
  next_id = std::max(live.next_id(), recovery.kept_ids());
  return status;
}

// With more live bytes a broker would refuse everything but deletions.
Status CheckSize(std::uint64_t bytes, std::uint64_t max_bytes) {
  if (bytes < max_bytes / 8 * 7) return {};
  return {Code::kInvalid, "the live jobs have " + std::to_string(bytes) +
                              " bytes; a broker with replica.max_bytes " +
                              std::to_string(max_bytes) + " would take no others"};
}

Status CopyLive(const std::string& directory, const Census& live, Importer& importer) {
  WalRecovery recovery(SystemFileSystem(), directory);
  Status sent;
  Status read = recovery.Run([&](const Record& record, std::size_t) {
    if (live.Needs(record)) sent = importer.Add(record);
    return sent;
  });
  // `read` would blame the file whose record could not be sent.
  GS_TRY(sent);
  return read;
}

// A shard without `meta`, so that no broker starts from half a journal: the import writes it last.
Status CheckUnused(StoreCalls& calls, const LogView& view) {
  const StoreWords& words = calls.words();
  GS_TRY(CheckImport(view, words));
  if (view.last != 0) {
    return {Code::kInvalid, "this shard has a journal already; choose another " + words.option};
  }
  if (view.leader_at != 0 && !view.leader.vacant) {
    return {Code::kInvalid,
            "the broker " + view.leader.broker + " leads this shard; stop all of its brokers"};
  }
  if (view.meta_at == 0) {
    const std::vector<LogPart> first = GS_TRY(calls.Read(1, view.at));
    return CheckRemains(first, words);
  }
  return {Code::kInvalid, "a broker has founded this shard already: stop all brokers of it, " +
                              words.erase + " (" + words.command + "), and import again"};
}

// Leads the shard, which nobody can found from then on.
Result<LogStore::Acquired> LeadUnused(StoreCalls& calls, Reign& reign) {
  const LogView view = GS_TRY(calls.Look());
  GS_TRY(CheckUnused(calls, view));
  reign.attempt = 1;
  reign.epoch = view.leader.epoch + 1;
  Result<LogStore::Acquired> acquired = calls.Acquire(view, reign);
  if (!acquired.ok()) return acquired;
  const LogView now = GS_TRY(calls.Look());
  if (now.meta_at == 0) return acquired;
  GS_TRY(calls.Release(acquired.value().fence, reign));
  return Status(Code::kInvalid,
                "a broker founded this shard at the same time; stop all of its brokers, " +
                    calls.words().erase + ", and import again");
}

Status FoundShard(StoreCalls& calls, const ReplicaOptions& options) {
  Status founded = calls.ReplaceMeta(0, NewShard(options));
  // An earlier try may have founded the shard.
  const Result<LogView> view = calls.Look();
  return view.ok() && view.value().meta_at != 0 ? Status() : founded;
}

}  // namespace

Status ImportReplica(LogStore& store, const ReplicaOptions& options, const std::string& directory,
                     std::string& report) {
  GS_TRY(FindJournal(SystemFileSystem(), directory));
  const auto lock = GS_TRY(LockDirectory(SystemFileSystem(), directory));
  Census live;
  std::uint64_t next_id = 0;
  GS_TRY(FindLive(directory, live, next_id));
  GS_TRY(CheckSize(live.bytes(), options.max_bytes));
  StoreCalls calls(store);
  GS_TRY(calls.Open());
  Reign reign = NewReign(options);
  reign.broker += " (import)";
  const LogStore::Acquired acquired = GS_TRY(LeadUnused(calls, reign));
  calls.BeatFor(acquired.fence, reign);
  Importer importer(calls, acquired, reign.epoch);
  Status status = CopyLive(directory, live, importer);
  if (status.ok()) status = importer.Add(NextIdRecord(next_id));
  if (status.ok()) status = importer.Send();
  // Founds the shard last, so that no broker starts from half a journal.
  if (status.ok()) status = FoundShard(calls, options);
  GS_TRY(std::move(status));
  GS_TRY(calls.Release(acquired.fence, reign));
  report += "imported " + std::to_string(live.jobs()) + " live jobs in " +
            std::to_string(importer.records()) + " records from " + directory + "\n";
  return {};
}

}  // namespace gearstalk
