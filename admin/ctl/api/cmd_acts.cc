// Acts on jobs: on those of some numbers, or as an operation of the server on all that match a
// filter.

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/filter.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct Jobs {
  std::vector<std::uint64_t> ids;
  bool force = false;

  Parameters AsParameters() { return {{"ID", &ids, "Numbers of jobs", kRequired}}; }
};

struct HeldJobs : Jobs {
  Parameters AsParameters() {
    return {{"ID", &ids, "Numbers of jobs", kRequired},
            {"--force", &force, "Also a job that somebody holds"}};
  }
};

using Act = std::function<std::optional<Json>(const std::string& path)>;

// Applies `act` to each job, continues after refusals, and collects the answers. Returns the exit
// code of the first refusal.
int ForEachJob(Api& api, const std::vector<std::uint64_t>& ids, Json& answers, const Act& act) {
  int exit_code = kDone;
  answers = Json::array();
  for (const std::uint64_t id : ids) {
    if (auto answer = act(JobPath(id))) {
      answers.push_back(std::move(*answer));
    } else if (exit_code == kDone) {
      exit_code = api.exit_code();
    }
    if (exit_code == kNotReachable) break;
  }
  return exit_code;
}

// Prints how many succeeded.
int CountJobs(Api& api, const Jobs& jobs, const std::string& word, const Act& act) {
  Json answers;
  const int exit_code = ForEachJob(api, jobs.ids, answers, act);
  const std::size_t done = answers.size();
  Say(api.settings().json ? Json{{word, done}}.dump() : fmt::format("{} {}", word, done));
  return exit_code;
}

int KickJob(Api& api, const Jobs& jobs) {
  return CountJobs(api, jobs, "kicked",
                   [&](const std::string& path) { return api.Post(path + "/kick"); });
}

int Bury(Api& api, const HeldJobs& jobs) {
  return CountJobs(api, jobs, "buried", [&](const std::string& path) {
    return api.Post(path + "/bury", jobs.force ? Json{{"force", true}} : Json::object());
  });
}

int Release(Api& api, const HeldJobs& jobs) {
  return CountJobs(api, jobs, "released",
                   [&](const std::string& path) { return api.Post(path + "/release"); });
}

int Delete(Api& api, const HeldJobs& jobs) {
  return CountJobs(api, jobs, "deleted", [&](const std::string& path) {
    return api.Delete(path + (jobs.force ? "?force=true" : ""));
  });
}

struct KickOptions {
  std::string tube, state;
  std::uint32_t count = 1'000'000;  // as many as the API takes: all

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"COUNT", &count, "Most jobs to kick; all without it", Between(1, 1'000'000)},
            {"--state", &state, "buried or delayed; as `kick` without it",
             OneOf({"buried", "delayed"})}};
  }
};

int Kick(Api& api, const KickOptions& options) {
  const Json state = options.state.empty() ? Json() : Json(options.state);
  return Print(
      api, api.Post(TubePath(options.tube) + "/kick", {{"count", options.count}, {"state", state}}),
      [](const Json& kicked) { Say("kicked " + Word(kicked, "kicked")); });
}

// --- All that match

// All jobs that a filter finds: the server counts, the user confirms the number, the server acts.
struct MatchingJobs {
  Filter filter;
  std::string to;                      // move, copy
  std::optional<std::uint64_t> count;  // confirms this number; another one is refused
};

volatile sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

bool Running(const Json& operation) {
  const std::string state = operation.value("state", "");
  return state == "counting" || state == "running";
}

// Polls the operation until the server has finished counting or acting.
bool Await(Api& api, const std::string& path, Json& operation, bool show_progress) {
  bool stopped = false;
  while (Running(operation)) {
    const bool stops = interrupted != 0 && !stopped;
    stopped = stopped || stops;
    if (!stops) ::usleep(100'000);
    std::optional<Json> now = stops ? api.Delete(path) : api.Get(path);
    if (!now) return false;
    operation = std::move(*now);
    if (show_progress) {
      std::fputs(
          fmt::format("\r{} of {}", Count(operation, "done"), Count(operation, "count")).c_str(),
          stderr);
    }
  }
  if (show_progress) std::fputs("\n", stderr);
  return true;
}

// Reads the line that the user types; empty after an interrupt. Without a terminal it waits at most
// as long as for the server.
std::string Typed(const Settings& settings) {
  constexpr int kSliceMs = 100;
  const bool terminal = isatty(STDIN_FILENO) == 1;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  std::string line;
  double left_ms = settings.timeout_s * 1000;
  for (; interrupted == 0 && (terminal || left_ms > 0); left_ms -= kSliceMs) {
    if (poll(&input, 1, kSliceMs) <= 0) continue;
    std::getline(std::cin, line);
    break;
  }
  return line;
}

// Whether the user confirms the operation on this many jobs.
bool Confirmed(Api& api, const char* action, const MatchingJobs& jobs, std::uint64_t count) {
  if (jobs.count.has_value()) {
    if (*jobs.count == count) return true;
    api.Fail(kNotConfirmed, "count-mismatch",
             fmt::format("--count: {} jobs match, not {}", count, *jobs.count));
    return false;
  }
  if (api.settings().yes || count == 0) return true;
  std::fputs(fmt::format("{} {} jobs? Type the number: ", action, count).c_str(), stderr);
  if (Typed(api.settings()) == fmt::format("{}", count)) return true;
  std::fputs("\n", stderr);
  api.Fail(
      kNotConfirmed, "not-confirmed",
      fmt::format("not confirmed: {} jobs match; --count {} or --yes confirm them", count, count));
  return false;
}

int Show(Api& api, const Json& operation) {
  Print(api, operation, [](const Json& ended) {
    Say(fmt::format("{} {}, skipped {}, failed {}", Word(ended, "state"), Count(ended, "done"),
                    Count(ended, "skipped"), Count(ended, "failed")));
  });
  const auto problem = operation.find("problem");
  if (problem != operation.end() && problem->is_object() && !api.settings().json) {
    Tell(fmt::format("{} ({})", Visible(problem->value("detail", "refused")),
                     Word(*problem, "code")));
  }
  return operation.value("state", "") == "done" && Number(operation, "failed") == 0 ? kDone
                                                                                    : kFailed;
}

// Returns the exit code. Shows progress on standard error; an interrupt stops the operation where
// it is.
int RunOperation(Api& api, const char* action, const MatchingJobs& jobs) {
  if (!api.Get(TubePath(jobs.filter.tube))) return api.exit_code();
  signal(SIGINT, OnInterrupt);
  Json body = {{"action", action}, {"filter", jobs.filter.AsJson()}};
  if (!jobs.to.empty()) SetBytes(body, "to", jobs.to);
  std::optional<Json> state = api.Post("/operations", body);
  if (!state) return api.exit_code();
  const std::string path = "/operations/" + Word(*state, "id");
  if (!Await(api, path, *state, false)) return api.exit_code();
  if (state->value("state", "") != "counted") return Show(api, *state);
  const auto count = static_cast<std::uint64_t>(Number(*state, "count"));
  if (!Confirmed(api, action, jobs, count)) {
    api.Delete(path);
    return kNotConfirmed;
  }
  state = api.Post(path + "/confirm", {{"count", count}});
  if (!state) return api.exit_code();
  const bool show = !api.settings().quiet && !api.settings().json && isatty(STDERR_FILENO) == 1;
  return Await(api, path, *state, show) ? Show(api, *state) : api.exit_code();
}

struct TransferOptions : MatchingJobs {
  std::vector<std::uint64_t> ids;

  Parameters AsParameters() {
    Parameters parameters = {
        {"ID", &ids, "Numbers of jobs"},
        {"--to", &to, "The tube they go to", kRequired},
        {"--tube", &filter.tube, "All that match, in this tube", {.excludes = "ID"}}};
    const std::size_t of_filter = parameters.size();
    filter.AddTo(parameters);
    parameters.push_back({"--count", &count, "Confirms this number of jobs"});
    for (std::size_t i = of_filter; i < parameters.size(); ++i) {
      parameters[i].rules.needs = "--tube";
    }
    return parameters;
  }
};

int EachJob(Api& api, const std::string& action, const TransferOptions& options) {
  Json made, body;
  SetBytes(body, "to", options.to);
  const int exit_code = ForEachJob(api, options.ids, made, [&](const std::string& path) {
    return api.Post(path + "/" + action, body);
  });
  PrintItems(api, made, [&](const Json& jobs) {
    for (const Json& job : jobs) Say(fmt::format("{} {}", Word(job, "id"), Word(job, "tube")));
  });
  return exit_code;
}

Call MoveOrCopy(const char* action) {
  return Bind<TransferOptions>([action](const Settings& settings, const TransferOptions& options) {
    if (options.ids.empty() && options.filter.tube.empty()) {
      return Fail(kBadUsage, fmt::format("{}: expected ID..., or --tube TUBE", action));
    }
    return UseApi(settings, [&](Api& api) {
      return options.ids.empty() ? RunOperation(api, action, options)
                                 : EachJob(api, action, options);
    });
  });
}

struct ClearOptions : MatchingJobs {
  Parameters AsParameters() {
    Parameters parameters = {{"TUBE", &filter.tube, "Name of a tube", kRequired}};
    filter.AddTo(parameters);
    parameters.push_back({"--count", &count, "Confirms this number of jobs"});
    return parameters;
  }
};

int Clear(Api& api, const ClearOptions& options) { return RunOperation(api, "delete", options); }

constexpr std::string_view kOperationColumns =
    "ID=id ACTION=action STATE=state >COUNT=count >DONE=done >SKIPPED=skipped "
    ">FAILED=failed USER=user CREATED=created_at";

int Operations(Api& api) {
  return PrintItems(api, api.List("/operations", {}, 500), ShowIn(kOperationColumns));
}

struct OperationOptions {
  std::string id;
  bool stop = false;

  Parameters AsParameters() {
    return {{"ID", &id, "Id of an operation", kRequired}, {"--stop", &stop, "Stop it where it is"}};
  }
};

int ShowOperation(Api& api, const OperationOptions& options) {
  const std::string path = "/operations/" + UrlEncoded(options.id);
  return Print(api, options.stop ? api.Delete(path) : api.Get(path), ShowIn(kOperationColumns));
}

}  // namespace

std::vector<Command> ActCommands() {
  return {
      {"kick", "Make buried or delayed jobs of a tube ready", "gearstalkctl kick mail 100",
       BindApi(Kick)},
      {"kick-job", "Make jobs ready", "gearstalkctl kick-job 17 18", BindApi(KickJob)},
      {"bury", "Bury jobs", "gearstalkctl bury 17", BindApi(Bury)},
      {"release", "Take jobs from their holders and make them ready", "gearstalkctl release 17",
       BindApi(Release)},
      {"delete", "Delete jobs", "gearstalkctl delete 17 18 --force", BindApi(Delete)},
      {"move", "Move jobs to another tube", "gearstalkctl move 17 18 --to mail.later",
       MoveOrCopy("move")},
      {"copy", "Copy jobs to a tube",
       "gearstalkctl copy --tube mail --state buried --to mail.again --yes", MoveOrCopy("copy")},
      {"clear", "Delete all jobs of a tube that match",
       "gearstalkctl clear mail --state buried --yes", BindApi(Clear)},
      {"operations", "List acts on many jobs", "gearstalkctl operations", BindApi(Operations)},
      {"operation", "Show or stop an act on many jobs", "gearstalkctl operation 3 --stop",
       BindApi(ShowOperation)},
  };
}

}  // namespace gearstalk::ctl::api
