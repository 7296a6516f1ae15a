// Acts on many jobs: by their numbers, or by a filter as an operation of the server.

#include <fmt/format.h>

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
  Json made = Json::array(), body;
  SetBytes(body, "to", options.to);
  int exit_code = kDone;
  for (const std::uint64_t id : options.ids) {
    if (auto answer = api.Post(JobPath(id) + "/" + action, body)) {
      made.push_back(std::move(*answer));
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

int ActOnTube(Api& api, const Filter& filter, const Operation& operation) {
  // A group is one of a tube that is there.
  if (filter.group && !api.Get(TubePath(filter.tube))) return api.exit_code();
  return RunOperation(api, operation);
}

int MoveOrCopy(const Settings& settings, const TransferOptions& options, const char* action) {
  if (options.ids.empty() && options.filter.tube.empty()) {
    Tell(fmt::format("{}: expected ID..., or --tube TUBE", action));
    return kBadUsage;
  }
  return UseApi(settings, [&](Api& api) {
    if (!options.ids.empty()) return EachJob(api, action, options);
    return ActOnTube(api, options.filter,
                     {.action = action,
                      .filter = options.filter.AsJson(),
                      .to = options.to,
                      .count = options.count});
  });
}

int Move(const Settings& settings, TransferOptions& options) {
  return MoveOrCopy(settings, options, "move");
}
int Copy(const Settings& settings, TransferOptions& options) {
  return MoveOrCopy(settings, options, "copy");
}

struct ClearOptions {
  Filter filter;
  std::optional<std::uint64_t> count;

  Parameters AsParameters() {
    Parameters parameters = {{"TUBE", &filter.tube, "Name of a tube", kRequired}};
    filter.AddTo(parameters);
    parameters.push_back({"--count", &count, "Confirms this number of jobs"});
    return parameters;
  }
};

int Clear(Api& api, const ClearOptions& options) {
  return ActOnTube(
      api, options.filter,
      {.action = "delete", .filter = options.filter.AsJson(), .to = {}, .count = options.count});
}

int Operations(Api& api) {
  return PrintItems(api, api.List("/operations", {}, 500), ShowOperations);
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
  return Print(api, options.stop ? api.Delete(path) : api.Get(path),
               [](const Json& one) { ShowOperations(Json::array({one})); });
}

}  // namespace

std::vector<Command> BulkCommands() {
  return {
      {"move", "Move jobs to another tube", "gearstalkctl move 17 18 --to mail.later",
       Bind<TransferOptions>(Move)},
      {"copy", "Copy jobs to a tube",
       "gearstalkctl copy --tube mail --state buried --to mail.again --yes",
       Bind<TransferOptions>(Copy)},
      {"clear", "Delete all jobs of a tube that match",
       "gearstalkctl clear mail --state buried --yes", BindApi(Clear)},
      {"operations", "List acts on many jobs", "gearstalkctl operations", BindApi(Operations)},
      {"operation", "Show or stop an act on many jobs", "gearstalkctl operation 3 --stop",
       BindApi(ShowOperation)},
  };
}

}  // namespace gearstalk::ctl::api
