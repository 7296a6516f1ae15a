// take-over: moves the jobs of an old server that goes on serving.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/takeover/old_server.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

constexpr int kIdleMs = 100;  // between rounds that move nothing

// Waits until the moves in flight have ended.
Status FinishAll(OldServer& old) {
  for (;;) {
    const bool finished = GS_TRY(old.Finish());
    if (finished) return {};
    ::usleep(20'000);
  }
}

// Counts what stays there, and ends the transfer.
Status CountAndEnd(OldServer& old, Report& report) {
  report.ForgetLeft();
  GS_TRY(old.CountLeft(true));
  return old.End();
}

// Moves jobs until none is left; waits for the jobs that other workers hold.
Status RunOnce(const TakeOverOptions& options, Report& report) {
  const std::unique_ptr<OldServer> old = MakeOldServer(options, report);
  GS_TRY(old->Begin());
  if (options.settle_only || options.prepare) return CountAndEnd(*old, report);
  for (Time waited = 0; g_stop == 0;) {
    bool moved = false;
    GS_TRY(old->Round(moved));
    if (moved) continue;
    const bool finished = GS_TRY(old->Finish());
    const std::uint64_t waiting = GS_TRY(old->CountLeft(false));
    if (finished && (waiting == 0 || waited >= options.wait_s * kSecond)) break;
    const Time began = BootTime();
    GS_TRY(old->Wait(kIdleMs));
    if (finished) waited += BootTime() - began;
  }
  GS_TRY(FinishAll(*old));
  return CountAndEnd(*old, report);
}

// Tries again while the broker accepts nothing (memory, drain, a full disk), for a minute at most.
// Not with a gearmand, which counts each closed connection as a try of its jobs.
Status RunPatiently(const TakeOverOptions& options, Report& report) {
  constexpr int kTries = 120;
  for (int tries = 1;; ++tries) {
    const std::uint64_t before = report.done;
    Status status = RunOnce(options, report);
    if (report.done > before) tries = 1;
    const bool again = status.code() == Code::kDraining && options.source.starts_with("beanstalk");
    if (!again || tries == kTries || g_stop != 0) return status;
    Pause(5);
  }
}

// The signal came while one server was away: tries once more to end the moves that had begun. The
// next run ends the others.
void EndInFlight(TakeOverOptions options, Report& report) {
  options.stopped = [] { return false; };
  const std::unique_ptr<OldServer> old = MakeOldServer(options, report);
  Status status = old->Begin();
  if (status.ok()) status = FinishAll(*old);
  if (status.ok()) status = CountAndEnd(*old, report);
  if (!status.ok()) Tell(status.message());
}

// Runs until a signal; reconnects when either side has gone away.
Status Follow(const TakeOverOptions& options, Report& report) {
  int pause = 1;
  bool began = false;
  while (g_stop == 0) {
    const std::unique_ptr<OldServer> old = MakeOldServer(options, report);
    Status status = old->Begin();
    began = began || status.ok();
    const bool hopeless = status.code() == Code::kInvalid || (!began && old->refused());
    if (!status.ok() && hopeless) return status;
    while (status.ok() && g_stop == 0) {
      pause = 1;
      bool moved = false;
      status = old->Round(moved);
      if (status.ok() && !moved) status = old->Wait(kIdleMs);
    }
    if (status.ok()) status = FinishAll(*old);
    if (status.ok()) status = CountAndEnd(*old, report);
    if (status.ok() || old->not_allowed()) return status;
    Tell(fmt::format("{}; again in {} ms", status.message(), pause * 100));
    Pause(pause);
    pause = std::min(pause * 2, 50);
  }
  if (began) EndInFlight(options, report);
  return {};
}

// Warns of what breaks the guarantees of a take-over, and cannot be detected.
void Warn(const TakeOverOptions& options, Report& report) {
  const std::string text =
      options.source.starts_with("gearman://")
          ? "a gearmand that was started with --job-retries counts each death of this command as a "
            "try, and drops a job at the last one"
          : "do not kick jobs of the old server while this runs: they would run there and here";
  report.AddNote({"hint", options.source, text});
  Tell(text);
}

struct Options : TakeOverOptions {
  Report report{"take-over", "moved"};

  Parameters AsParameters() {
    Parameters parameters = {
        {"source", &source, "beanstalk://HOST:PORT or gearman://HOST:PORT", kRequired}};
    target.AddTo(parameters, "--to", false);
    parameters.insert(
        parameters.end(),
        {{"--tube", &selection.tubes, "Only this tube; may be repeated"},
         {"--except", &selection.except, "Not this tube; may be repeated"},
         {"--follow", &follow, "Go on until SIGTERM or SIGINT"},
         {"--wait", &wait_s, "Seconds to wait for jobs that others have reserved",
          Rules{.sign = Sign::kNotNegative, .excludes = "--follow"}},
         {"--ids", &ids, "Whether jobs keep their ids", OneOf({"keep", "new"})},
         {"--source", &name, "Name of the transfer"},
         {"--settle-only", &settle_only, "Only resolve what an interrupted run left",
          Rules{.excludes = "--follow"}},
         {"--prepare", &prepare, "Move nothing yet: reserve the old ids, so that clients may come",
          Rules{.excludes = "--follow"}},
         {"--volatile", &is_volatile, "The target may have no data directory"}});
    report.AddTo(parameters);
    return parameters;
  }
};

int RunTakeOver(Options& options) {
  Report& report = options.report;
  StopOnSignals();
  report.source = options.name.empty() ? options.source : options.name;
  report.to = options.target.Name();
  report.Begin();
  options.stopped = [] { return g_stop != 0; };
  const bool is_gearman = options.source.starts_with("gearman://");
  if (!is_gearman && !options.source.starts_with("beanstalk://")) {
    return report.End(kBadUsage,
                      "take-over: expected beanstalk://HOST:PORT or gearman://HOST:PORT");
  }
  if (is_gearman && options.ids == "keep") {
    return report.End(kBadUsage, "--ids keep: the jobs of a gearmand have no ids");
  }
  if (options.prepare && options.ids != "keep") {
    return report.End(kBadUsage, "--prepare reserves old ids: it goes with --ids keep");
  }
  if (Status same = CheckOther(options.source, options.target.address); !same.ok()) {
    return report.End(kBadUsage, same.message());
  }
  Warn(options, report);
  report.goes_on = options.follow;
  report.may_leave = options.follow || options.settle_only || options.prepare;
  const Status status = report.goes_on ? Follow(options, report) : RunPatiently(options, report);
  return report.End(status.code() == Code::kInUse ? kFailed : ExitOf(status), status.message());
}

}  // namespace

Command TakeOverCommand() {
  return {"take-over", "Move the jobs of a running beanstalkd or gearmand here",
          "gearstalkctl take-over beanstalk://127.0.0.1:11301 --follow", BindMove(RunTakeOver)};
}

}  // namespace gearstalk::ctl
