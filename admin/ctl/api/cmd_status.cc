// The broker at a glance.

#include <fmt/format.h>

#include <algorithm>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

// The mean of the last minute.
double LastMinute(const Json& history, const char* series) {
  const Json& values = history["series"][series];
  double sum = 0, count = 0;
  for (std::size_t i = values.size() > 60 ? values.size() - 60 : 0; i < values.size(); ++i) {
    if (!values[i].is_number()) continue;
    sum += values[i].get<double>();
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

// The server's history is for those who see all tubes.
void ShowRates(Api& api) {
  const Json session = api.Get("/session").value_or(Json::object());
  const Json tubes = session.value("tubes", Json::array());
  if (std::ranges::find(tubes, "*") == tubes.end()) return;
  const Query query = {
      {"series", "put_per_second,reserved_per_second,completed_per_second,failed_per_second"},
      {"range", "1h"},
      {"points", "3600"}};
  const Json history = api.Get(WithQuery("/history", query)).value_or(Json::object());
  if (!history.value("series", Json()).is_object()) return;
  Say(fmt::format("rates    {:.1f} puts/s, {:.1f} reserves/s, {:.1f} completed/s, {:.1f} failed/s",
                  LastMinute(history, "put_per_second"), LastMinute(history, "reserved_per_second"),
                  LastMinute(history, "completed_per_second"),
                  LastMinute(history, "failed_per_second")));
}

void Warn(const std::string& what) { Say(Bold("! " + what)); }

// The command that shows more of what needs attention; empty: `status` says all.
std::string CommandFor(const std::string& kind) {
  if (kind == "buried") return "gearstalkctl failures --since 24h";
  if (kind == "schedules") return "gearstalkctl schedules";
  if (kind == "draining") return "gearstalkctl drain --off";
  constexpr std::string_view kOfTubes[] = {"unserved", "falls_behind", "silent_workers",
                                           "held_back", "paused"};
  return std::ranges::find(kOfTubes, kind) == std::end(kOfTubes)
             ? ""
             : "gearstalkctl tubes --only " + kind;
}

// A line for each kind, with the tubes that have the most jobs below it.
void ShowAttention(Api& api) {
  constexpr std::size_t kTubesShown = 3;
  const std::optional<Json> attention = api.Get("/attention");
  if (!attention) return;
  for (const Json& item : attention->at("items")) {
    const std::string command = CommandFor(item.value("kind", ""));
    Warn(fmt::format("{}: {}{}", Word(item, "kind"), Word(item, "reason"),
                     command.empty() ? "" : fmt::format("; `{}`", command)));
    const Json tubes = item.value("tubes", Json::array());
    for (std::size_t i = 0; i < std::min(tubes.size(), kTubesShown); ++i) {
      Say(fmt::format("    {}: {}", Word(tubes[i], "name"), Word(tubes[i], "reason")));
    }
  }
}

void ShowDisk(const Json& journal) {
  const bool fills = journal.contains("full_seconds") && journal["full_seconds"].is_number();
  Say(fmt::format("disk     {} of {} free, limit {}{}{}", Size(journal, "free_bytes"),
                  Size(journal, "filesystem_bytes"), Size(journal, "free_limit_bytes"),
                  fills ? ", full in " + Age(journal, "full_seconds") : "",
                  journal.value("low", false) ? ", TOO LITTLE FREE: no new jobs are stored" : ""));
}

void ShowServer(const Json& server) {
  const Json journal = server.value("journal", Json::object());
  const bool ready = server.value("ready", false);
  Say(Bold(fmt::format("{} {}, {}, up {}", Word(server, "server_name"), Word(server, "version"),
                       ready ? "ready" : "not ready: " + Word(server, "not_ready_reason"),
                       Age(server, "uptime_seconds"))));
  Say(fmt::format(
      "jobs     {} ready, {} reserved, {} delayed, {} buried in {} tubes; oldest ready {}",
      Count(server, "jobs/ready"), Count(server, "jobs/reserved"), Count(server, "jobs/delayed"),
      Count(server, "jobs/buried"), Count(server, "tubes"),
      Age(server, "oldest_ready_age_seconds")));
  Say(fmt::format("memory   {} of jobs, {} resident", Size(server, "memory/job_bytes"),
                  Size(server, "memory/resident_bytes")));
  if (Number(server, "memory/bodies_in_journal") > 0) {
    Say(fmt::format("bodies   {} in memory, {} in the journal alone",
                    Size(server, "memory/bodies_bytes"),
                    Size(server, "memory/bodies_in_journal_bytes")));
  }
  Say(fmt::format("journal  sync {}, {} on disk, {} live{}{}", Word(journal, "sync"),
                  Size(journal, "disk_bytes"), Size(journal, "live_bytes"),
                  journal.value("failed", false) ? ", FAILED" : "",
                  journal.value("full", false) ? ", FULL" : ""));
  if (journal.contains("free_bytes") && journal["free_bytes"].is_number()) ShowDisk(journal);
  Say(fmt::format("clients  {} open, {} producers, {} workers, {} waiting",
                  Count(server, "connections/open"), Count(server, "connections/producers"),
                  Count(server, "connections/workers"), Count(server, "connections/waiting")));
}

void ShowRouters(const Json& server) {
  const Json routers = server.value("routers", Json::array());
  if (routers.empty()) return;
  const double up = std::max(server.value("uptime_seconds", 0.0), 1.0);
  const auto share = [&](const Json& of, const char* member) {
    return fmt::format("{:.0f} %", 100 * of.value(member, 0.0) / up);
  };
  Say(
      fmt::format("cpu      {} of one CPU by the broker's loop since the start; {} routers, {} "
                  "restarted",
                  share(server, "loop_cpu_seconds_total"), routers.size(),
                  Count(server, "router_restarts_total")));
  for (const Json& router : routers) {
    Say(fmt::format("         {}: {} clients, {} of one CPU{}", Word(router, "name"),
                    Count(router, "connections"), share(router, "cpu_seconds_total"),
                    router.value("pid", Json()).is_null() ? ", NOT RUNNING" : ""));
  }
}

int ShowStatus(Api& api) {
  const std::optional<Json> server = api.Get("/server");
  if (!server) return api.exit_code();
  Print(api, server, [&](const Json& object) {
    ShowServer(object);
    ShowRouters(object);
    ShowRates(api);
    ShowAttention(api);
  });
  return server->value("ready", false) ? kDone : kFailed;
}

struct HealthOptions {
  bool ready = false, standby = false;

  Parameters AsParameters() {
    return {{"--ready", &ready, "Whether it takes jobs, and if not, why"},
            {"--standby", &standby, "Whether it takes jobs, or could take over"}};
  }
};

// Needs no token: containers and load balancers ask.
int ShowHealth(Api& api, const HealthOptions& options) {
  const char* const page = options.standby ? "/readyz?role=standby"
                           : options.ready ? "/readyz"
                                           : "/healthz";
  std::string text;
  if (api.GetPage(page, text)) Say(Visible(text.substr(0, text.find('\n'))));
  return api.exit_code();
}

}  // namespace

std::vector<Command> StatusCommands() {
  return {
      {"status", "Show the broker on one screen", "gearstalkctl status", BindApi(ShowStatus)},
      {"health", "Ask whether the broker is alive, or ready", "gearstalkctl health --ready",
       BindApi(ShowHealth)},
  };
}

}  // namespace gearstalk::ctl::api
