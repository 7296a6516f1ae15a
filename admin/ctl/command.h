#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace gearstalk::ctl {

// What sets up a command that moves jobs: names its options and returns what runs it; that returns
// the exit code. move_commands.cc makes them rows of the table of commands. One file for each
// group.
std::function<int()> SetUpImport(CLI::App& app);
std::function<int()> SetUpExport(CLI::App& app);
std::function<int()> SetUpTransfers(CLI::App& app);
std::function<int()> SetUpTakeOver(CLI::App& app);
std::function<int()> SetUpHandBack(CLI::App& app);
std::function<int()> SetUpBridge(CLI::App& app);

}  // namespace gearstalk::ctl
