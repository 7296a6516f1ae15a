// The server: its connections, its state, its policies.

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"
#include "broker/base/clock.h"
#include "broker/base/near_names.h"

namespace gearstalk::ctl::api {
namespace {

struct ConnectionOptions {
  std::string role, tube;
  std::size_t limit = 500;

  Parameters AsParameters() {
    return {{"--role", &role, "producer, worker, waiting, or idle: a worker without a job",
             OneOf({"producer", "worker", "waiting", "idle"})},
            {"--tube", &tube, "Connections that use or watch this tube"},
            {"--limit", &limit, "Connections to list", kPositive}};
  }
};

int Connections(Api& api, const ConnectionOptions& options) {
  const Query query = {{"role", options.role}, {"tube", options.tube}};
  return PrintItems(api, api.List("/connections", query, options.limit),
                    ShowIn(">ID=id PROTOCOL=protocol ADDRESS=address CLIENT=client_id ROLES=roles "
                           ">HOLDS=holds >IDLE=idle_seconds WATCHES=watches"));
}

int Workers(Api& api, const std::string& tube) {
  return Connections(api, {.role = "worker", .tube = tube});
}

int Disconnect(Api& api, const std::uint64_t& id) {
  if (!api.Delete(fmt::format("/connections/{}", id))) return api.exit_code();
  if (!api.settings().json) Say(fmt::format("disconnected {}", id));
  return kDone;
}

int LogLevel(Api& api, const std::string& level) {
  return Print(api, api.Put("/server/log-level", {{"level", level}}),
               [](const Json& now) { Say("log level " + Word(now, "level")); });
}

// --- drain

struct DrainOptions {
  bool off = false;
  std::optional<double> wait_s;

  Parameters AsParameters() {
    return {{"--off", &off, "Take new jobs again"},
            {"--wait",
             &wait_s,
             "Wait until no job is reserved, SECONDS at most",
             {.excludes = "--off", .value_alone = "31536000"}}};
  }
};

// Until no job is reserved, or for so many seconds.
int AwaitIdle(Api& api, double seconds) {
  const Time began = BootTime();
  while (true) {
    const std::optional<Json> server = api.Get("/server");
    if (!server) return api.exit_code();
    const double reserved = Number(server->value("jobs", Json::object()), "reserved");
    if (reserved == 0) return kDone;
    if (Seconds(BootTime() - began) >= seconds) {
      return api.Fail(kFailed, "not-idle", fmt::format("{:.0f} jobs are still reserved", reserved));
    }
    ::usleep(200'000);
  }
}

int Drain(Api& api, const DrainOptions& options) {
  const auto answer = api.Put("/server/draining", {{"draining", !options.off}});
  const int exit_code = Print(api, answer, [](const Json& now) {
    Say(now.value("draining", false) ? "draining: no new jobs are taken" : "new jobs are taken");
  });
  return answer && options.wait_s.has_value() ? AwaitIdle(api, *options.wait_s) : exit_code;
}

// --- Policies and schedules

constexpr std::string_view kPolicyColumns = "KEY=key VALUE=value SOURCE=source";

struct PolicyOptions {
  std::string tube, key, value;

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"KEY", &key, "Key of the policy; all without it"},
            {"VALUE", &value, "New value, or default"}};
  }
};

int Policy(Api& api, const PolicyOptions& options) {
  const std::string path = TubePath(options.tube) + "/policy";
  const std::string key_path = path + "/" + UrlEncoded(options.key);
  if (options.value.empty()) {
    const std::optional<Json> answer = api.Get(path);
    if (!answer) return api.exit_code();
    Json items = Json::array();
    for (const Json& item : answer->at("items")) {
      if (options.key.empty() || item.value("key", "") == options.key) items.push_back(item);
    }
    if (!items.empty()) return PrintItems(api, items, ShowIn(kPolicyColumns));
    std::vector<std::string> known;
    for (const Json& item : answer->at("items")) known.push_back(item.value("key", ""));
    return api.Fail(kNotFound, "not-found",
                    fmt::format("unknown policy '{}'; {}", Visible(options.key),
                                known.empty() ? "" : NearNames(options.key, known)));
  }
  const auto answer = options.value == "default" ? api.Delete(key_path)
                                                 : api.Put(key_path, {{"value", options.value}});
  return Print(api, answer, ShowIn(kPolicyColumns));
}

int Schedules(Api& api) {
  return PrintItems(api, api.List("/schedules", {}, 1'000),
                    ShowIn("NAME=name TUBE=tube WHEN=cron:when ZONE=time_zone NEXT=next_at "
                           "LAST=last_at >RUNS=runs >SKIPPED=skipped "
                           ">MISSED=missed ENABLED=enabled:yes"));
}

struct ScheduleOptions {
  std::string name, act;

  Parameters AsParameters() {
    return {{"NAME", &name, "Name of a schedule", kRequired},
            {"ACT", &act, "run, on or off", OneOf({"run", "on", "off"}, true)}};
  }
};

int Schedule(Api& api, const ScheduleOptions& options) {
  const std::string path = "/schedules/" + UrlEncoded(options.name);
  if (options.act == "run") {
    return Print(api, api.Post(path + "/run"), [](const Json& job) { Say(Word(job, "id")); });
  }
  const bool on = options.act == "on";
  return Print(api, api.Put(path + "/enabled", {{"enabled", on}}),
               [&](const Json&) { Say(Visible(options.name) + (on ? " is on" : " is off")); });
}

}  // namespace

std::vector<Command> ServerCommands() {
  return {
      {"workers", "List workers and what they do", "gearstalkctl workers --tube mail",
       BindApi(Workers, "--tube", "Workers of this tube only", {})},
      {"connections", "List connections", "gearstalkctl connections --role waiting",
       BindApi(Connections)},
      {"disconnect", "Close a connection; its jobs go back", "gearstalkctl disconnect 7",
       BindApi(Disconnect, "ID", "Number of a connection")},
      {"drain", "Take no new jobs, or take them again", "gearstalkctl drain --wait 60",
       BindApi(Drain)},
      {"log-level", "Set the broker's log level", "gearstalkctl log-level debug",
       BindApi(LogLevel, "LEVEL", "trace, debug, info, warn, error, critical or off",
               OneOf({"trace", "debug", "info", "warn", "error", "critical", "off"}, true))},
      {"policy", "Show or set the policy of a tube", "gearstalkctl policy mail attempts 5",
       BindApi(Policy)},
      {"schedules", "List schedules", "gearstalkctl schedules", BindApi(Schedules)},
      {"schedule", "Run a schedule now, or switch it on or off",
       "gearstalkctl schedule nightly run", BindApi(Schedule)},
  };
}

}  // namespace gearstalk::ctl::api
