#include "broker/replica/replica_tools.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "broker/journal/journal.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/replica/follower.h"
#include "broker/replica/store_call.h"

namespace gearstalk {
namespace {

std::string Described(const LogView& view) {
  std::string text = absl::StrCat("format ", view.meta.format, ", server_name ",
                                  view.meta.server_name, ", created ", view.meta.created, "\n");
  if (view.leader_at == 0) return text + "no broker has led yet\n";
  const Reign& reign = view.leader;
  absl::StrAppend(&text, "reign: epoch ", reign.epoch, ", ", reign.broker, " at ", reign.address,
                  ", lease ", reign.lease / kMillisecond, " ms", reign.vacant ? ", vacant\n" : "\n",
                  "parts ", PartName(view.oldest), " to ", PartName(view.last), "\n");
  return text;
}

Status NoJournal(const StoreWords& words) {
  return {Code::kNotFound, "there is no journal " + words.within + " this " + words.shard};
}

Status CheckMeta(StoreCalls& calls, const LogView& view) {
  if (view.meta_at != 0) return CheckFormat(view.meta.format);
  GS_TRY(CheckImport(view, calls.words()));
  const std::vector<LogPart> first = GS_TRY(calls.Read(1, view.at));
  GS_TRY(CheckRemains(first, calls.words()));
  return NoJournal(calls.words());
}

// The revision at which the log from `next` on can be read, when that at which it was read was
// compacted; 0: it was trimmed.
Revision LaterRevision(StoreCalls& calls, std::uint64_t next, Revision at) {
  const Result<LogView> now = calls.Look();
  return now.ok() && now.value().oldest <= next && now.value().at > at ? now.value().at : 0;
}

// If the store has compacted that revision, a broker trims the journal, and has checked the end at
// its start.
Status CheckEnd(StoreCalls& calls, const LogView& view) {
  const Result<std::vector<LogPart>> end =
      calls.Read(std::max<std::uint64_t>(view.last, 1), view.at);
  if (end.ok()) return CheckTail(view, end.value());
  return end.status().code() == Code::kJournal ? Status() : end.status();
}

// Goes over all parts of a log up to what was its end; parts never change.
Status ForEachPart(StoreCalls& calls, const LogView& view,
                   const std::function<Status(const LogPart&)>& visit) {
  Revision at = view.at;
  for (std::uint64_t next = view.oldest; next <= view.last;) {
    Result<std::vector<LogPart>> page = calls.Read(next, at);
    if (!page.ok() && page.status().code() == Code::kJournal) {
      if (at = LaterRevision(calls, next, at); at != 0) continue;
    }
    if (!page.ok()) return page.status();
    if (page.value().empty()) return {Code::kCorrupt, PartName(next) + ": is missing"};
    next = page.value().back().seq + 1;
    for (const LogPart& part : page.value()) {
      if (part.seq > view.last) return {};
      GS_TRY(visit(part));
    }
  }
  return {};
}

std::string Missing(std::uint64_t from, std::uint64_t to) {
  return absl::StrCat("damaged: ", PartName(from), " to ", PartName(to), ": missing\n");
}

// What each segment has.
class Survey final : public Follower::Sink {
 public:
  struct Segment {
    std::uint64_t first = 0, batches = 0, bytes = 0;
  };

  Status OnBatch(const PartHeader& first, std::uint64_t bytes,
                 const std::vector<std::uint32_t>&) override {
    current_ = first.segment;
    Segment& segment = segments_[current_];
    if (segment.batches++ == 0) segment.first = first.seq;
    segment.bytes += bytes;
    return {};
  }
  Status OnRecord(const Record& record, std::size_t size) override {
    census_.Count(record, current_, size);
    return {};
  }
  std::string Text() const {
    std::string text;
    for (const auto& [number, segment] : segments_) {
      absl::StrAppend(&text, "segment ", number, " from ", PartName(segment.first), ": ",
                      segment.batches, " batches, ", segment.bytes, " bytes, ",
                      census_.JobsIn(number), " live jobs\n");
    }
    return absl::StrCat(text, census_.records(), " records, ", census_.jobs(), " live jobs\n");
  }

 private:
  std::map<std::uint64_t, Segment> segments_;
  Census census_;
  std::uint64_t current_ = 0;
};

// Follows a log beyond damage: behind a part that cannot be taken it begins again with the next
// one.
class Inspection {
 public:
  explicit Inspection(std::uint64_t oldest) { Restart(oldest); }

  void Take(const LogPart& part) {
    const std::uint64_t seq = part.seq;
    if (seq > follower_->next()) {
      damage_ += Missing(follower_->next(), seq - 1);
      Restart(seq);
    }
    Status status = follower_->Take(part);
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
  GS_TRY(calls.Open());
  const LogView view = GS_TRY(calls.Look());
  GS_TRY(CheckMeta(calls, view));
  report += Described(view);
  Status tail = CheckEnd(calls, view);
  if (!tail.ok() && tail.code() != Code::kCorrupt) return tail;
  Inspection inspection(view.oldest);
  std::uint64_t end = view.oldest;
  Status read = ForEachPart(calls, view, [&](const LogPart& part) -> Status {
    end = part.seq + 1;
    inspection.Take(part);
    return {};
  });
  report += inspection.Text() + inspection.damage();
  if (!read.ok() && read.code() != Code::kCorrupt) return read;
  if (!read.ok()) report += Missing(end, view.last);
  if (!tail.ok()) report += "damaged: " + tail.message() + "\n";
  if (read.ok() && tail.ok() && inspection.damage().empty()) return {};
  return {Code::kCorrupt, "the replicated journal is damaged: restore " + calls.words().name +
                              " from a " + calls.words().backup +
                              ", or a new shard with --journal-import from an export"};
}

namespace {

// Writes the records that it gets into a write-ahead log. The broker that opens it compacts it.
class Exporter final : public Follower::Sink, public LiveState {
 public:
  explicit Exporter(WalJournal& journal) : journal_(journal) {}

  Status OnBatch(const PartHeader&, std::uint64_t, const std::vector<std::uint32_t>&) override {
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

Status ExportInto(const std::string& directory, StoreCalls& calls, const LogView& view,
                  Lsn& records) {
  WalOptions options;
  options.directory = directory;
  options.own_thread = false;
  options.compact = false;
  options.sync = Sync::kSystem;
  std::unique_ptr<WalJournal> journal = GS_TRY(WalJournal::Open(options));
  Exporter exporter(*journal);
  NoEvents events;
  GS_TRY(journal->Start(exporter, events));
  Follower follower(exporter);
  follower.Begin(view.oldest);
  GS_TRY(ForEachPart(calls, view, [&](const LogPart& part) {
    Status status = follower.Take(part);
    return status.ok() ? follower.Apply([] { return false; }) : status;
  }));
  records = exporter.records();
  return journal->Close();
}

// Gives the directory `beside` its name.
Status Finish(const std::string& beside, const std::string& directory) {
  FileSystem& files = SystemFileSystem();
  GS_TRY(Fault{files.Rename(beside, directory), "rename", beside}.ToStatus());
  const std::size_t slash = directory.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : directory.substr(0, slash + 1);
  return Fault{SyncDirectory(files, parent), "fsync", parent}.ToStatus();
}

}  // namespace

// Half a journal looks like a whole one, so it is written beside its name, which it gets at the
// end.
Status ExportReplica(LogStore& store, const std::string& to, std::string& report) {
  StoreCalls calls(store);
  GS_TRY(calls.Open());
  const LogView view = GS_TRY(calls.Look());
  GS_TRY(CheckMeta(calls, view));
  GS_TRY(CheckEnd(calls, view));
  const std::string directory = to.substr(0, to.find_last_not_of('/') + 1);
  const std::string beside = directory + ".new";
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored)) {
    return Fault{-EEXIST, "mkdir", directory}.ToStatus();
  }
  const Fault made{SystemFileSystem().MakeDirectory(beside), "mkdir", beside};
  if (made.error == -EEXIST) {
    return {Code::kIo, absl::StrCat("mkdir ", beside,
                                    ": File exists: of an export that runs, or was "
                                    "killed; if none runs, remove it")};
  }
  GS_TRY(made.ToStatus());
  Lsn records = 0;
  Status status = ExportInto(beside, calls, view, records);
  if (status.ok()) status = Finish(beside, directory);
  if (!status.ok()) {
    std::filesystem::remove_all(beside, ignored);
    return status;
  }
  absl::StrAppend(&report, "exported ", records, " records up to ", PartName(view.last), " into ",
                  directory, "\n");
  return {};
}

Status UpgradeReplica(LogStore& store, std::string& report) {
  StoreCalls calls(store);
  GS_TRY(calls.Open());
  const LogView view = GS_TRY(calls.Look());
  if (view.meta_at == 0) return CheckMeta(calls, view);
  ShardMeta meta = view.meta;
  const std::string now = absl::StrCat("format ", kReplicaFormat);
  if (meta.format > kReplicaFormat) {
    return {Code::kInvalid, absl::StrCat("the journal has format ", meta.format,
                                         ", newer than this gearstalkd's ", now)};
  }
  if (meta.format == kReplicaFormat) {
    report += "the journal has " + now + " already\n";
    return {};
  }
  const std::uint32_t before = std::exchange(meta.format, kReplicaFormat);
  Status status = calls.ReplaceMeta(view.meta_at, meta);
  if (status.ok()) absl::StrAppend(&report, "raised format ", before, " to ", now, "\n");
  return status;
}

}  // namespace gearstalk
