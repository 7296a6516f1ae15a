// Acts on many jobs: by their numbers, or by a filter as an operation of the server.

#include <fmt/format.h>

#include <memory>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/filter.h"
#include "admin/ctl/api/operation.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct TransferOptions {
  std::vector<std::uint64_t> ids;
  std::string to;
  Filter filter;
  std::optional<std::uint64_t> count;
};

int EachJob(Api& api, const std::string& action, const TransferOptions& options) {
  Json made = Json::array(), body;
  SetBytes(body, "to", options.to);
  int exit_code = kDone;
  for (const std::uint64_t id : options.ids) {
    Json answer;
    if (api.Post(JobPath(id) + "/" + action, body, answer)) {
      made.push_back(std::move(answer));
    } else if (exit_code == kDone) {
      exit_code = api.exit_code();
    }
    if (exit_code == kNotReachable) break;
  }
  PrintItems(api, made, [&](const Json& jobs) {
    for (const Json& job : jobs) Say(fmt::format("{} {}", Word(job, "id"), Word(job, "tube")));
  });
  return exit_code;
}

Action DeclareTransfer(CLI::App& app, const char* action) {
  auto options = std::make_shared<TransferOptions>();
  CLI::Option* ids = app.add_option("ID", options->ids, "Numbers of jobs");
  app.add_option("--to", options->to, "The tube they go to")->required();
  CLI::Option* tube =
      app.add_option("--tube", options->filter.tube, "All that match, in this tube");
  options->filter.AddTo(app);
  app.add_option("--count", options->count, "Confirms this number of jobs");
  ids->excludes(tube);
  return [options, action](const Settings& settings) {
    if (options->ids.empty() && options->filter.tube.empty()) {
      Tell(fmt::format("{}: expected ID..., or --tube TUBE", action));
      return kBadCall;
    }
    return UseApi(settings, [&](Api& api) {
      if (!options->ids.empty()) return EachJob(api, action, *options);
      return RunOperation(api, {.action = action,
                                .filter = options->filter.AsJson(),
                                .to = options->to,
                                .count = options->count});
    });
  };
}

Action DeclareMove(CLI::App& app) { return DeclareTransfer(app, "move"); }
Action DeclareCopy(CLI::App& app) { return DeclareTransfer(app, "copy"); }

Action DeclareClear(CLI::App& app) {
  auto options = std::make_shared<TransferOptions>();
  app.add_option("TUBE", options->filter.tube, "Name of a tube")->required();
  options->filter.AddTo(app);
  app.add_option("--count", options->count, "Confirms this number of jobs");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      return RunOperation(api, {.action = "delete",
                                .filter = options->filter.AsJson(),
                                .to = {},
                                .count = options->count});
    });
  };
}

Action DeclareOperations(CLI::App&) {
  return [](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json operations;
      if (!api.List("/operations", {}, 500, operations)) return api.exit_code();
      return PrintItems(api, operations, ShowOperations);
    });
  };
}

Action DeclareOperation(CLI::App& app) {
  struct Options {
    std::string id;
    bool stop = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("ID", options->id, "Id of an operation")->required();
  app.add_flag("--stop", options->stop, "Stop it where it is");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      const std::string path = "/operations/" + UrlEncoded(options->id);
      Json operation;
      if (!(options->stop ? api.Delete(path, operation) : api.Get(path, operation))) {
        return api.exit_code();
      }
      return Print(api, operation, [](const Json& one) { ShowOperations(Json::array({one})); });
    });
  };
}

}  // namespace

std::vector<Command> BulkCommands() {
  return {
      {"move", "Move jobs to another tube", "gearstalkctl move 17 18 --to mail.later", DeclareMove},
      {"copy", "Copy jobs to a tube",
       "gearstalkctl copy --tube mail --state buried --to mail.again --yes", DeclareCopy},
      {"clear", "Delete all jobs of a tube that match",
       "gearstalkctl clear mail --state buried --yes", DeclareClear},
      {"operations", "List acts on many jobs", "gearstalkctl operations", DeclareOperations},
      {"operation", "Show or stop an act on many jobs", "gearstalkctl operation 3 --stop",
       DeclareOperation},
  };
}

}  // namespace gearstalk::ctl::api
