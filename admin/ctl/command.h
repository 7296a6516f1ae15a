#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace gearstalk::ctl {

// Each sets up a command that moves jobs: it adds the command's options to `app`, and returns the
// function that runs the command and returns the exit code. move_commands.cc makes them rows of the
// table of commands.
std::function<int()> SetUpImport(CLI::App& app);
std::function<int()> SetUpExport(CLI::App& app);
std::function<int()> SetUpTransfers(CLI::App& app);
std::function<int()> SetUpTakeOver(CLI::App& app);
std::function<int()> SetUpHandBack(CLI::App& app);
std::function<int()> SetUpBridge(CLI::App& app);

}  // namespace gearstalk::ctl
