// export: all jobs as JSON lines.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "admin/ctl/command.h"
#include "admin/ctl/exit.h"
#include "admin/ctl/json_lines.h"
#include "admin/ctl/transfer_client.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

struct Options {
  Target target;
  std::string out;
  std::vector<std::string> tubes;
};

class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path) {
    file_ = path.empty() ? stdout : std::fopen((path + ".new").c_str(), "w");
  }
  ~Lines() {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  bool open() const { return file_ != nullptr; }

  Status Write(const std::string& line) {
    if (std::fwrite(line.data(), 1, line.size(), file_) == line.size()) return {};
    return {Code::kIo, "the output cannot be written"};
  }
  // Renames the finished file to its name.
  Status Close() {
    const bool flushed = std::fflush(file_) == 0;
    if (!flushed) return {Code::kIo, "the output cannot be written"};
    if (file_ == stdout) return {};
    std::FILE* const file = std::exchange(file_, nullptr);
    const bool closed = std::fclose(file) == 0;
    if (closed && std::rename((path_ + ".new").c_str(), path_.c_str()) == 0) return {};
    return {Code::kIo, "--out " + path_ + ": cannot be written"};
  }

 private:
  const std::string path_;
  std::FILE* file_;
};

Status WriteFrame(const transfer::Frame& frame, Lines& lines) {
  if (frame.type == transfer::Type::kTube) {
    transfer::Tube tube;
    if (!ReadFields(frame.fields, tube)) return {Code::kIo, "settings that cannot be read"};
    return lines.Write(TubeLine(tube));
  }
  transfer::Job job;
  if (!ReadFields(frame.fields, job)) return {Code::kIo, "a job that cannot be read"};
  job.body = frame.body;
  return lines.Write(JobLine(job));
}

Status Run(const Options& options) {
  std::error_code error;
  const std::string& directory = options.target.data_dir;
  if (!directory.empty() && !std::filesystem::is_directory(directory, error)) {
    return {Code::kIo, directory + ": no such directory"};
  }
  Result<std::unique_ptr<TransferClient>> client = TransferClient::Connect(options.target);
  if (!client.ok()) return client.status();
  Lines lines(options.out);
  if (!lines.open()) return {Code::kIo, "--out " + options.out + ": cannot be made"};
  if (Status status = lines.Write(JobsHeadLine(SystemClock().Now())); !status.ok()) return status;
  transfer::Selection selection;
  selection.tubes = options.tubes;
  const Result<transfer::End> end =
      client.value()->Ask(transfer::Type::kExport, selection,
                          [&](const transfer::Frame& frame) { return WriteFrame(frame, lines); });
  if (!end.ok()) return end.status();
  const std::string last = JobsEndLine(end.value().jobs, end.value().next_id);
  if (Status status = lines.Write(last); !status.ok()) return status;
  if (Status status = lines.Close(); !status.ok()) return status;
  return client.value()->Close();
}

}  // namespace

std::function<int()> SetUpExport(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  options->target.AddOptions(app, "--from");
  app.add_option("--out", options->out, "File to write to; default: standard output");
  app.add_option("--tube", options->tubes, "Only this tube; may be repeated")
      ->allow_extra_args(false);
  return [options] {
    const Status status = Run(*options);
    if (!status.ok()) fmt::print(stderr, "gearstalkctl: {}\n", status.message());
    return status.ok() ? kDone : status.code() == Code::kInvalid ? kBadUsage : kFailed;
  };
}

}  // namespace gearstalk::ctl
