// import: a source is read twice. The first pass checks everything and makes the fingerprint, the
// second one sends. The mark in the broker's journal says how far earlier runs came.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/ctl/put_window.h"
#include "admin/ctl/report.h"
#include "admin/ctl/source.h"
#include "admin/ctl/transfer_client.h"

namespace gearstalk::ctl {
namespace {

using transfer::Ids;
using transfer::Type;

// While the broker accepts nothing, tries for a minute.
constexpr int kBusyTries = 120;
constexpr unsigned kBusyPause = 500'000;  // microseconds

struct Options {
  std::string source, name, ids = "auto", id_map;
  std::vector<std::string> tubes, renames;
  bool dry_run = false, retire = false, is_volatile = false;
  SourceOptions of_source;
  Target target;
  Report report{"import", "imported"};

  Parameters AsParameters();
};

Parameters Options::AsParameters() {
  Parameters parameters = {
      {"source", &source,
       "binlog:DIR, sqlite:FILE, mysql://USER[:PW]@HOST[:PORT]/DB, postgres:CONNINFO, "
       "redis://[:PW@]HOST[:PORT]/N or jobs:FILE",
       kRequired}};
  target.AddTo(parameters, "--to");
  parameters.push_back({"--dry-run", &dry_run, "Read and check the source, send nothing"});
  report.AddTo(parameters);
  parameters.insert(parameters.end(),
                    {{"--source", &name, "Name of the transfer"},
                     {"--ids", &ids, "Whether jobs keep their ids", OneOf({"auto", "keep", "new"})},
                     {"--id-map", &id_map, "Write 'OLD NEW' for each job to a file"},
                     {"--tube", &tubes, "Only this tube; may be repeated"},
                     {"--rename", &renames, "Another name for a tube: OLD=NEW"},
                     {"--accept-damage", &of_source.accept_damage, "Import what can be read"},
                     {"--retire", &retire, "Take the source out of use after success"},
                     {"--volatile", &is_volatile, "The target may have no data directory"},
                     {"--table", &of_source.table, "Table of the store"},
                     {"--charset", &of_source.charset, "Character set of a MySQL connection"},
                     {"--prefix", &of_source.prefix, "Prefix of redis keys"},
                     {"--function", &of_source.functions, "A function of redis keys"}});
  return parameters;
}

class Import {
 public:
  Import(Options& options, Report& report) : options_(options), report_(report) {}

  Status Run();

 private:
  Status ReadOptions();
  Status ReadSource();
  bool Selected(const Record& record) const;
  void Rename(Record& record) const;
  Result<transfer::MarkOf> OpenKnown(transfer::Opening opening);
  Status CheckNew();
  Status Begin(transfer::Mark& before);
  Status SendAll(const transfer::Mark& before);
  Status SendTubes();
  Status SendOne(PutWindows& windows, const SourceJob& job);
  Status Finish(const transfer::Mark& before);
  Status ReportMark(const transfer::Mark& before);
  Status ReportAfterFailure(const transfer::Mark& before);
  Status RetireSource();
  transfer::Opening OpeningOf() const;

  Options& options_;
  Report& report_;
  std::map<std::string, std::string, std::less<>> renames_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<TransferClient> client_;
  Survey survey_;
  std::uint64_t place_ = 0, bytes_ = 0;
  bool keep_ids_ = false, finished_ = false;
  std::vector<std::uint64_t> old_ids_;  // of the jobs, by place, for --id-map
  std::FILE* id_map_ = nullptr;
};

Status Import::ReadOptions() {
  for (const std::string& rename : options_.renames) {
    const std::size_t sign = rename.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == rename.size()) {
      return {Code::kInvalid, "--rename '" + rename + "': expected OLD=NEW"};
    }
    if (rename.size() - sign - 1 > 200) {
      return {Code::kInvalid, "--rename '" + rename + "': a tube has at most 200 bytes"};
    }
    renames_[rename.substr(0, sign)] = rename.substr(sign + 1);
  }
  Result<std::unique_ptr<Source>> source = OpenSource(options_.source, options_.of_source);
  if (!source.ok()) return source.status();
  source_ = std::move(source.value());
  report_.source = options_.name.empty() ? source_->Name() : options_.name;
  if (options_.retire && !source_->CanRetire()) return source_->Retire();
  return {};
}

bool Import::Selected(const Record& record) const {
  return options_.tubes.empty() || std::find(options_.tubes.begin(), options_.tubes.end(),
                                             record.tube) != options_.tubes.end();
}

void Import::Rename(Record& record) const {
  const auto renamed = renames_.find(record.tube);
  if (renamed != renames_.end()) record.tube = renamed->second;
}

Status Import::ReadSource() {
  Status status = source_->Read(survey_, [&](const SourceJob& job) {
    if (!Selected(job.job)) return Status();
    SourceJob renamed = job;
    Rename(renamed.job);
    if (job.refused.empty()) {
      report_.Found(renamed.job);
    } else {
      report_.FoundRefused();
    }
    if (!options_.id_map.empty()) old_ids_.push_back(job.job.id);
    return Status();
  });
  for (Note& note : survey_.notes) report_.AddNote(std::move(note));
  if (!status.ok()) return status;
  report_.damaged = survey_.damaged;
  if (survey_.damaged && !options_.of_source.accept_damage) {
    return {Code::kCorrupt, report_.source +
                                " is damaged; --accept-damage imports what can be "
                                "read"};
  }
  report_.ids = options_.ids == "new" || survey_.smallest_id == 0 ? "new" : "keep";
  // The selection and the renames are part of the transfer's identity.
  if (survey_.fingerprint != kRetired) {
    std::string selection;
    for (const std::string& tube : options_.tubes) selection += " tube " + tube;
    for (const std::string& rename : options_.renames) selection += " rename " + rename;
    survey_.fingerprint += selection;
    if (!survey_.before_retire.empty()) survey_.before_retire += selection;
  }
  return {};
}

transfer::Opening Import::OpeningOf() const {
  transfer::Opening opening;
  opening.name = report_.source;
  opening.kind = "import";
  opening.fingerprint = survey_.fingerprint;
  opening.ids = options_.ids == "keep"  ? Ids::kKeep
                : options_.ids == "new" ? Ids::kNew
                                        : Ids::kAuto;
  opening.smallest_id = survey_.smallest_id;
  opening.next_id = survey_.next_id;
  opening.burials = survey_.burials;
  return opening;
}

// The mark of an earlier run, if there is one. A kill may have interrupted the Retire of a finished
// transfer.
Result<transfer::MarkOf> Import::OpenKnown(transfer::Opening opening) {
  Result<transfer::MarkOf> known = client_->Open(opening);
  if (known.ok() || known.status().code() != Code::kInUse) return known;
  if (survey_.before_retire.empty()) return known;
  opening.fingerprint = survey_.before_retire;
  Result<transfer::MarkOf> retiring = client_->Open(opening);
  transfer::Mark mark;
  const bool finished =
      retiring.ok() && transfer::Mark::Decode(retiring->mark, mark) && mark.finished;
  return finished ? retiring : known;
}

// The same content may have been imported under the name of another place. --source says that it is
// meant.
Status Import::CheckNew() {
  if (!options_.name.empty() || report_.found.jobs() == 0) return {};
  const Result<std::string> other = client_->KnownAs(
      report_.source, [&](const std::string& /*name*/, const transfer::Mark& mark) {
        return mark.fingerprint == survey_.fingerprint;
      });
  if (!other.ok()) return other.status();
  if (other.value() == report_.source) return {};
  return {Code::kInUse,
          fmt::format("{} has the content of {}, which is known there: --source {} goes on with "
                      "that transfer, another --source NAME imports the jobs once more",
                      report_.source, other.value(), other.value())};
}

Status Import::Begin(transfer::Mark& before) {
  Result<std::unique_ptr<TransferClient>> client = TransferClient::Connect(options_.target);
  if (!client.ok()) return client.status();
  client_ = std::move(client.value());
  transfer::Opening opening = OpeningOf();
  opening.create = false;
  opening.any_fingerprint = survey_.fingerprint == kRetired;
  Result<transfer::MarkOf> known = OpenKnown(opening);
  if (!known.ok()) return known.status();
  if (!known->persistent && !options_.is_volatile) {
    return {Code::kIo, options_.target.Name() +
                           " has no data directory: what is imported is lost when it ends; "
                           "--volatile accepts that"};
  }
  if (!known->known) {
    if (survey_.fingerprint == kRetired) {
      return {Code::kIo, report_.source + " was taken out of use by an import into another broker"};
    }
    if (options_.ids == "keep" && survey_.smallest_id == 0) {
      return {Code::kInvalid, "--ids keep: the jobs of this source have no ids"};
    }
    if (Status status = CheckNew(); !status.ok()) return status;
    opening.create = true;
    known = client_->Open(opening);
    for (int tries = 0; tries < kBusyTries && !known.ok(); ++tries) {
      if (known.status().code() != Code::kDraining) break;
      report_.Progress(0, 0, known.status().message());
      ::usleep(kBusyPause);
      known = client_->Open(opening);
    }
    if (!known.ok()) return known.status();
  } else {
    report_.resumed = true;
  }
  if (!transfer::Mark::Decode(known->mark, before)) return {Code::kIo, "a mark that is damaged"};
  source_->SetClasses(client_->classes());
  keep_ids_ = before.keep_ids;
  finished_ = before.finished;
  report_.ids = keep_ids_ ? "keep" : "new";
  report_.already = before.settled;
  return {};
}

Status Import::SendTubes() {
  for (const transfer::OwnedRecord& each : survey_.tubes) {
    Record tube = each.View();
    if (!Selected(tube)) continue;
    Rename(tube);
    client_->Add(Type::kTube, tube);
  }
  if (survey_.tubes.empty()) return {};
  const Result<transfer::Ack> ack = client_->Sync();
  return ack.ok() ? Status() : ack.status();
}

Status Import::SendOne(PutWindows& windows, const SourceJob& source) {
  Record job = source.job;
  Rename(job);
  if (!source.refused.empty()) {
    transfer::Mark change{.settled = place_};
    change.jobs.push_back({.key = source.key,
                           .tube = std::string(job.tube),
                           .job = 0,
                           .kind = transfer::OutcomeKind::kRefused,
                           .text = source.refused});
    return windows.AddOutcome(change);
  }
  if (!keep_ids_) job.id = 0;
  bytes_ += job.body.size();
  return windows.AddPut(job,
                        {.source_key = source.key, .settled = place_, .altered = source.altered});
}

Status Import::SendAll(const transfer::Mark& before) {
  if (Status status = SendTubes(); !status.ok()) return status;
  if (!options_.id_map.empty()) {
    id_map_ = std::fopen(options_.id_map.c_str(), before.settled > 0 ? "a" : "w");
    if (id_map_ == nullptr) return {Code::kIo, "--id-map " + options_.id_map + ": cannot be made"};
    std::setvbuf(id_map_, nullptr, _IOLBF, BUFSIZ);  // what is told is there after a kill
  }
  const std::size_t under_way =
      options_.target.data_dir.empty() ? PutWindows::kToBroker : PutWindows::kToJournal;
  PutWindows windows(
      *client_, under_way, before.settled,
      [&](std::uint64_t place, std::uint64_t id) {
        if (id_map_ == nullptr || id == 0 || place > old_ids_.size()) return;
        std::fputs(fmt::format("{} {}\n", old_ids_[place - 1], id).c_str(), id_map_);
      },
      [&](const std::string& why) { report_.Progress(windows.acknowledged(), bytes_, why); });
  Status sent;
  Status status = source_->ReadAgain([&](const SourceJob& job) {
    if (!Selected(job.job)) return Status();
    if (++place_ <= before.settled) return Status();
    report_.Progress(windows.acknowledged(), bytes_);
    return sent = SendOne(windows, job);
  });
  if (status.ok()) {
    status = windows.Finish();
  } else if (sent.ok()) {
    // The source failed: what was sent of it counts.
    std::ignore = windows.Await();
  }
  if (!status.ok()) report_.done = windows.acknowledged() - before.settled;
  if (id_map_ != nullptr) {
    const bool whole = std::ferror(id_map_) == 0;
    if ((std::fclose(id_map_) != 0 || !whole) && status.ok()) {
      status = {Code::kIo, "--id-map " + options_.id_map + ": cannot be written"};
    }
  }
  return status;
}

Status Import::Finish(const transfer::Mark& before) {
  if (!finished_) {
    client_->Add(Type::kAdvance, transfer::Mark{.finished = true});
    if (const Result<transfer::Ack> ack = client_->Sync(); !ack.ok()) return ack.status();
  }
  if (Status status = ReportMark(before); !status.ok()) return status;
  return client_->Close();
}

Status Import::ReportMark(const transfer::Mark& before) {
  transfer::Opening opening = OpeningOf();
  opening.create = false;
  opening.any_fingerprint = true;
  const Result<transfer::MarkOf> end = client_->Open(opening);
  if (!end.ok()) return end.status();
  transfer::Mark mark;
  if (!transfer::Mark::Decode(end.value().mark, mark)) return {Code::kIo, "a mark that is damaged"};
  report_.TakeMark(mark, before);
  return {};
}

Status Import::RetireSource() {
  if (!options_.retire || survey_.fingerprint == kRetired) return {};
  return source_->Retire();
}

Status Import::Run() {
  if (Status status = ReadOptions(); !status.ok()) return status;
  if (Status status = ReadSource(); !status.ok()) return status;
  if (options_.dry_run) return {};
  transfer::Mark before;
  if (Status status = Begin(before); !status.ok()) return status;
  if (finished_) {
    fmt::print("already imported\n");
    report_.damaged = false;
    report_.TakeMark(before, before);
    if (Status status = RetireSource(); !status.ok()) return status;
    return client_->Close();
  }
  Status status = SendAll(before);
  if (!status.ok()) {
    std::ignore = ReportAfterFailure(before);
    return status;
  }
  if (status = Finish(before); !status.ok()) return status;
  return RetireSource();
}

// A broker that still answers also knows which jobs were joined or refused. Of a directory, what is
// on the disk counts: it is opened again.
Status Import::ReportAfterFailure(const transfer::Mark& before) {
  if (!options_.target.data_dir.empty()) {
    client_ = nullptr;
    Result<std::unique_ptr<TransferClient>> again = TransferClient::Connect(options_.target);
    if (!again.ok()) return again.status();
    client_ = std::move(again.value());
  }
  return ReportMark(before);
}

int RunImport(Options& options) {
  Report& report = options.report;
  report.dry_run = options.dry_run;
  report.to = options.target.Name();
  report.Begin();
  Import import(options, report);
  const Status status = import.Run();
  return report.End(ExitOf(status), status.message());
}

}  // namespace

Call ImportCall() { return BindMove(RunImport); }

}  // namespace gearstalk::ctl
