#pragma once

#include <string>
#include <string_view>

#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/config/sources.h"

namespace gearstalk {

// What the command line asks for.
struct CommandLine {
  Settings settings;
  enum class Action : std::uint8_t {
    kServe,
    kCheckConfig,
    kPrintAndExit,
    kPrintVersion,
    kCheckJournal,
    kSalvageJournal,
  } action = Action::kServe;
  // kPrintAndExit: what; kCheckJournal, kSalvageJournal: the directory
  std::string text;
};

// Reads all sources. Errors name the option and where it was set: flag, variable, or file and line.
Result<CommandLine> ReadCommandLine(int argc, const char* const* argv, const Checks& checks = {});

}  // namespace gearstalk
