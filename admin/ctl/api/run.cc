// The command line: what all commands share, which command it is, and the library that reads it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <type_traits>

#include "admin/ctl/api/command.h"
#include "admin/ctl/api/text.h"
#include "admin/ctl/move_commands.h"
#include "broker/version.h"

namespace gearstalk::ctl::api {
namespace {

template <typename T>
constexpr bool kIsList = false;
template <typename T>
constexpr bool kIsList<std::vector<T>> = true;

// The library's own check names the largest number that there is.
std::string AboveZero(const std::string& text) {
  return std::strtod(text.c_str(), nullptr) > 0 ? "" : "expected a number above 0";
}

template <typename T>
CLI::Option* AddTyped(CLI::App& app, const Parameter& parameter, T& value) {
  const std::string name(parameter.name), help(parameter.help);
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(name, value, help);
  } else {
    CLI::Option* option = app.add_option(name, value, help);
    const Rules& rules = parameter.rules;
    if constexpr (std::is_arithmetic_v<T>) {
      if (rules.range.has_value()) {
        option->check(
            CLI::Range(static_cast<T>(rules.range->low), static_cast<T>(rules.range->high)));
      }
    }
    if constexpr (kIsList<T>) {
      if (parameter.has_name()) option->allow_extra_args(false);
      if (rules.most > 1) option->expected(1, rules.most);
    }
    return option;
  }
}

void Add(CLI::App& app, const Parameter& parameter) {
  CLI::Option* option =
      std::visit([&](auto* value) { return AddTyped(app, parameter, *value); }, parameter.value);
  const Rules& rules = parameter.rules;
  if (rules.required) option->required();
  if (rules.sign == Sign::kPositive) option->check(AboveZero);
  if (rules.sign == Sign::kNotNegative) option->check(CLI::NonNegativeNumber);
  if (!rules.one_of.empty()) option->check(CLI::IsMember(rules.one_of));
  if (rules.check != nullptr) option->check(rules.check);
  if (!rules.excludes.empty()) option->excludes(app.get_option(std::string(rules.excludes)));
  if (!rules.needs.empty()) option->needs(app.get_option(std::string(rules.needs)));
  if (rules.value_alone != nullptr) option->expected(0, 1)->default_str(rules.value_alone);
  if (rules.value_in_help) option->capture_default_str();
}

// The first option that was given and is of use only where the API is asked; empty: none.
std::string GivenOfApi(const CLI::App& app) {
  for (const char* const name :
       {"--server", "--at", "--config", "--token-file", "--ca-file", "--timeout", "--json"}) {
    if (app.count(name) > 0) return name;
  }
  return {};
}

// The sub-command of each command.
std::vector<CLI::App*> AddCommands(CLI::App& app) {
  std::vector<CLI::App*> subs;
  for (const Command& command : Commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(fmt::format("Example:\n  {}", command.example));
    sub->fallthrough();
    for (const std::string& alias : command.aliases) sub->alias(alias);
    for (const Parameter& parameter : command.call.parameters) Add(*sub, parameter);
    subs.push_back(sub);
  }
  return subs;
}

}  // namespace

Parameters GlobalParameters(Settings& settings) {
  return {
      {"--server", &settings.server,
       "http://HOST:PORT[/BASE], https://HOST:PORT or unix:/PATH of the admin address"},
      {"--at", &settings.at, "Name of a server in the configuration file"},
      {"--config", &settings.config, "Configuration file"},
      {"--token-file", &settings.token_file, "File whose first line is the token"},
      {"--ca-file", &settings.ca_file, "Authorities that sign the server's certificate"},
      {"--timeout", &settings.timeout_s, "Seconds to wait for an answer", kPositive},
      {"--color", &settings.color,
       "Print the first line and the warnings of `status` bold: auto, always or never",
       OneOf({"auto", "always", "never"})},
      {"--json", &settings.json, "Print the API's own objects"},
      {"--yes", &settings.yes, "Do not ask for confirmation"},
      {"--quiet", &settings.quiet, "Print no progress"},
  };
}

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = [] {
    std::vector<Command> all;
    for (auto group : {StatusCommands, TopCommands, TubeCommands, JobCommands, ActCommands,
                       ServerCommands, WatchCommands, BenchCommands, LocalCommands, MoveCommands}) {
      for (Command& command : group()) all.push_back(std::move(command));
    }
    return all;
  }();
  return commands;
}

int Run(int argc, char** argv) {
  CLI::App app("Looks into a gearstalkd and acts on its jobs.", "gearstalkctl");
  Settings settings;
  for (const Parameter& parameter : GlobalParameters(settings)) Add(app, parameter);
  app.set_version_flag("--version", fmt::format("gearstalkctl {}", kVersion));
  app.require_subcommand(1);
  const std::vector<CLI::App*> subs = AddCommands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && app.get_subcommands().empty() && app.remaining_size() > 0) {
      return Fail(kBadUsage, fmt::format("'{}' is no command; gearstalkctl --help lists them",
                                         app.remaining().front()));
    }
    return app.exit(error, std::cout, std::cerr) == 0 ? kDone : kBadUsage;
  }
  UseColor(settings.color);
  for (std::size_t i = 0; i < subs.size(); ++i) {
    if (!subs[i]->parsed()) continue;
    const Command& command = Commands()[i];
    if (const std::string option = GivenOfApi(app); !option.empty() && !command.call.asks_api) {
      return Fail(kBadUsage, fmt::format("{} does not go with {}, which does not ask the API",
                                         option, command.name));
    }
    try {
      return command.call.run(settings);
    } catch (const std::exception& error) {
      // Standard output is full, an argument is no UTF-8, or an answer is not the API's.
      return Fail(kFailed, error.what());
    }
  }
  return kBadUsage;
}

}  // namespace gearstalk::ctl::api
