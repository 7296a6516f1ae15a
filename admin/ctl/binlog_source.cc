#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "admin/ctl/source.h"
#include "broker/base/clock.h"
#include "broker/binlog/directory.h"
#include "broker/binlog/lock.h"

namespace gearstalk::ctl {
namespace {

namespace fs = std::filesystem;

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
      if (Status status = visit(out); !status.ok()) return status;
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

}  // namespace

Result<std::unique_ptr<Source>> OpenBinlog(const std::string& rest, const SourceOptions& options) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(rest), error);
  if (!fs::is_directory(path, error)) {
    return Status(Code::kIo, "binlog:" + rest + ": no such directory");
  }
  Result<binlog::Lock> lock = binlog::Lock::Hold(path.string());
  if (!lock.ok()) return lock.status();
  return std::unique_ptr<Source>(std::make_unique<BinlogSource>(
      path.string(), options.accept_damage, std::move(lock.value())));
}

}  // namespace gearstalk::ctl
