// Lists of tubes, and what is done to a tube.

#include <fmt/format.h>

#include <cstdlib>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct TubeListOptions {
  std::string match, sort, order, only;
  std::size_t limit = 50;

  Parameters AsParameters() {
    return {{"--match", &match, "Shell pattern of names"},
            {"--sort", &sort,
             "id, name, busy, ready, reserved, delayed, buried, workers, waiting or oldest",
             OneOf(TubeOrders())},
            {"--order", &order, "asc or desc", OneOf({"asc", "desc"})},
            {"--only", &only, "jobs, idle, buried or paused",
             OneOf({"jobs", "idle", "buried", "paused", "unserved", "falls_behind",
                    "silent_workers", "held_back"})},
            {"--limit", &limit, "Tubes to list", kPositive}};
  }
};

int ListTubes(Api& api, const TubeListOptions& options) {
  const Query query = {{"match", options.match},
                       {"sort", options.sort},
                       {"order", options.order},
                       {"only", options.only}};
  return PrintItems(api, api.List("/tubes", query, options.limit), ShowIn(kTubeColumns));
}

int ShowOneTube(Api& api, const std::string& tube) {
  return Print(api, api.Get(TubePath(tube)), ShowTube);
}

struct GroupListOptions {
  std::string tube, sort;
  std::size_t top = 50;

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"--top", &top, "Groups to list", kPositive},
            {"--sort", &sort, "name, ready, reserved, delayed, handed_out or oldest",
             OneOf({"name", "ready", "reserved", "delayed", "handed_out", "oldest"})}};
  }
};

int ListGroups(Api& api, const GroupListOptions& options) {
  const Query query = {{"sort", options.sort}};
  return PrintItems(api, api.List(TubePath(options.tube) + "/groups", query, options.top),
                    ShowIn("GROUP=name >READY=ready >RESERVED=reserved "
                           ">DELAYED=delayed >HANDED_OUT=handed_out "
                           ">OLDEST=oldest_ready_age_seconds HELD_BACK=held_back"));
}

struct PauseOptions {
  std::string tube;
  std::uint32_t seconds = 0;

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"SECONDS", &seconds, "How long", {.required = true, .sign = Sign::kPositive}}};
  }
};

int Pause(Api& api, const PauseOptions& options) {
  const auto answer = api.Post(TubePath(options.tube) + "/pause", {{"seconds", options.seconds}});
  return Print(api, answer, [&](const Json&) {
    Say(fmt::format("{} is paused for {}", Visible(options.tube), AgeText(options.seconds)));
  });
}

int Resume(Api& api, const std::string& tube) {
  return Print(api, api.Post(TubePath(tube) + "/resume"),
               [&](const Json&) { Say(Visible(tube) + " is not paused"); });
}

// --- maxqueue

struct MaxQueueOptions {
  std::string tube;
  std::vector<std::string> words;  // "N", "HIGH NORMAL LOW" or "default"

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"LIMIT", &words, "N, HIGH NORMAL LOW, or default", {.required = true, .most = 3}}};
  }
};

// A number as the command line's other numbers are written.
std::optional<std::uint64_t> NumberIn(const std::string& word) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(word.c_str(), &end, 0);
  if (word.empty() || end != word.c_str() + word.size()) return std::nullopt;
  return number;
}

int MaxQueue(Api& api, const MaxQueueOptions& options) {
  const std::string path = TubePath(options.tube) + "/maxqueue";
  if (options.words == std::vector<std::string>{"default"}) {
    return Print(api, api.Delete(path), ShowTube);
  }
  std::vector<std::uint64_t> limits;
  for (const std::string& word : options.words) {
    const std::optional<std::uint64_t> number = NumberIn(word);
    if (!number.has_value()) {
      return Fail(kBadUsage,
                  fmt::format("maxqueue: '{}': expected N, HIGH NORMAL LOW, or default", word));
    }
    limits.push_back(*number);
  }
  if (limits.size() == 2) {
    return Fail(kBadUsage, "maxqueue: expected N, HIGH NORMAL LOW, or default");
  }
  const Json body = limits.size() == 1
                        ? Json{{"all", limits[0]}}
                        : Json{{"high", limits[0]}, {"normal", limits[1]}, {"low", limits[2]}};
  return Print(api, api.Put(path, body), ShowTube);
}

// --- functions

int Create(Api& api, const std::string& tube) {
  Json body;
  SetBytes(body, "name", tube);
  return Print(api, api.Post("/tubes", body),
               [&](const Json&) { Say(Visible(tube) + " is there"); });
}

int Drop(Api& api, const std::string& tube) {
  if (!api.Delete(TubePath(tube))) return api.exit_code();
  if (!api.settings().json) Say(Visible(tube) + " is dropped");
  return kDone;
}

}  // namespace

std::vector<std::string> TubeOrders() {
  return {"id",      "name",   "busy",    "ready",   "reserved",
          "delayed", "buried", "workers", "waiting", "oldest"};
}

std::vector<Command> TubeCommands() {
  return {
      {"tubes", "List tubes", "gearstalkctl tubes --sort ready --order desc", BindApi(ListTubes)},
      {"tube", "Show one tube", "gearstalkctl tube mail",
       BindApi(ShowOneTube, "TUBE", "Name of a tube")},
      {"groups", "List the groups of a tube", "gearstalkctl groups mail --top 10 --sort oldest",
       BindApi(ListGroups)},
      {"pause", "Give out no jobs of a tube for a time", "gearstalkctl pause mail 600",
       BindApi(Pause)},
      {"resume", "End a pause", "gearstalkctl resume mail",
       BindApi(Resume, "TUBE", "Name of a tube")},
      {"maxqueue", "Limit the jobs of a tube", "gearstalkctl maxqueue mail 10000",
       BindApi(MaxQueue)},
      {"create", "Create a function, so that its tube stays", "gearstalkctl create mail",
       BindApi(Create, "TUBE", "Name of a tube")},
      {"drop", "Drop a function that has no workers and no jobs", "gearstalkctl drop mail",
       BindApi(Drop, "TUBE", "Name of a tube")},
  };
}

}  // namespace gearstalk::ctl::api
