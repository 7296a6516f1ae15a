#pragma once

#include <vector>

#include "broker/config/option.h"

namespace gearstalk {

// Parts of the table of options that have files of their own.
std::vector<Option> OptionsOfEtcd();
std::vector<Option> OptionsOfPostgres();
std::vector<Option> OptionsOfReplica();
std::vector<Option> ConsoleOptions();

}  // namespace gearstalk
