// Jobs: lists, records, bodies, puts.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/filter.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct ListOptions {
  Filter filter;
  std::string order, max_scan;
  std::size_t limit = 50;
  bool preview = false;
};

Action DeclareJobs(CLI::App& app) {
  auto options = std::make_shared<ListOptions>();
  app.add_option("TUBE", options->filter.tube, "Tube; without one all tubes");
  options->filter.AddTo(app);
  app.add_option("--order", options->order, "id, or next: the order in which they leave")
      ->check(CLI::IsMember({"id", "next"}));
  app.add_option("--limit", options->limit, "Jobs to list")->check(CLI::PositiveNumber);
  app.add_option("--max-scan", options->max_scan, "Jobs to look at for one page");
  app.add_flag("--preview", options->preview, "Show the first bytes of each body");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Query query = options->filter.AsQuery();
      query.insert(query.end(), {{"order", options->order},
                                 {"max_scan", options->max_scan},
                                 {"preview", options->preview ? "1" : ""}});
      const std::string& tube = options->filter.tube;
      Json jobs;
      if (!api.List(tube.empty() ? "/jobs" : TubePath(tube) + "/jobs", query, options->limit,
                    jobs)) {
        return api.exit_code();
      }
      return PrintItems(api, jobs, ShowJobs);
    });
  };
}

Action DeclareJob(CLI::App& app) {
  auto id = std::make_shared<std::uint64_t>();
  app.add_option("ID", *id, "Number of a job")->required();
  return [id](const Settings& settings) {
    return UseApi(settings, [&](Api& api) {
      Json job;
      return api.Get(JobPath(*id), job) ? Print(api, job, ShowJob) : api.exit_code();
    });
  };
}

// --- peek

struct PeekOptions {
  std::uint64_t id = 0;
  std::string tube, state = "ready", as;
  bool raw = false;
};

// The job to look at; nullopt: the reason was printed.
std::optional<std::uint64_t> JobToPeek(Api& api, const PeekOptions& options, int& exit_code) {
  if (options.id != 0) return options.id;
  const Query query = {{"state", options.state}, {"order", "next"}, {"limit", "1"}};
  Json page;
  if (!api.Get(WithQuery(TubePath(options.tube) + "/jobs", query), page)) {
    exit_code = api.exit_code();
    return std::nullopt;
  }
  if (!page["items"].empty()) return page["items"][0]["id"].get<std::uint64_t>();
  Tell(fmt::format("{} has no {} job", Visible(options.tube), options.state));
  exit_code = kNotFound;
  return std::nullopt;
}

int PeekRaw(Api& api, std::uint64_t id) {
  if (isatty(STDOUT_FILENO) == 1 && !api.settings().yes) {
    Tell("--raw: a body may hold anything, so it does not go to a terminal without --yes");
    return kBadCall;
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
  for (std::size_t begin = 0; begin <= body.size();) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    Say(Visible(std::string_view(body).substr(begin, end - begin)));
    begin = end + 1;
  }
  if (view.value("truncated", false)) Say("...");
}

int Peek(Api& api, const PeekOptions& options) {
  int exit_code = kDone;
  const std::optional<std::uint64_t> id = JobToPeek(api, options, exit_code);
  if (!id.has_value()) return exit_code;
  if (options.raw) return PeekRaw(api, *id);
  Json job, view;
  if (!api.Get(JobPath(*id), job)) return api.exit_code();
  if (!api.Get(WithQuery(JobPath(*id) + "/body/view", {{"as", options.as}}), view)) {
    return api.exit_code();
  }
  if (api.settings().json) {
    Say(Json{{"job", job}, {"body", view}}.dump());
    return kDone;
  }
  ShowJob(job);
  ShowView(view);
  return kDone;
}

Action DeclarePeek(CLI::App& app) {
  auto options = std::make_shared<PeekOptions>();
  CLI::Option* id = app.add_option("ID", options->id, "Number of a job");
  CLI::Option* tube = app.add_option("--tube", options->tube, "The next job of this tube");
  app.add_option("--state", options->state, "The state of that job: ready by default")
      ->needs(tube)
      ->check(CLI::IsMember({"ready", "reserved", "delayed", "buried"}));
  app.add_option("--as", options->as, "auto, text, json, base64, hex, php or msgpack")
      ->check(CLI::IsMember({"auto", "text", "json", "base64", "hex", "php", "msgpack"}));
  app.add_flag("--raw", options->raw, "Only the bytes of the body");
  id->excludes(tube);
  return [options](const Settings& settings) {
    if (options->id == 0 && options->tube.empty()) {
      Tell("peek: expected ID, or --tube TUBE");
      return kBadCall;
    }
    return UseApi(settings, [&](Api& api) { return Peek(api, *options); });
  };
}

// --- put

struct PutOptions {
  std::string tube, file, unique, key;
  std::optional<std::string> body;
  std::uint32_t priority = 65'536, delay = 0, ttr = 60;
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
  if (!body.has_value()) return kBadCall;
  Json job;
  SetBytes(job, "body", *body);
  job["priority"] = options.priority;
  job["delay_seconds"] = options.delay;
  job["ttr_seconds"] = options.ttr;
  if (!options.unique.empty()) SetBytes(job, "unique", options.unique);
  Json answer;
  if (!api.Post(TubePath(options.tube) + "/jobs", job, answer, options.key)) return api.exit_code();
  return Print(api, answer, [](const Json& made) { Say(Word(made, "id")); });
}

Action DeclarePut(CLI::App& app) {
  auto options = std::make_shared<PutOptions>();
  app.add_option("TUBE", options->tube, "Name of a tube")->required();
  CLI::Option* body = app.add_option("BODY", options->body, "The job's body");
  app.add_option("--file", options->file, "File with the body; - is standard input")
      ->excludes(body);
  app.add_option("--priority", options->priority, "0 is the most urgent");
  app.add_option("--delay", options->delay, "Seconds until it is ready");
  app.add_option("--ttr", options->ttr, "Seconds that a consumer has");
  app.add_option("--unique", options->unique, "Key: an unfinished job with it is joined");
  app.add_option("--key", options->key, "Idempotency key: a repeated call puts nothing anew");
  return [options](const Settings& settings) {
    return UseApi(settings, [&](Api& api) { return Put(api, *options); });
  };
}

}  // namespace

std::vector<Command> JobCommands() {
  return {
      {"jobs", "List and search jobs", "gearstalkctl jobs mail --state buried --limit 20",
       DeclareJobs},
      {"job", "Show one job's record", "gearstalkctl job 17", DeclareJob},
      {"peek", "Show a job with its body, and take nothing",
       "gearstalkctl peek --tube mail --state buried", DeclarePeek},
      {"put", "Put a job", "gearstalkctl put mail '{\"to\": \"ann\"}' --delay 60", DeclarePut},
  };
}

}  // namespace gearstalk::ctl::api
