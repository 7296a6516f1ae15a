#include "admin/ctl/api/operation.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

volatile sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

bool Running(const Json& operation) {
  const std::string state = operation.value("state", "");
  return state == "counting" || state == "running";
}

// Polls the operation until the server has finished counting or acting.
bool Await(Api& api, const std::string& path, Json& operation, bool show_progress) {
  bool stopped = false;
  while (Running(operation)) {
    const bool stops = interrupted != 0 && !stopped;
    stopped = stopped || stops;
    if (!stops) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::optional<Json> now = stops ? api.Delete(path) : api.Get(path);
    if (!now) return false;
    operation = std::move(*now);
    if (show_progress) {
      std::fputs(
          fmt::format("\r{} of {}", Count(operation, "done"), Count(operation, "count")).c_str(),
          stderr);
    }
  }
  if (show_progress) std::fputs("\n", stderr);
  return true;
}

// Reads the line that the user types; empty after an interrupt. Without a terminal it waits at most
// as long as for the server.
std::string Typed(const Settings& settings) {
  constexpr int kSliceMs = 100;
  const bool terminal = isatty(STDIN_FILENO) == 1;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  std::string line;
  double left_ms = settings.timeout_s * 1000;
  for (; interrupted == 0 && (terminal || left_ms > 0); left_ms -= kSliceMs) {
    if (poll(&input, 1, kSliceMs) <= 0) continue;
    std::getline(std::cin, line);
    break;
  }
  return line;
}

// Whether the user confirms the operation on this many jobs.
bool Confirmed(Api& api, const Operation& operation, std::uint64_t count) {
  if (operation.count.has_value()) {
    if (*operation.count == count) return true;
    return Tell(fmt::format("--count: {} jobs match, not {}", count, *operation.count));
  }
  if (api.settings().yes || count == 0) return true;
  std::fputs(fmt::format("{} {} jobs? Type the number: ", operation.action, count).c_str(), stderr);
  if (Typed(api.settings()) == fmt::format("{}", count)) return true;
  std::fputs("\n", stderr);
  return Tell(
      fmt::format("not confirmed: {} jobs match; --count {} or --yes confirm them", count, count));
}

int Show(Api& api, const Json& operation) {
  Print(api, operation, [](const Json& ended) {
    Say(fmt::format("{} {}, skipped {}, failed {}", Word(ended, "state"), Count(ended, "done"),
                    Count(ended, "skipped"), Count(ended, "failed")));
  });
  const auto problem = operation.find("problem");
  if (problem != operation.end() && problem->is_object() && !api.settings().json) {
    Tell(fmt::format("{} ({})", Visible(problem->value("detail", "refused")),
                     Word(*problem, "code")));
  }
  return operation.value("state", "") == "done" && Number(operation, "failed") == 0 ? kDone
                                                                                    : kFailed;
}

}  // namespace

int RunOperation(Api& api, const Operation& operation) {
  signal(SIGINT, OnInterrupt);
  Json body = {{"action", operation.action}, {"filter", operation.filter}};
  if (!operation.to.empty()) SetBytes(body, "to", operation.to);
  std::optional<Json> state = api.Post("/operations", body);
  if (!state) return api.exit_code();
  const std::string path = "/operations/" + Word(*state, "id");
  if (!Await(api, path, *state, false)) return api.exit_code();
  if (state->value("state", "") != "counted") return Show(api, *state);
  const auto count = static_cast<std::uint64_t>(Number(*state, "count"));
  if (!Confirmed(api, operation, count)) {
    api.Delete(path);
    return kNotConfirmed;
  }
  state = api.Post(path + "/confirm", {{"count", count}});
  if (!state) return api.exit_code();
  const bool show = !api.settings().quiet && !api.settings().json && isatty(STDERR_FILENO) == 1;
  return Await(api, path, *state, show) ? Show(api, *state) : api.exit_code();
}

void ShowOperations(const Json& operations) {
  Table table(
      {"ID", "ACTION", "STATE", ">COUNT", ">DONE", ">SKIPPED", ">FAILED", "USER", "CREATED"});
  for (const Json& operation : operations) {
    table.Add({Word(operation, "id"), Word(operation, "action"), Word(operation, "state"),
               Count(operation, "count"), Count(operation, "done"), Count(operation, "skipped"),
               Count(operation, "failed"), Word(operation, "user"), Word(operation, "created_at")});
  }
  std::fputs(table.Text().c_str(), stdout);
}

}  // namespace gearstalk::ctl::api
