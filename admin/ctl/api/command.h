#pragma once

#include <string>
#include <vector>

#include "admin/ctl/api/settings.h"
#include "admin/ctl/command.h"

namespace gearstalk::ctl::api {

// All sub-commands in the order of the manual page. Each group has its file.
const std::vector<Command>& Commands();

std::vector<Command> StatusCommands();
std::vector<Command> TopCommands();
std::vector<Command> TubeCommands();
std::vector<Command> JobCommands();
std::vector<Command> ActCommands();
std::vector<Command> ServerCommands();
std::vector<Command> WatchCommands();
std::vector<Command> BenchCommands();
std::vector<Command> LocalCommands();

// The orders that lists of tubes have.
std::vector<std::string> TubeOrders();

// What is said before or behind any command.
Parameters GlobalParameters(Settings& settings);

// Reads the command line and runs one command; returns the exit code.
int Run(int argc, char** argv);

}  // namespace gearstalk::ctl::api
