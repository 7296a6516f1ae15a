#pragma once

#include <vector>

#include "admin/ctl/api/command.h"

namespace gearstalk::ctl {

// The commands that move jobs, as rows of gearstalkctl's table.
std::vector<api::Command> MoveCommands();

}  // namespace gearstalk::ctl
