// Acts on single jobs, named by their numbers.

#include <fmt/format.h>

#include <memory>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct ActOptions {
  std::vector<std::uint64_t> ids;
  bool force = false;
};

// Applies `act` to each job, continues after refusals, and prints how many succeeded. The exit code
// is that of the first refusal.
int ForEachJob(Api& api, const std::vector<std::uint64_t>& ids, const std::string& word,
               const std::function<bool(std::uint64_t)>& act) {
  int exit_code = kDone;
  std::size_t done = 0;
  for (const std::uint64_t id : ids) {
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

Action OnJobs(CLI::App& app, const std::string& word, bool takes_force,
              std::function<bool(Api&, std::uint64_t, bool force)> act) {
  auto options = std::make_shared<ActOptions>();
  app.add_option("ID", options->ids, "Numbers of jobs")->required();
  if (takes_force) app.add_flag("--force", options->force, "Also a job that somebody holds");
  return [options, word, act = std::move(act)](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      return ForEachJob(api, options->ids, word,
                        [&](std::uint64_t id) { return act(api, id, options->force); });
    });
  };
}

Action DeclareKickJob(CLI::App& app) {
  return OnJobs(app, "kicked", false, [](Api& api, std::uint64_t id, bool) {
    Json answer;
    return api.Post(JobPath(id) + "/kick", Json::object(), answer);
  });
}

Action DeclareBury(CLI::App& app) {
  return OnJobs(app, "buried", true, [](Api& api, std::uint64_t id, bool force) {
    Json answer;
    return api.Post(JobPath(id) + "/bury", force ? Json{{"force", true}} : Json::object(), answer);
  });
}

Action DeclareRelease(CLI::App& app) {
  return OnJobs(app, "released", true, [](Api& api, std::uint64_t id, bool) {
    Json answer;
    return api.Post(JobPath(id) + "/release", Json::object(), answer);
  });
}

Action DeclareDelete(CLI::App& app) {
  return OnJobs(app, "deleted", true, [](Api& api, std::uint64_t id, bool force) {
    Json answer;
    return api.Delete(JobPath(id) + (force ? "?force=true" : ""), answer);
  });
}

Action DeclareKick(CLI::App& app) {
  struct Options {
    std::string tube, state;
    std::uint32_t count = 1'000'000;  // as many as the API takes: all
  };
  auto options = std::make_shared<Options>();
  app.add_option("TUBE", options->tube, "Name of a tube")->required();
  app.add_option("COUNT", options->count, "Most jobs to kick; all without it")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--state", options->state, "buried or delayed; as `kick` without it")
      ->check(CLI::IsMember({"buried", "delayed"}));
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      const Json state = options->state.empty() ? Json() : Json(options->state);
      Json answer;
      if (!api.Post(TubePath(options->tube) + "/kick",
                    {{"count", options->count}, {"state", state}}, answer)) {
        return api.exit_code();
      }
      return Print(api, answer,
                   [](const Json& kicked) { Say("kicked " + Word(kicked, "kicked")); });
    });
  };
}

}  // namespace

std::vector<Command> ActCommands() {
  return {
      {"kick", "Make buried or delayed jobs of a tube ready", "gearstalkctl kick mail 100",
       DeclareKick},
      {"kick-job", "Make jobs ready", "gearstalkctl kick-job 17 18", DeclareKickJob},
      {"bury", "Bury jobs", "gearstalkctl bury 17", DeclareBury},
      {"release", "Take jobs from their holders and make them ready", "gearstalkctl release 17",
       DeclareRelease},
      {"delete", "Delete jobs", "gearstalkctl delete 17 18 --force", DeclareDelete},
  };
}

}  // namespace gearstalk::ctl::api
