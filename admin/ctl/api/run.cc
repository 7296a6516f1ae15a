// The command line: what all commands share, and which command it is.

#include <fmt/format.h>

#include <exception>
#include <iostream>

#include "admin/ctl/api/command.h"
#include "admin/ctl/api/text.h"
#include "admin/ctl/move_commands.h"
#include "broker/version.h"

namespace gearstalk::ctl::api {
namespace {

void AddGlobals(CLI::App& app, Settings& settings) {
  app.add_option("--server", settings.server,
                 "http://HOST:PORT[/BASE], https://HOST:PORT or unix:/PATH of the admin address");
  app.add_option("--at", settings.at, "Name of a server in the configuration file");
  app.add_option("--config", settings.config, "Configuration file");
  app.add_option("--token-file", settings.token_file, "File whose first line is the token");
  app.add_option("--ca-file", settings.ca_file, "Authorities that sign the server's certificate");
  app.add_option("--timeout", settings.timeout_s, "Seconds to wait for an answer")
      ->check(CLI::PositiveNumber);
  app.add_option("--color", settings.color,
                 "Print the first line and the warnings of `status` bold: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--json", settings.json, "Print the API's own objects");
  app.add_flag("--yes", settings.yes, "Do not ask for confirmation");
  app.add_flag("--quiet", settings.quiet, "Print no progress");
  app.set_version_flag("--version", fmt::format("gearstalkctl {}", kVersion));
}

}  // namespace

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (auto group : {StatusCommands, TubeCommands, JobCommands, ActCommands, BulkCommands,
                       ServerCommands, WatchCommands, BenchCommands, LocalCommands, MoveCommands}) {
      for (const Command& command : group()) all.push_back(command);
    }
    return all;
  }();
  return commands;
}

int Run(int argc, char** argv) {
  CLI::App app("Looks into a gearstalkd and acts on its jobs.", "gearstalkctl");
  Settings settings;
  AddGlobals(app, settings);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : Commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(fmt::format("Example:\n  {}", command.example));
    sub->fallthrough();
    actions.emplace_back(sub, command.declare(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && app.get_subcommands().empty() && app.remaining_size() > 0) {
      std::cerr << fmt::format("gearstalkctl: '{}' is no command; gearstalkctl --help lists them\n",
                               app.remaining().front());
      return kBadCall;
    }
    return app.exit(error, std::cout, std::cerr) == 0 ? kDone : kBadCall;
  }
  UseColor(settings.color);
  for (const auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    try {
      return action(settings);
    } catch (const std::exception& error) {
      // Standard output is full, an argument is no UTF-8, or an answer is not the API's.
      Tell(error.what());
      return kRefused;
    }
  }
  return kBadCall;
}

}  // namespace gearstalk::ctl::api
