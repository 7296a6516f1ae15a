// Acts on single jobs, named by their numbers.

#include <fmt/format.h>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
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
    Parameters parameters = Jobs::AsParameters();
    parameters.push_back({"--force", &force, "Also a job that somebody holds"});
    return parameters;
  }
};

// Applies `act` to each job, continues after refusals, and prints how many succeeded. The exit code
// is that of the first refusal.
int ForEachJob(Api& api, const Jobs& jobs, const std::string& word,
               const std::function<std::optional<Json>(std::uint64_t id)>& act) {
  int exit_code = kDone;
  std::size_t done = 0;
  for (const std::uint64_t id : jobs.ids) {
    if (act(id)) {
      ++done;
    } else if (exit_code == kDone) {
      exit_code = api.exit_code();
    }
    if (exit_code == kNotReachable) break;
  }
  Say(api.settings().json ? Json{{word, done}}.dump() : fmt::format("{} {}", word, done));
  return exit_code;
}

int KickJob(Api& api, const Jobs& jobs) {
  return ForEachJob(api, jobs, "kicked",
                    [&](std::uint64_t id) { return api.Post(JobPath(id) + "/kick"); });
}

int Bury(Api& api, const HeldJobs& jobs) {
  return ForEachJob(api, jobs, "buried", [&](std::uint64_t id) {
    return api.Post(JobPath(id) + "/bury", jobs.force ? Json{{"force", true}} : Json::object());
  });
}

int Release(Api& api, const HeldJobs& jobs) {
  return ForEachJob(api, jobs, "released",
                    [&](std::uint64_t id) { return api.Post(JobPath(id) + "/release"); });
}

int Delete(Api& api, const HeldJobs& jobs) {
  return ForEachJob(api, jobs, "deleted", [&](std::uint64_t id) {
    return api.Delete(JobPath(id) + (jobs.force ? "?force=true" : ""));
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
  };
}

}  // namespace gearstalk::ctl::api
