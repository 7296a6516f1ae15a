// import: a source is read twice. The first pass checks everything and makes the fingerprint, the
// second one sends. The mark in the broker's journal says how far earlier runs came.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <tuple>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/put_window.h"
#include "admin/move/report.h"
#include "admin/move/sources/source.h"
#include "admin/move/transfer_client.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Ids;
using transfer::Type;

// While the broker accepts nothing, tries for a minute.
constexpr int kBusyTries = 120;
constexpr unsigned kBusyPause = 500'000;  // microseconds

struct Options {
  std::string source, name, ids = "auto", id_map;
  transfer::Selection selection;
  std::vector<std::string> renames;
  bool dry_run = false, retire = false, is_volatile = false;
  SourceOptions of_source;
  Target target;
  Report report{"import", "imported"};

  Parameters AsParameters() {
    Parameters parameters = {
        {"source", &source,
         "binlog:DIR, sqlite:FILE, mysql://USER[:PW]@HOST[:PORT]/DB, postgres:CONNINFO, "
         "redis://[:PW@]HOST[:PORT]/N or jobs:FILE",
         kRequired}};
    target.AddTo(parameters, "--to");
    parameters.push_back({"--dry-run", &dry_run, "Read and check the source, send nothing"});
    report.AddTo(parameters);
    parameters.insert(
        parameters.end(),
        {{"--source", &name, "Name of the transfer"},
         {"--ids", &ids, "Whether jobs keep their ids", OneOf({"auto", "keep", "new"})},
         {"--id-map", &id_map, "Write 'OLD NEW' for each job to a file"},
         {"--tube", &selection.tubes, "Only this tube; may be repeated"},
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
};

class Import {
 public:
  Import(Options& options, Report& report) : options_(options), report_(report) {}

  Status Run() {
    GS_TRY(ReadOptions());
    GS_TRY(ReadSource());
    if (options_.dry_run) return {};
    GS_TRY(Begin());
    if (before_.finished) {
      fmt::print("already imported\n");
      report_.damaged = false;
      report_.TakeMark(before_, before_);
      GS_TRY(RetireSource());
      return client_->Close();
    }
    Status status = SendAll();
    if (!status.ok()) {
      std::ignore = ReportAfterFailure();
      return status;
    }
    GS_TRY(Finish());
    return RetireSource();
  }

 private:
  Status ReadOptions() {
    for (const std::string& rename : options_.renames) {
      const std::size_t sign = rename.find('=');
      if (sign == std::string::npos || sign == 0 || sign + 1 == rename.size()) {
        return {Code::kInvalid, "--rename '" + rename + "': expected OLD=NEW"};
      }
      if (rename.size() - sign - 1 > 200) {
        return {Code::kInvalid, "--rename '" + rename + "': a tube has at most 200 bytes"};
      }
      if (!renames_.emplace(rename.substr(0, sign), rename.substr(sign + 1)).second) {
        return {Code::kInvalid, "--rename '" + rename + "': the tube is renamed already"};
      }
    }
    source_ = GS_TRY(OpenSource(options_.source, options_.of_source));
    report_.source = options_.name.empty() ? source_->Name() : options_.name;
    if (options_.retire && !source_->CanRetire()) return source_->Retire();
    return {};
  }

  Status ReadSource() {
    Status status = source_->Read(survey_, [&](const SourceJob& job) {
      if (!options_.selection.Has(job.job.tube)) return Status();
      SourceJob renamed = job;
      Rename(renamed.job);
      if (job.refused.empty() && NulIn(job.job).empty()) {
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
      for (const std::string& tube : options_.selection.tubes) selection += " tube " + tube;
      for (const std::string& rename : options_.renames) selection += " rename " + rename;
      survey_.fingerprint += selection;
      if (!survey_.before_retire.empty()) survey_.before_retire += selection;
    }
    return {};
  }

  void Rename(Record& record) const {
    const auto renamed = renames_.find(record.tube);
    if (renamed != renames_.end()) record.tube = renamed->second;
  }

  // The mark of an earlier run, if there is one. A kill may have interrupted the Retire of a
  // finished transfer.
  Result<OpenedTransfer> OpenKnown(transfer::Opening opening) {
    Result<OpenedTransfer> known = client_->Open(opening);
    if (known.ok() || known.status().code() != Code::kInUse) return known;
    if (survey_.before_retire.empty()) return known;
    opening.fingerprint = survey_.before_retire;
    Result<OpenedTransfer> retiring = client_->Open(opening);
    return retiring.ok() && retiring->mark.finished ? retiring : known;
  }

  // The same content may have been imported under the name of another place. --source says that it
  // is meant.
  Status CheckNew() {
    if (!options_.name.empty() || report_.found.jobs() == 0) return {};
    const std::string other = GS_TRY(client_->KnownAs(
        report_.source, [&](const std::string& /*name*/, const transfer::Mark& mark) {
          return mark.fingerprint == survey_.fingerprint;
        }));
    if (other == report_.source) return {};
    return {Code::kInUse,
            fmt::format("{} has the content of {}, which is known there: --source {} goes on with "
                        "that transfer, another --source NAME imports the jobs once more",
                        report_.source, other, other)};
  }

  Status Begin() {
    client_ = GS_TRY(TransferClient::Connect(options_.target));
    transfer::Opening opening = OpeningOf();
    OpenedTransfer opened = GS_TRY(OpenKnown(opening));
    if (!opened.persistent && !options_.is_volatile) {
      return {Code::kIo, options_.target.Name() +
                             " has no data directory: what is imported is lost when it ends; "
                             "--volatile accepts that"};
    }
    if (!opened.known) {
      if (survey_.fingerprint == kRetired) {
        return {Code::kIo,
                report_.source + " was taken out of use by an import into another broker"};
      }
      if (options_.ids == "keep" && survey_.smallest_id == 0) {
        return {Code::kInvalid, "--ids keep: the jobs of this source have no ids"};
      }
      GS_TRY(CheckNew());
      opening.create = true;
      Result<OpenedTransfer> made = client_->Open(opening);
      for (int tries = 0; tries < kBusyTries && !made.ok(); ++tries) {
        if (made.status().code() != Code::kDraining) break;
        report_.Progress(0, 0, made.status().message());
        ::usleep(kBusyPause);
        made = client_->Open(opening);
      }
      opened = GS_TRY(made);
    } else {
      report_.resumed = true;
    }
    before_ = std::move(opened.mark);
    source_->SetClasses(client_->classes());
    report_.ids = before_.keep_ids ? "keep" : "new";
    report_.already = before_.settled;
    return {};
  }

  Status SendAll() {
    GS_TRY(SendTubes());
    if (!options_.id_map.empty()) {
      id_map_ = std::fopen(options_.id_map.c_str(), before_.settled > 0 ? "a" : "w");
      if (id_map_ == nullptr)
        return {Code::kIo, "--id-map " + options_.id_map + ": cannot be made"};
      std::setvbuf(id_map_, nullptr, _IOLBF, BUFSIZ);  // what is told is there after a kill
    }
    const std::size_t under_way =
        options_.target.data_dir.empty() ? PutWindows::kToBroker : PutWindows::kToJournal;
    PutWindows windows(
        *client_, under_way, before_.settled,
        [&](std::uint64_t place, std::uint64_t id) {
          if (id_map_ == nullptr || id == 0 || place > old_ids_.size()) return;
          std::fputs(fmt::format("{} {}\n", old_ids_[place - 1], id).c_str(), id_map_);
        },
        [&](const std::string& why) { report_.Progress(windows.acknowledged(), bytes_, why); });
    Status sent;
    Status status = source_->ReadAgain([&](const SourceJob& job) {
      if (!options_.selection.Has(job.job.tube)) return Status();
      if (++place_ <= before_.settled) return Status();
      report_.Progress(windows.acknowledged(), bytes_);
      return sent = SendOne(windows, job);
    });
    if (status.ok()) {
      status = windows.Finish();
    } else if (sent.ok()) {
      // The source failed: what was sent of it counts.
      std::ignore = windows.Await();
    }
    if (!status.ok()) report_.done = windows.acknowledged() - before_.settled;
    if (id_map_ != nullptr) {
      const bool whole = std::ferror(id_map_) == 0;
      if ((std::fclose(id_map_) != 0 || !whole) && status.ok()) {
        status = {Code::kIo, "--id-map " + options_.id_map + ": cannot be written"};
      }
    }
    return status;
  }

  Status SendTubes() {
    for (const OwnedRecord& each : survey_.tubes) {
      Record tube = each.View();
      if (!options_.selection.Has(tube.tube)) continue;
      Rename(tube);
      client_->Add(Type::kTube, tube);
    }
    if (survey_.tubes.empty()) return {};
    return StatusOf(client_->Sync());
  }

  Status SendOne(PutWindows& windows, const SourceJob& source) {
    Record job = source.job;
    Rename(job);
    const std::string_view refused = source.refused.empty() ? NulIn(job) : source.refused;
    if (!refused.empty()) {
      transfer::Mark change{.settled = place_};
      AddOutcome(change, source.key, job.tube, 0, transfer::OutcomeKind::kRefused, refused);
      return windows.AddOutcome(change);
    }
    if (!before_.keep_ids) job.id = 0;
    bytes_ += job.body.size();
    return windows.AddPut(job,
                          {.source_key = source.key, .settled = place_, .altered = source.altered});
  }

  Status Finish() {
    client_->Add(Type::kAdvance, transfer::Mark{.finished = true});
    GS_TRY(client_->Sync());
    GS_TRY(ReportMark());
    return client_->Close();
  }

  Status ReportMark() {
    const transfer::Mark mark = GS_TRY(client_->ReadMark(report_.source));
    report_.TakeMark(mark, before_);
    return {};
  }

  // A broker that still answers also knows which jobs were joined or refused. Of a directory, what
  // is on the disk counts: it is opened again.
  Status ReportAfterFailure() {
    if (!options_.target.data_dir.empty()) {
      client_ = nullptr;
      client_ = GS_TRY(TransferClient::Connect(options_.target));
    }
    return ReportMark();
  }

  Status RetireSource() {
    if (!options_.retire || survey_.fingerprint == kRetired) return {};
    return source_->Retire();
  }

  transfer::Opening OpeningOf() const {
    return {.name = report_.source,
            .kind = "import",
            .fingerprint = survey_.fingerprint,
            .ids = options_.ids == "keep"  ? Ids::kKeep
                   : options_.ids == "new" ? Ids::kNew
                                           : Ids::kAuto,
            .smallest_id = survey_.smallest_id,
            .next_id = survey_.next_id,
            .burials = survey_.burials,
            .create = false,
            .any_fingerprint = survey_.fingerprint == kRetired};
  }

  Options& options_;
  Report& report_;
  std::map<std::string, std::string, std::less<>> renames_;
  std::unique_ptr<Source> source_;
  std::unique_ptr<TransferClient> client_;
  Survey survey_;
  std::uint64_t place_ = 0, bytes_ = 0;
  transfer::Mark before_;               // when this run began
  std::vector<std::uint64_t> old_ids_;  // of the jobs, by place, for --id-map
  std::FILE* id_map_ = nullptr;
};

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

Command ImportCommand() {
  return {"import", "Import the jobs of a log, a store or a file",
          "gearstalkctl import binlog:/var/lib/beanstalkd --dry-run", BindMove(RunImport)};
}

}  // namespace gearstalk::ctl
