// Lists of tubes, and what is done to a tube.

#include <fmt/format.h>

#include <memory>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct ListOptions {
  std::string match, sort, order, only;
  std::size_t limit = 50;
};

Action DeclareTubes(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  app.add_option("--match", options->match, "Shell pattern of names");
  app.add_option("--sort", options->sort,
                 "id, name, busy, ready, reserved, delayed, buried, workers, waiting or oldest")
      ->check(TubeOrder());
  app.add_option("--order", options->order, "asc or desc")->check(CLI::IsMember({"asc", "desc"}));
  app.add_option("--only", options->only, "jobs, idle, buried or paused")
      ->check(CLI::IsMember({"jobs", "idle", "buried", "paused"}));
  app.add_option("--limit", options->limit, "Tubes to list")->check(CLI::PositiveNumber);
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json tubes;
      const Query query = {{"match", options->match},
                           {"sort", options->sort},
                           {"order", options->order},
                           {"only", options->only}};
      if (!api.List("/tubes", query, options->limit, tubes)) return api.exit_code();
      return PrintItems(api, tubes, ShowTubes);
    });
  };
}

// A command with a tube as its first argument.
Action OnTube(CLI::App& app, std::function<int(Api&, const std::string& tube)> act) {
  auto tube = std::make_shared<std::string>();
  app.add_option("TUBE", *tube, "Name of a tube")->required();
  return [tube, act = std::move(act)](const Settings& settings) {
    return UseApi(settings, [&](Api& api) { return act(api, *tube); });
  };
}

Action DeclareTube(CLI::App& app) {
  return OnTube(app, [](Api& api, const std::string& tube) {
    Json answer;
    return api.Get(TubePath(tube), answer) ? Print(api, answer, ShowTube) : api.exit_code();
  });
}

Action DeclarePause(CLI::App& app) {
  auto seconds = std::make_shared<std::uint32_t>();
  Action action = OnTube(app, [seconds](Api& api, const std::string& tube) {
    Json answer;
    if (!api.Post(TubePath(tube) + "/pause", {{"seconds", *seconds}}, answer))
      return api.exit_code();
    return Print(api, answer, [&](const Json&) {
      Say(fmt::format("{} is paused for {}", Visible(tube), AgeText(*seconds)));
    });
  });
  app.add_option("SECONDS", *seconds, "How long")->required()->check(CLI::PositiveNumber);
  return action;
}

Action DeclareResume(CLI::App& app) {
  return OnTube(app, [](Api& api, const std::string& tube) {
    Json answer;
    if (!api.Post(TubePath(tube) + "/resume", Json::object(), answer)) return api.exit_code();
    return Print(api, answer, [&](const Json&) { Say(Visible(tube) + " is not paused"); });
  });
}

// "N", "HIGH NORMAL LOW" or "default".
Action DeclareMaxQueue(CLI::App& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  Action action = OnTube(app, [words](Api& api, const std::string& tube) {
    const std::string path = TubePath(tube) + "/maxqueue";
    Json answer;
    bool done = false;
    if (words->size() == 1 && words->front() == "default") {
      done = api.Delete(path, answer);
    } else {
      std::vector<std::uint64_t> limits;
      for (const std::string& word : *words) {
        std::uint64_t number = 0;
        if (!CLI::detail::lexical_cast(word, number)) {
          Tell(fmt::format("maxqueue: '{}': expected N, HIGH NORMAL LOW, or default", word));
          return kBadCall;
        }
        limits.push_back(number);
      }
      if (limits.size() == 2) {
        Tell("maxqueue: expected N, HIGH NORMAL LOW, or default");
        return kBadCall;
      }
      const Json body = limits.size() == 1
                            ? Json{{"all", limits[0]}}
                            : Json{{"high", limits[0]}, {"normal", limits[1]}, {"low", limits[2]}};
      done = api.Put(path, body, answer);
    }
    return done ? Print(api, answer, ShowTube) : api.exit_code();
  });
  app.add_option("LIMIT", *words, "N, HIGH NORMAL LOW, or default")->required()->expected(1, 3);
  return action;
}

Action DeclareCreate(CLI::App& app) {
  return OnTube(app, [](Api& api, const std::string& tube) {
    Json answer;
    Json body;
    SetBytes(body, "name", tube);
    if (!api.Post("/tubes", body, answer)) return api.exit_code();
    return Print(api, answer, [&](const Json&) { Say(Visible(tube) + " is there"); });
  });
}

Action DeclareDrop(CLI::App& app) {
  return OnTube(app, [](Api& api, const std::string& tube) {
    Json answer;
    if (!api.Delete(TubePath(tube), answer)) return api.exit_code();
    if (!api.settings().json) Say(Visible(tube) + " is dropped");
    return kDone;
  });
}

}  // namespace

CLI::IsMember TubeOrder() {
  return CLI::IsMember({"id", "name", "busy", "ready", "reserved", "delayed", "buried", "workers",
                        "waiting", "oldest"});
}

std::vector<Command> TubeCommands() {
  return {
      {"tubes", "List tubes", "gearstalkctl tubes --sort ready --order desc", DeclareTubes},
      {"tube", "Show one tube", "gearstalkctl tube mail", DeclareTube},
      {"pause", "Give out no jobs of a tube for a time", "gearstalkctl pause mail 600",
       DeclarePause},
      {"resume", "End a pause", "gearstalkctl resume mail", DeclareResume},
      {"maxqueue", "Limit the jobs of a tube", "gearstalkctl maxqueue mail 10000", DeclareMaxQueue},
      {"create", "Create a function, so that its tube stays", "gearstalkctl create mail",
       DeclareCreate},
      {"drop", "Drop a function that has no workers and no jobs", "gearstalkctl drop mail",
       DeclareDrop},
  };
}

}  // namespace gearstalk::ctl::api
