// export: all jobs as JSON lines.

#include <cstdio>
#include <memory>
#include <optional>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/new_file.h"
#include "admin/move/sources/json_lines.h"
#include "admin/move/transfer_client.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

struct Options {
  Target target;
  std::string out;
  transfer::Selection selection;

  Parameters AsParameters() {
    Parameters parameters;
    target.AddTo(parameters, "--from");
    parameters.insert(parameters.end(),
                      {{"--out", &out, "File to write to; default, or -: standard output"},
                       {"--tube", &selection.tubes, "Only this tube; may be repeated"}});
    return parameters;
  }
};

// Lines to --out, or to standard output.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path.empty() ? "-" : path) {
    if (path_ != "-") file_.emplace(path_);
  }
  bool open() const { return !file_.has_value() || file_->open(); }
  const std::string& problem() const { return file_->problem(); }

  Status Write(const std::string& line) {
    const bool written = file_.has_value()
                             ? file_->Write(line)
                             : std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
    return written ? Status() : Failed();
  }
  Status Close() {
    const bool written = file_.has_value() ? file_->Finish() : std::fflush(stdout) == 0;
    return written ? Status() : Failed();
  }

 private:
  Status Failed() const {
    if (!file_.has_value()) return {Code::kIo, "the output cannot be written"};
    return {Code::kIo, "--out " + path_ + ": cannot be written"};
  }

  const std::string path_;
  std::optional<NewFile> file_;
};

Status Export(Options& options) {
  GS_TRY(options.target.CheckDirectory());
  std::unique_ptr<TransferClient> client =
      GS_TRY(TransferClient::Connect(options.target, Access::kReadJobs));
  Lines lines(options.out);
  if (!lines.open()) return {Code::kIo, "--out " + lines.problem()};
  GS_TRY(lines.Write(JobsHeadLine(SystemClock().Now())));
  const transfer::End end = GS_TRY(
      client->Ask(transfer::Type::kExport, options.selection, [&](const transfer::Frame& frame) {
        Record record;
        transfer::Item item;
        GS_TRY(client->Read(frame, record, item));
        return lines.Write(LineOf(record, item.reserved));
      }));
  const std::string last = JobsEndLine(end.jobs, end.next_id);
  GS_TRY(lines.Write(last));
  GS_TRY(lines.Close());
  return client->Close();
}

}  // namespace

Command ExportCommand() {
  return {"export", "Write all jobs as JSON lines", "gearstalkctl export --out jobs.jsonl",
          BindMove(Export)};
}

}  // namespace gearstalk::ctl
