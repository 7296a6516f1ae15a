#include "broker/replica/replica_tools.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "broker/base/wall_clock.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/no_events.h"
#include "broker/journal/wal/directory_lock.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_recovery.h"
#include "broker/replica/batch_writer.h"
#include "broker/replica/follower.h"
#include "broker/replica/store_call.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kSegmentBytes = 4 << 20;

std::string Count(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what;
}

std::string Described(const LogView& view) {
  std::string text = "format " + std::to_string(view.meta.format) + ", server_name " +
                     view.meta.server_name + ", created " + view.meta.created + "\n";
  if (view.leader_at == 0) return text + "no broker has led yet\n";
  const Reign& reign = view.leader;
  text += "reign: epoch " + std::to_string(reign.epoch) + ", " + reign.broker + " at " +
          reign.address + ", lease " + std::to_string(reign.lease / kMillisecond) + " ms" +
          (reign.vacant ? ", vacant\n" : "\n");
  return text + "parts " + PartName(view.oldest) + " to " + PartName(view.last) + "\n";
}

Status CheckMeta(const LogView& view) {
  if (view.meta_at == 0) return {Code::kNotFound, "there is no journal below this prefix"};
  return CheckFormat(view.meta.format);
}

// The revision at which the log from `next` on can be read, when that at which it was read was
// compacted; 0: it was trimmed.
Revision LaterRevision(StoreCalls& calls, std::uint64_t next, Revision at) {
  const Result<LogView> now = calls.Look();
  return now.ok() && now.value().oldest <= next && now.value().at > at ? now.value().at : 0;
}

// Goes over all parts of a log up to what was its end; parts never change.
Status ForEachPart(StoreCalls& calls, const LogView& view,
                   const std::function<Status(LogPart)>& visit) {
  Revision at = view.at;
  for (std::uint64_t next = view.oldest; next <= view.last;) {
    Result<std::vector<LogPart>> page = calls.Read(next, at);
    if (!page.ok() && page.status().code() == Code::kJournal) {
      if (at = LaterRevision(calls, next, at); at != 0) continue;
    }
    if (!page.ok()) return page.status();
    if (page.value().empty()) return {Code::kCorrupt, PartName(next) + ": is missing"};
    next = page.value().back().seq + 1;
    for (LogPart& part : page.value()) {
      if (part.seq > view.last) return {};
      if (Status status = visit(std::move(part)); !status.ok()) return status;
    }
  }
  return {};
}

// What is live at the end, counted, by segment.
class Survey final : public Follower::Sink {
 public:
  struct Segment {
    std::uint64_t first = 0, batches = 0, bytes = 0, live = 0;
  };

  Status OnBatch(const PartHeader& first, std::uint64_t bytes) override {
    current_ = first.segment;
    Segment& segment = segments_[current_];
    if (segment.batches++ == 0) segment.first = first.seq;
    segment.bytes += bytes;
    return {};
  }
  Status OnRecord(const Record& record, std::size_t) override {
    ++records_;
    if (record.kind == Record::Kind::kPut) {
      Leave(jobs_.Set(record.id, current_, 1));
      ++segments_[current_].live;
    }
    if (record.kind == Record::Kind::kDelete) Leave(jobs_.Erase(record.id));
    return {};
  }
  std::string Text() const {
    std::string text;
    for (const auto& [number, segment] : segments_) {
      text += "segment " + std::to_string(number) + " from " + PartName(segment.first) + ": " +
              Count(segment.batches, "batches, ") + Count(segment.bytes, "bytes, ") +
              Count(segment.live, "live jobs\n");
    }
    return text + Count(records_, "records, ") + Count(jobs_.size(), "live jobs\n");
  }

 private:
  void Leave(const LiveJobs::Place& place) {
    if (place.segment != 0) --segments_[place.segment].live;
  }

  std::map<std::uint64_t, Segment> segments_;
  LiveJobs jobs_;
  std::uint64_t current_ = 0, records_ = 0;
};

// Follows a log beyond damage: behind a part that cannot be taken it begins again with the next
// one.
class Inspection {
 public:
  explicit Inspection(std::uint64_t oldest) { Restart(oldest); }

  void Take(LogPart part) {
    const std::uint64_t seq = part.seq;
    if (seq > follower_->next()) {
      damage_ +=
          "damaged: " + PartName(follower_->next()) + " to " + PartName(seq - 1) + ": missing\n";
      Restart(seq);
    }
    Status status = follower_->Take(std::move(part));
    if (status.ok()) status = follower_->Apply([] { return false; });
    if (status.ok()) return;
    damage_ += "damaged: " + status.message() + "\n";
    Restart(seq + 1);
  }
  const std::string& damage() const { return damage_; }
  std::string Text() const { return survey_.Text(); }

 private:
  void Restart(std::uint64_t seq) {
    follower_.emplace(survey_);
    follower_->Begin(seq);
  }

  Survey survey_;
  std::optional<Follower> follower_;
  std::string damage_;
};

}  // namespace

Status CheckReplica(LogStore& store, std::string& report) {
  StoreCalls calls(store);
  if (Status status = calls.Open(); !status.ok()) return status;
  const Result<LogView> view = calls.Look();
  if (!view.ok()) return view.status();
  if (Status status = CheckMeta(view.value()); !status.ok()) return status;
  report += Described(view.value());
  Inspection inspection(view.value().oldest);
  std::uint64_t end = view.value().oldest;
  const Status read = ForEachPart(calls, view.value(), [&](LogPart part) -> Status {
    end = part.seq + 1;
    inspection.Take(std::move(part));
    return {};
  });
  report += inspection.Text() + inspection.damage();
  if (!read.ok() && read.code() != Code::kCorrupt) return read;
  if (!read.ok()) {
    report += "damaged: " + PartName(end) + " to " + PartName(view.value().last) + ": missing\n";
  }
  if (read.ok() && inspection.damage().empty()) return {};
  return {Code::kCorrupt,
          "the replicated journal is damaged: restore etcd from a snapshot, or a new shard with "
          "--journal-import from an export"};
}

namespace {

// Writes what it is told into a write-ahead log. Nothing is compacted: the broker that opens it
// does.
class Exporter final : public Follower::Sink, public LiveState {
 public:
  explicit Exporter(WalJournal& journal) : journal_(journal) {}

  Status OnBatch(const PartHeader&, std::uint64_t) override {
    journal_.Flush(0);
    return journal_.Health();
  }
  Status OnRecord(const Record& record, std::size_t) override {
    journal_.Append(record);
    ++records_;
    return {};
  }
  Status Apply(const Record&) override { return {}; }
  bool Capture(std::uint64_t, const std::function<void(const Record&)>&) override { return false; }
  void CaptureSettings(const std::function<void(const Record&)>&) override {}
  std::uint64_t records() const { return records_; }

 private:
  WalJournal& journal_;
  std::uint64_t records_ = 0;
};

}  // namespace

Status ExportReplica(LogStore& store, const std::string& directory, std::string& report) {
  StoreCalls calls(store);
  if (Status status = calls.Open(); !status.ok()) return status;
  const Result<LogView> view = calls.Look();
  if (!view.ok()) return view.status();
  if (Status status = CheckMeta(view.value()); !status.ok()) return status;
  if (const int error = SystemFileSystem().MakeDirectory(directory); error != 0) {
    return Fault{error, "mkdir", directory}.ToStatus();
  }
  WalOptions options;
  options.directory = directory;
  options.own_thread = false;
  options.compact = false;
  options.sync = SyncMode::kOff;
  Result<std::unique_ptr<WalJournal>> journal = WalJournal::Open(options);
  if (!journal.ok()) return journal.status();
  Exporter exporter(*journal.value());
  NoEvents events;
  if (Status status = journal.value()->Start(exporter, events); !status.ok()) return status;
  Follower follower(exporter);
  follower.Begin(view.value().oldest);
  const Status read = ForEachPart(calls, view.value(), [&](LogPart part) {
    Status status = follower.Take(std::move(part));
    return status.ok() ? follower.Apply([] { return false; }) : status;
  });
  if (!read.ok()) return read;
  if (Status status = journal.value()->Close(); !status.ok()) return status;
  report += "exported " + Count(exporter.records(), "records up to ") +
            PartName(view.value().last) + " into " + directory + "\n";
  return {};
}

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
    if (bytes_ >= kSegmentBytes) {
      writer_.BeginSegment(++segment_, false);
      bytes_ = 0;
    }
    return writer_.waiting_bytes() < kSegmentBytes ? Status() : Send();
  }
  Status Send() {
    while (writer_.Ready() || writer_.InBatch()) {
      writer_.NextPart(WallClock(), 1, false);
      Status status = calls_.Append(fence_, writer_.seq(), writer_.part(), 1);
      if (!status.ok()) return status;
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

bool IsOfOneJob(const Record& record) {
  return record.kind == Record::Kind::kPut || record.kind == Record::Kind::kChange ||
         record.kind == Record::Kind::kDelete || record.kind == Record::Kind::kCount;
}

// The ids that live at the end of a write-ahead log.
Status FindLive(const std::string& directory, LiveJobs& live) {
  WalRecovery recovery(SystemFileSystem(), directory);
  return recovery.Run([](const WalRecovery::Segment&) {},
                      [&live](const Record& record, std::size_t) -> Status {
                        if (record.kind == Record::Kind::kPut) live.Set(record.id, 1, 1);
                        if (record.kind == Record::Kind::kDelete) live.Erase(record.id);
                        return {};
                      },
                      [](const FollowProgress&) {});
}

Status CopyLive(const std::string& directory, const LiveJobs& live, Importer& importer) {
  WalRecovery recovery(SystemFileSystem(), directory);
  return recovery.Run([](const WalRecovery::Segment&) {},
                      [&](const Record& record, std::size_t) -> Status {
                        const bool dead = IsOfOneJob(record) && live.Find(record.id).segment == 0;
                        return dead || record.kind == Record::Kind::kEnd ? Status()
                                                                         : importer.Add(record);
                      },
                      [](const FollowProgress&) {});
}

// A shard without a journal: founds it if nobody has.
Result<LogView> UnusedShard(StoreCalls& calls, const ReplicaOptions& options) {
  Result<LogView> view = calls.Look();
  if (view.ok() && view.value().meta_at == 0) {
    const Status founded = calls.ReplaceMeta(0, {kReplicaFormat, 0, options.server_name, "import"});
    if (!founded.ok()) return founded;
    view = calls.Look();
  }
  if (!view.ok()) return view;
  if (view.value().last != 0) {
    return Status(Code::kInvalid, "this shard has a journal already; choose another etcd.prefix");
  }
  if (view.value().leader_at != 0 && !view.value().leader.vacant) {
    return Status(Code::kInvalid, "the broker " + view.value().leader.broker +
                                      " leads this shard; stop all of its brokers");
  }
  if (Status status = CheckFormat(view.value().meta.format); !status.ok()) return status;
  if (view.value().meta.server_name != options.server_name) {
    return Status(Code::kInvalid,
                  "server_name: this shard belongs to '" + view.value().meta.server_name + "'");
  }
  return view;
}

}  // namespace

Status ImportReplica(LogStore& store, const ReplicaOptions& options, const std::string& directory,
                     std::string& report) {
  auto lock = LockDirectory(SystemFileSystem(), directory);
  if (!lock.ok()) return lock.status();
  LiveJobs live;
  if (Status status = FindLive(directory, live); !status.ok()) return status;
  StoreCalls calls(store);
  if (Status status = calls.Open(); !status.ok()) return status;
  const Result<LogView> view = UnusedShard(calls, options);
  if (!view.ok()) return view.status();
  Reign reign;
  reign.broker = options.name + " (import)";
  reign.address = options.address;
  reign.id = std::to_string(options.random());
  reign.attempt = 1;
  reign.epoch = view.value().leader.epoch + 1;
  reign.lease = options.lease;
  const Result<LogStore::Acquired> acquired = calls.Acquire(view.value(), reign);
  if (!acquired.ok()) return acquired.status();
  calls.BeatFor(acquired.value().fence, reign);
  Importer importer(calls, acquired.value(), reign.epoch);
  Status status = CopyLive(directory, live, importer);
  if (status.ok()) status = importer.Send();
  if (!status.ok()) return status;
  if (status = calls.Release(acquired.value().fence, reign); !status.ok()) return status;
  report += "imported " + Count(live.size(), "live jobs in ") +
            Count(importer.records(), "records from ") + directory + "\n";
  return {};
}

Status UpgradeReplica(LogStore& store, std::string& report) {
  StoreCalls calls(store);
  if (Status status = calls.Open(); !status.ok()) return status;
  const Result<LogView> view = calls.Look();
  if (!view.ok()) return view.status();
  if (view.value().meta_at == 0) return {Code::kNotFound, "there is no journal below this prefix"};
  ShardMeta meta = view.value().meta;
  const std::string now = "format " + std::to_string(kReplicaFormat);
  if (meta.format > kReplicaFormat) {
    return {Code::kInvalid, "the journal has format " + std::to_string(meta.format) +
                                ", newer than this gearstalkd's " + now};
  }
  if (meta.format == kReplicaFormat) {
    report += "the journal has " + now + " already\n";
    return {};
  }
  const std::uint32_t before = std::exchange(meta.format, kReplicaFormat);
  const Status status = calls.ReplaceMeta(view.value().meta_at, meta);
  if (status.ok()) report += "raised format " + std::to_string(before) + " to " + now + "\n";
  return status;
}

}  // namespace gearstalk
