#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "admin/ctl/api/settings.h"

namespace gearstalk::ctl::api {

// Exit codes of gearstalkctl; docs/gearstalkctl.md lists them.
inline constexpr int kDone = 0;
inline constexpr int kRefused = 1;  // the server refused or could not; the output cannot be written
inline constexpr int kBadCall = 2;  // called wrongly
inline constexpr int kNotReachable = 3;  // no server, or no answer
inline constexpr int kNotAllowed = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kNotConfirmed = 6;  // by the user, or the number differs

// Does what a command says when its arguments are read; returns the exit code.
using Action = std::function<int(const Settings& settings)>;

// One sub-command.
struct Command {
  std::string_view name;
  std::string_view summary;  // one line, for --help and completions
  std::string_view example;  // a call that works, for --help
  // Adds the command's arguments to `app`. The action reads them later and outlives `app`'s
  // parsing.
  Action (*declare)(CLI::App& app);
};

// All sub-commands in the order of the manual page. Each group has its file.
const std::vector<Command>& Commands();

std::vector<Command> StatusCommands();
std::vector<Command> TubeCommands();
std::vector<Command> JobCommands();
std::vector<Command> ActCommands();
std::vector<Command> BulkCommands();
std::vector<Command> ServerCommands();
std::vector<Command> WatchCommands();
std::vector<Command> BenchCommands();
std::vector<Command> LocalCommands();

// The orders that lists of tubes have.
CLI::IsMember TubeOrder();

// Reads the command line and runs one command; returns the exit code.
int Run(int argc, char** argv);

}  // namespace gearstalk::ctl::api
