// Jobs: lists, records, bodies, puts.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/filter.h"
#include "admin/ctl/api/text.h"
#include "broker/base/split.h"

namespace gearstalk::ctl::api {
namespace {

struct JobListOptions {
  Filter filter;
  std::string order, max_scan;
  std::size_t limit = 50;
  bool preview = false;

  Parameters AsParameters() {
    Parameters parameters = {{"TUBE", &filter.tube, "Tube; without one all tubes"}};
    filter.AddTo(parameters);
    parameters.insert(
        parameters.end(),
        {{"--order", &order, "id, or next: the order in which they leave", OneOf({"id", "next"})},
         {"--limit", &limit, "Jobs to list", kPositive},
         {"--max-scan", &max_scan, "Jobs to look at for one page"},
         {"--preview", &preview, "Show the first bytes of each body"}});
    return parameters;
  }
};

int ListJobs(Api& api, const JobListOptions& options) {
  Query query = options.filter.AsQuery();
  query.insert(query.end(), {{"order", options.order},
                             {"max_scan", options.max_scan},
                             {"preview", options.preview ? "1" : ""}});
  const std::string& tube = options.filter.tube;
  const std::string path = tube.empty() ? "/jobs" : TubePath(tube) + "/jobs";
  return PrintItems(api, api.List(path, query, options.limit),
                    ShowIn(">ID=id TUBE=tube STATE=state >AGE=age_seconds "
                           ">PRIORITY=priority >RESERVES=reserves "
                           ">SIZE=size_bytes >DUE=:due HOLDER=holder:holder "
                           "PREVIEW=preview:or_nothing"));
}

struct RunningOptions {
  std::string tube;
  std::size_t limit = 50;

  Parameters AsParameters() {
    return {{"--tube", &tube, "Jobs of this tube alone"},
            {"--limit", &limit, "Jobs to list", Between(1, 100)}};
  }
};

// Says how many there are when not all of them were printed.
void TellRest(std::size_t shown, const Json& all) {
  if (all.is_number() && all > shown) {
    Tell(fmt::format("the first {} of {}", shown, all.get<std::uint64_t>()));
  }
}

int ListRunning(Api& api, const RunningOptions& options) {
  const Query query = {{"state", "reserved"}, {"order", "next"}};
  const std::string path = options.tube.empty() ? "/jobs" : TubePath(options.tube) + "/jobs";
  Json page;
  const std::optional<Json> jobs = api.List(path, query, options.limit, &page);
  const int exit_code = PrintItems(
      api, jobs,
      ShowIn("TUBE=tube >JOB=id WORKER=holder:holder ADDRESS=holder/address "
             ">SINCE=running_seconds >LEFT=ttr_left_seconds >ATTEMPTS=attempts:attempt"));
  if (jobs) TellRest(jobs->size(), page["count"]);
  return exit_code;
}

struct FailureOptions {
  std::string since, tube, cause, origin;
  std::size_t limit = 50;

  Parameters AsParameters() {
    return {{"--since", &since, "Failures of so long: 15m, 1h, 7d; all without it"},
            {"--tube", &tube, "Tubes that match this pattern"},
            {"--cause", &cause, "One cause: exception, failed, timeout, lost, ...",
             OneOf({"none", "failed", "exception", "timeout", "lost", "released", "buried",
                    "expired", "damaged"})},
            {"--origin", &origin, "Dead jobs that came from this tube"},
            {"--limit", &limit, "Jobs to list", kPositive}};
  }
};

int ListFailures(Api& api, const FailureOptions& options) {
  const Query query = {{"since", options.since},
                       {"tube_match", options.tube},
                       {"cause", options.cause},
                       {"origin", options.origin}};
  Json page;
  const std::optional<Json> jobs = api.List("/failures", query, options.limit, &page);
  if (!jobs) return api.exit_code();
  if (api.settings().json) {
    Say(Json{{"items", *jobs}, {"groups", page["groups"]}, {"matched", page["matched"]}}.dump());
    return kDone;
  }
  ShowIn(
      "TUBE=tube CAUSE=cause >JOBS=count FIRST=first_failed_at LAST=last_failed_at "
      "ORIGIN=origin WHEN=per_step:blocks")(page["groups"]);
  TellRest(page["groups"].size(), page["groups_total"]);
  Say("");
  ShowIn(
      "FAILED=failed_at >JOB=id TUBE=tube CAUSE=cause >ATTEMPTS=attempts:attempts "
      "ORIGIN=origin TEXT=cause_text:cut")(*jobs);
  TellRest(jobs->size(), page["matched"]);
  return kDone;
}

int Job(Api& api, const std::uint64_t& id) { return Print(api, api.Get(JobPath(id)), ShowJob); }

// --- peek

struct PeekOptions {
  std::uint64_t id = 0;
  std::string tube, state = "ready", as;
  bool raw = false;

  Parameters AsParameters() {
    return {{"ID", &id, "Number of a job"},
            {"--tube", &tube, "The next job of this tube", {.excludes = "ID"}},
            {"--state",
             &state,
             "The state of that job: ready by default",
             {.one_of = {"ready", "reserved", "delayed", "buried"}, .needs = "--tube"}},
            {"--as", &as, "auto, text, json, base64, hex, php or msgpack",
             OneOf({"auto", "text", "json", "base64", "hex", "php", "msgpack"})},
            {"--raw", &raw, "Only the bytes of the body", {.excludes = "--as"}}};
  }
};

// The job to look at; nullopt: the reason was printed.
std::optional<std::uint64_t> JobToPeek(Api& api, const PeekOptions& options, int& exit_code) {
  if (options.id != 0) return options.id;
  const Query query = {{"state", options.state}, {"order", "next"}, {"limit", "1"}};
  const std::optional<Json> page = api.Get(WithQuery(TubePath(options.tube) + "/jobs", query));
  if (!page) {
    exit_code = api.exit_code();
    return std::nullopt;
  }
  if (!page->at("items").empty()) return page->at("items")[0]["id"].get<std::uint64_t>();
  exit_code = api.Fail(kNotFound, "not-found",
                       fmt::format("{} has no {} job", Visible(options.tube), options.state));
  return std::nullopt;
}

int PeekRaw(Api& api, std::uint64_t id) {
  if (isatty(STDOUT_FILENO) == 1 && !api.settings().yes) {
    return Fail(kBadUsage,
                "--raw: a body may hold anything, so it does not go to a terminal without --yes");
  }
  std::string bytes;
  if (!api.GetBytes(JobPath(id) + "/body", bytes)) return api.exit_code();
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return kDone;
}

void ShowView(const Json& view) {
  Say("");
  if (view.contains("error") && view["error"].is_string()) Say("error: " + Word(view, "error"));
  const bool text = view.contains("text") && view["text"].is_string();
  const std::string body =
      text ? view["text"].get<std::string>() : view.value("value", Json()).dump(2);
  // Lines stay lines.
  for (const std::string_view line : Split(body, '\n')) Say(Visible(line));
  if (view.value("truncated", false)) Say("...");
}

int ShowPeeked(Api& api, const PeekOptions& options) {
  int exit_code = kDone;
  const std::optional<std::uint64_t> id = JobToPeek(api, options, exit_code);
  if (!id.has_value()) return exit_code;
  if (options.raw) return PeekRaw(api, *id);
  const std::optional<Json> job = api.Get(JobPath(*id));
  if (!job) return api.exit_code();
  const auto view = api.Get(WithQuery(JobPath(*id) + "/body/view", {{"as", options.as}}));
  if (!view) return api.exit_code();
  if (api.settings().json) {
    Say(Json{{"job", *job}, {"body", *view}}.dump());
    return kDone;
  }
  ShowJob(*job);
  ShowView(*view);
  return kDone;
}

int Peek(const Settings& settings, PeekOptions& options) {
  if (options.id == 0 && options.tube.empty()) {
    return Fail(kBadUsage, "peek: expected ID, or --tube TUBE");
  }
  return UseApi(settings, [&](Api& api) { return ShowPeeked(api, options); });
}

// --- put

struct PutOptions {
  std::string tube, file, unique, key;
  std::optional<std::string> body;
  std::uint32_t priority = 65'536, delay = 0, ttr = 60;

  Parameters AsParameters() {
    return {{"TUBE", &tube, "Name of a tube", kRequired},
            {"BODY", &body, "The job's body"},
            {"--file", &file, "File with the body; - is standard input", {.excludes = "BODY"}},
            {"--priority", &priority, "0 is the most urgent"},
            {"--delay", &delay, "Seconds until it is ready"},
            {"--ttr", &ttr, "Seconds that a consumer has"},
            {"--unique", &unique, "Key: an unfinished job with it is joined"},
            {"--key", &key, "Idempotency key: a repeated call puts nothing anew"}};
  }
};

std::optional<std::string> ReadBody(const PutOptions& options) {
  if (options.body.has_value()) return options.body;
  if (options.file.empty() && isatty(STDIN_FILENO) == 1) {
    Tell("put: expected BODY, --file FILE, or a body on standard input");
    return std::nullopt;
  }
  const auto read = [](std::istream& in) {
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  if (options.file.empty() || options.file == "-") return read(std::cin);
  std::ifstream in(options.file, std::ios::binary);
  if (in.is_open()) return read(in);
  Tell(fmt::format("--file: cannot read '{}'", options.file));
  return std::nullopt;
}

int Put(Api& api, const PutOptions& options) {
  const std::optional<std::string> body = ReadBody(options);
  if (!body.has_value()) return kBadUsage;
  Json job;
  SetBytes(job, "body", *body);
  job["priority"] = options.priority;
  job["delay_seconds"] = options.delay;
  job["ttr_seconds"] = options.ttr;
  if (!options.unique.empty()) SetBytes(job, "unique", options.unique);
  return Print(api, api.Post(TubePath(options.tube) + "/jobs", job, options.key),
               [](const Json& made) { Say(Word(made, "id")); });
}

}  // namespace

std::vector<Command> JobCommands() {
  return {
      {"jobs", "List and search jobs", "gearstalkctl jobs mail --state buried --limit 20",
       BindApi(ListJobs)},
      {"running", "List reserved jobs and who works on them, the least time left first",
       "gearstalkctl running --tube mail", BindApi(ListRunning)},
      {"failures", "List what failed, by tube and cause and the newest first",
       "gearstalkctl failures --since 1h --tube mail", BindApi(ListFailures)},
      {"job", "Show one job's record", "gearstalkctl job 17",
       BindApi(Job, "ID", "Number of a job")},
      {"peek", "Show a job with its body, and take nothing",
       "gearstalkctl peek --tube mail --state buried", Bind<PeekOptions>(Peek)},
      {"put", "Put a job", "gearstalkctl put mail '{\"to\": \"ann\"}' --delay 60", BindApi(Put)},
  };
}

}  // namespace gearstalk::ctl::api
