// jobs:FILE, what `export` writes.

#include "admin/move/sources/source.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "admin/move/sources/json_lines.h"
#include "broker/base/clock.h"
#include "broker/base/module.h"
#include "broker/binlog/directory.h"
#include "broker/binlog/lock.h"

namespace gearstalk::ctl {
namespace {

namespace fs = std::filesystem;

class JobsSource final : public Source {
 public:
  JobsSource(std::string name, std::string path) : name_(std::move(name)), path_(std::move(path)) {}
  ~JobsSource() override {
    if (name_ == "jobs:-") std::remove(path_.c_str());
  }

  Status Read(Survey& survey, const Visit& visit) override {
    Status status = Pass(&survey, visit);
    survey.fingerprint = fingerprint_ = fmt::format("jobs {:016x}", hash_);
    if (survey.smallest_id == 0) survey.smallest_id = survey.next_id;
    return status;
  }

  Status ReadAgain(const Visit& visit) override {
    GS_TRY(Pass(nullptr, visit));
    if (fmt::format("jobs {:016x}", hash_) == fingerprint_) return {};
    return {Code::kInUse, name_ + " changed while it was read"};
  }

  std::string Name() const override { return name_; }

 private:
  Status Pass(Survey* survey, const Visit& visit) {
    std::ifstream file(path_, std::ios::binary);
    if (!file) return {Code::kIo, path_ + ": cannot be opened"};
    hash_ = 0;
    std::string text;
    std::uint64_t number = 0, jobs = 0, offset = 0;
    bool ended = false;
    SourceJob out;
    JobsLine line;
    const auto note = [&](std::string why) {
      if (survey == nullptr) return Status();
      survey->damaged = true;
      survey->notes.push_back({"damage", fmt::format("{}:{}", path_, offset), std::move(why)});
      return Status();
    };
    while (std::getline(file, text)) {
      ++number;
      const auto damaged = [&](const std::string& why) {
        return note(fmt::format("line {}: {}", number, why));
      };
      if (ended) return damaged("there is more behind the end");
      if (Status status = line.Parse(text); !status.ok()) return damaged(status.message());
      if ((number == 1) != (line.kind() == JobsLine::Kind::kHead)) {
        return damaged("the first line, and no other, is the head");
      }
      hash_ = number == 1 ? 0 : XXH3_64bits_withSeed(text.data(), text.size(), hash_ + 1);
      offset += text.size() + 1;
      switch (line.kind()) {
        case JobsLine::Kind::kHead:
          break;
        case JobsLine::Kind::kTube:
          if (survey != nullptr) survey->tubes.emplace_back(line.record());
          break;
        case JobsLine::Kind::kEnd:
          ended = line.jobs() == jobs;
          if (!ended) return damaged(fmt::format("{} jobs, not {}", jobs, line.jobs()));
          if (survey != nullptr) survey->next_id = std::max(survey->next_id, line.next_id());
          break;
        case JobsLine::Kind::kJob:
          ++jobs;
          Fill(line, survey, out);
          GS_TRY(visit(out));
          break;
      }
    }
    if (file.bad()) return {Code::kIo, path_ + ": cannot be read"};
    return ended ? Status() : note("the end line is missing: the file is cut");
  }

  static void Fill(const JobsLine& line, Survey* survey, SourceJob& out) {
    out.job = line.record();
    out.key = std::to_string(out.job.id);
    if (survey == nullptr) return;
    if (survey->smallest_id == 0 || out.job.id < survey->smallest_id) {
      survey->smallest_id = out.job.id;
    }
    survey->next_id = std::max(survey->next_id, out.job.id + 1);
    survey->burials = std::max(survey->burials, out.job.burial);
  }

  const std::string name_, path_;
  std::uint64_t hash_ = 0;
  std::string fingerprint_;
};

// Standard input is read twice, too: from a copy.
Result<std::string> CopyOfInput() {
  std::string path = fs::temp_directory_path() / "gearstalkctl-XXXXXX";
  const int fd = ::mkstemp(path.data());
  std::FILE* const file = fd < 0 ? nullptr : ::fdopen(fd, "w");
  if (file == nullptr) return Status(Code::kIo, path + ": cannot be made");
  char buffer[65536];
  bool good = true;
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) {
    good = good && std::fwrite(buffer, 1, got, file) == got;
  }
  good = std::fclose(file) == 0 && good;
  if (good) return path;
  std::remove(path.c_str());
  return Status(Code::kIo, path + ": cannot be written");
}

class BinlogSource final : public Source {
 public:
  BinlogSource(std::string directory, bool accept_damage, binlog::Lock lock)
      : directory_(std::move(directory)), accept_damage_(accept_damage), lock_(std::move(lock)) {}

  Status Read(Survey& survey, const Visit& visit) override {
    Result<binlog::Directory> log = binlog::Directory::Read(directory_, SystemClock().Now());
    if (!log.ok() && log.status().code() == Code::kNotFound) return Retired(survey, log.status());
    if (!log.ok()) return log.status();
    log_.emplace(std::move(log.value()));
    const binlog::JobIndex& index = log_->index();
    for (const binlog::Note& note : index.notes()) {
      survey.notes.push_back({note.damage ? "damage" : "crash", note.Where(), note.text});
    }
    survey.damaged = index.damaged();
    if (survey.damaged && accept_damage_) {
      survey.notes.push_back(
          {"hint", directory_, "jobs whose deletion was in a lost record are back"});
    }
    survey.fingerprint = log_->fingerprint();
    survey.before_retire = binlog::FingerprintBeforeRetire(directory_);
    survey.next_id = index.next_id();
    for (const binlog::Job& job : index.jobs()) {
      if (survey.smallest_id == 0) survey.smallest_id = job.id;
      survey.burials = std::max(survey.burials, job.burial);
    }
    if (survey.smallest_id == 0) survey.smallest_id = survey.next_id;
    return ReadAgain(visit);
  }

  Status ReadAgain(const Visit& visit) override {
    if (!log_.has_value()) return {};
    SourceJob out;
    std::size_t read = 0;  // bytes of the pages that were touched, at most
    for (const binlog::Job& job : log_->index().jobs()) {
      constexpr std::size_t kPages = 2 * 4096, kMostRead = 64 << 20;
      read += job.body_size + kPages;
      if (read > kMostRead) {
        log_->ForgetBodies();
        read = 0;
      }
      out.job = log_->RecordOf(job);
      out.key = std::to_string(job.id);
      GS_TRY(visit(out));
    }
    return {};
  }

  Status Retire() override { return binlog::Retire(directory_); }
  bool CanRetire() const override { return true; }
  std::string Name() const override { return "binlog:" + directory_; }

 private:
  // An earlier run moved the files away: its mark may know the transfer.
  Status Retired(Survey& survey, const Status& otherwise) const {
    const Result<std::vector<binlog::NumberedFile>> moved =
        binlog::FindFiles(directory_ + "/imported-binlog");
    if (!moved.ok() || moved.value().empty()) return otherwise;
    survey.fingerprint = kRetired;
    return {};
  }

  const std::string directory_;
  const bool accept_damage_;
  binlog::Lock lock_;
  std::optional<binlog::Directory> log_;
};

// A maker of this program, or the module that has one, as libraries of databases are in modules.
struct Scheme {
  std::string_view prefix;
  SourceMaker make;
  const char* module;
};
constexpr std::array<Scheme, 7> kSchemes = {{{"binlog:", OpenBinlog, nullptr},
                                             {"jobs:", OpenJobsFile, nullptr},
                                             {"sqlite:", nullptr, "import_sqlite.so"},
                                             {"mysql://", nullptr, "import_mysql.so"},
                                             {"postgres:", nullptr, "import_postgres.so"},
                                             {"postgresql:", nullptr, "import_postgres.so"},
                                             {"redis://", nullptr, "import_redis.so"}}};

}  // namespace

Result<std::unique_ptr<Source>> OpenJobsFile(const std::string& rest,
                                             const SourceOptions& /*options*/) {
  if (rest == "-") {
    std::string copy = GS_TRY(CopyOfInput());
    return std::unique_ptr<Source>(std::make_unique<JobsSource>("jobs:-", copy));
  }
  std::error_code error;
  const std::string path = fs::weakly_canonical(fs::absolute(rest), error);
  if (!fs::exists(path, error)) return Status(Code::kIo, "jobs:" + rest + ": no such file");
  return std::unique_ptr<Source>(std::make_unique<JobsSource>("jobs:" + path, path));
}

Result<std::unique_ptr<Source>> OpenBinlog(const std::string& rest, const SourceOptions& options) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(rest), error);
  if (!fs::is_directory(path, error)) {
    return Status(Code::kIo, "binlog:" + rest + ": no such directory");
  }
  binlog::Lock lock = GS_TRY(binlog::Lock::Hold(path.string()));
  return std::unique_ptr<Source>(
      std::make_unique<BinlogSource>(path.string(), options.accept_damage, std::move(lock)));
}

std::string_view NulIn(const Record& job) {
  const auto has = [](std::string_view text) { return text.find('\0') != std::string_view::npos; };
  if (has(job.tube)) return "a NUL in its tube";
  return has(job.unique) || has(job.reducer) ? "a NUL in its key" : "";
}

Result<std::unique_ptr<Source>> OpenSource(const std::string& text, const SourceOptions& options) {
  for (const Scheme& scheme : kSchemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    const std::string rest = text.substr(scheme.prefix.size());
    const bool may_be_empty = scheme.prefix.starts_with("postgres");  // libpq has defaults
    if (rest.empty() && !may_be_empty) break;
    SourceMaker make = scheme.make;
    if (make == nullptr) {
      const void* loaded = GS_TRY(LoadModule({.file = scheme.module,
                                              .folder = "gearstalkctl",
                                              .package = "gearstalkctl-import",
                                              .symbol = "gearstalk_open_source"}));
      make = *static_cast<const SourceMaker*>(loaded);
    }
    std::unique_ptr<Source> source = GS_TRY(make(rest, options));
    GS_TRY(source->Open());
    return source;
  }
  return Status(Code::kInvalid,
                // What is behind it may be a password.
                "unknown source '" + text.substr(0, text.find(':')) +
                    "': use binlog:DIR, sqlite:FILE, mysql://..., postgres:CONNINFO, redis://... "
                    "or jobs:FILE");
}

}  // namespace gearstalk::ctl
