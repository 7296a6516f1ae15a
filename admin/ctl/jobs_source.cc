// jobs:FILE, what `export` writes.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "admin/ctl/json_lines.h"
#include "admin/ctl/source.h"

namespace gearstalk::ctl {
namespace {

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
    if (Status status = Pass(nullptr, visit); !status.ok()) return status;
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
    while (std::getline(file, text)) {
      ++number;
      const auto damaged = [&](const std::string& why) {
        if (survey != nullptr) {
          survey->damaged = true;
          survey->notes.push_back({"damage", fmt::format("{}:{}", path_, offset),
                                   fmt::format("line {}: {}", number, why)});
        }
        return Status();
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
          if (Status status = visit(out); !status.ok()) return status;
          break;
      }
    }
    if (file.bad()) return {Code::kIo, path_ + ": cannot be read"};
    if (!ended && survey != nullptr) {
      survey->damaged = true;
      survey->notes.push_back({"damage", fmt::format("{}:{}", path_, offset),
                               "the end line is missing: the file is cut"});
    }
    return {};
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
  std::string path = std::filesystem::temp_directory_path() / "gearstalkctl-XXXXXX";
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

}  // namespace

Result<std::unique_ptr<Source>> OpenJobsFile(const std::string& rest,
                                             const SourceOptions& /*options*/) {
  if (rest == "-") {
    Result<std::string> copy = CopyOfInput();
    if (!copy.ok()) return copy.status();
    return std::unique_ptr<Source>(std::make_unique<JobsSource>("jobs:-", copy.value()));
  }
  std::error_code error;
  const std::string path =
      std::filesystem::weakly_canonical(std::filesystem::absolute(rest), error);
  if (!std::filesystem::exists(path, error)) {
    return Status(Code::kIo, "jobs:" + rest + ": no such file");
  }
  return std::unique_ptr<Source>(std::make_unique<JobsSource>("jobs:" + path, path));
}

}  // namespace gearstalk::ctl
