// The server: its connections, its state, its policies.

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct ListOptions {
  std::string role, tube;
  std::size_t limit = 500;
};

int List(Api& api, const ListOptions& options) {
  Json connections;
  const Query query = {{"role", options.role}, {"tube", options.tube}};
  if (!api.List("/connections", query, options.limit, connections)) return api.exit_code();
  return PrintItems(api, connections, ShowConnections);
}

Action DeclareWorkers(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  options->role = "worker";
  app.add_option("--tube", options->tube, "Workers of this tube only");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) { return List(api, *options); });
  };
}

Action DeclareConnections(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  app.add_option("--role", options->role, "producer, worker or waiting")
      ->check(CLI::IsMember({"producer", "worker", "waiting"}));
  app.add_option("--tube", options->tube, "Connections that use or watch this tube");
  app.add_option("--limit", options->limit, "Connections to list")->check(CLI::PositiveNumber);
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) { return List(api, *options); });
  };
}

Action DeclareDisconnect(CLI::App& app) {
  auto id = std::make_shared<std::uint64_t>();
  app.add_option("ID", *id, "Number of a connection")->required();
  return [id](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json answer;
      if (!api.Delete(fmt::format("/connections/{}", *id), answer)) return api.exit_code();
      if (!api.settings().json) Say(fmt::format("disconnected {}", *id));
      return kDone;
    });
  };
}

Action DeclareLogLevel(CLI::App& app) {
  auto level = std::make_shared<std::string>();
  app.add_option("LEVEL", *level, "trace, debug, info, warn, error, critical or off")
      ->required()
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "critical", "off"}));
  return [level](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json answer;
      if (!api.Put("/server/log-level", {{"level", *level}}, answer)) return api.exit_code();
      return Print(api, answer, [](const Json& now) { Say("log level " + Word(now, "level")); });
    });
  };
}

// --- drain

struct DrainOptions {
  bool off = false;
  std::optional<double> wait_s;
};

// Until no job is reserved, or for so many seconds.
int AwaitIdle(Api& api, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    Json server;
    if (!api.Get("/server", server)) return api.exit_code();
    const double reserved = Number(server.value("jobs", Json::object()), "reserved");
    if (reserved == 0) return kDone;
    if (std::chrono::steady_clock::now() >= end) {
      Tell(fmt::format("{:.0f} jobs are still reserved", reserved));
      return kRefused;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

Action DeclareDrain(CLI::App& app) {
  auto options = std::make_shared<DrainOptions>();
  CLI::Option* off = app.add_flag("--off", options->off, "Take new jobs again");
  app.add_option("--wait", options->wait_s, "Wait until no job is reserved, SECONDS at most")
      ->expected(0, 1)
      ->excludes(off)
      ->default_str("31536000");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json answer;
      if (!api.Put("/server/draining", {{"draining", !options->off}}, answer))
        return api.exit_code();
      Print(api, answer, [](const Json& now) {
        Say(now.value("draining", false) ? "draining: no new jobs are taken"
                                         : "new jobs are taken");
      });
      return options->wait_s.has_value() ? AwaitIdle(api, *options->wait_s) : kDone;
    });
  };
}

// --- Policies and schedules

void ShowPolicy(const Json& items) {
  Table table({"KEY", "VALUE", "SOURCE"});
  for (const Json& item : items) {
    table.Add({Word(item, "key"), Word(item, "value"), Word(item, "source")});
  }
  std::fputs(table.Text().c_str(), stdout);
}

struct PolicyOptions {
  std::string tube, key, value;
};

int Policy(Api& api, const PolicyOptions& options) {
  const std::string path = TubePath(options.tube) + "/policy";
  const std::string key_path = path + "/" + UrlEncoded(options.key);
  Json answer;
  if (options.value.empty()) {
    if (!api.Get(path, answer)) return api.exit_code();
    Json items = Json::array();
    for (const Json& item : answer["items"]) {
      if (options.key.empty() || item.value("key", "") == options.key) items.push_back(item);
    }
    if (!items.empty()) return PrintItems(api, items, ShowPolicy);
    Tell(fmt::format("unknown policy '{}'", Visible(options.key)));
    return kNotFound;
  }
  const bool done = options.value == "default"
                        ? api.Delete(key_path, answer)
                        : api.Put(key_path, {{"value", options.value}}, answer);
  if (!done) return api.exit_code();
  return Print(api, answer, [](const Json& item) {
    if (item.is_object()) ShowPolicy(Json::array({item}));
  });
}

Action DeclarePolicy(CLI::App& app) {
  auto options = std::make_shared<PolicyOptions>();
  app.add_option("TUBE", options->tube, "Name of a tube")->required();
  app.add_option("KEY", options->key, "Key of the policy; all without it");
  app.add_option("VALUE", options->value, "New value, or default");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) { return Policy(api, *options); });
  };
}

Action DeclareSchedules(CLI::App&) {
  return [](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json schedules;
      if (!api.List("/schedules", {}, 1'000, schedules)) return api.exit_code();
      return PrintItems(api, schedules, [](const Json& items) {
        Table table({"NAME", "TUBE", "NEXT", "LAST", ">RUNS", ">SKIPPED", ">MISSED", "ENABLED"});
        for (const Json& item : items) {
          table.Add({Word(item, "name"), Word(item, "tube"), Word(item, "next_at"),
                     Word(item, "last_at"), Count(item, "runs"), Count(item, "skipped"),
                     Count(item, "missed"), item.value("enabled", false) ? "yes" : "no"});
        }
        std::fputs(table.Text().c_str(), stdout);
      });
    });
  };
}

Action DeclareSchedule(CLI::App& app) {
  struct Options {
    std::string name, act;
  };
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "Name of a schedule")->required();
  app.add_option("ACT", options->act, "run, on or off")
      ->required()
      ->check(CLI::IsMember({"run", "on", "off"}));
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      const std::string path = "/schedules/" + UrlEncoded(options->name);
      Json answer;
      if (options->act == "run") {
        if (!api.Post(path + "/run", Json::object(), answer)) return api.exit_code();
        return Print(api, answer, [](const Json& job) { Say(Word(job, "id")); });
      }
      const bool on = options->act == "on";
      if (!api.Put(path + "/enabled", {{"enabled", on}}, answer)) return api.exit_code();
      return Print(api, answer,
                   [&](const Json&) { Say(Visible(options->name) + (on ? " is on" : " is off")); });
    });
  };
}

}  // namespace

std::vector<Command> ServerCommands() {
  return {
      {"workers", "List workers and what they do", "gearstalkctl workers --tube mail",
       DeclareWorkers},
      {"connections", "List connections", "gearstalkctl connections --role waiting",
       DeclareConnections},
      {"disconnect", "Close a connection; its jobs go back", "gearstalkctl disconnect 7",
       DeclareDisconnect},
      {"drain", "Take no new jobs, or take them again", "gearstalkctl drain --wait 60",
       DeclareDrain},
      {"log-level", "Set the broker's log level", "gearstalkctl log-level debug", DeclareLogLevel},
      {"policy", "Show or set the policy of a tube", "gearstalkctl policy mail attempts 5",
       DeclarePolicy},
      {"schedules", "List schedules", "gearstalkctl schedules", DeclareSchedules},
      {"schedule", "Run a schedule now, or switch it on or off",
       "gearstalkctl schedule nightly run", DeclareSchedule},
  };
}

}  // namespace gearstalk::ctl::api
