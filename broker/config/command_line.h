#pragma once

#include <map>
#include <string>

#include "broker/base/status.h"
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
    // With the options of `etcd` or `postgres`.
    kCheckReplica,
    kExportReplica,
    kImportReplica,
    kUpgradeReplica,
  } action = Action::kServe;
  // kPrintAndExit: what; kCheckJournal, kSalvageJournal, kExportReplica, kImportReplica: the
  // directory; kCheckReplica: the kind of store
  std::string text;
};

// By flag: the option of another server that errors name in its place.
using FlagNames = std::map<std::string, std::string, std::less<>>;

// Reads all sources. An error is wrong usage; what is wrong with the values is in Settings::errors.
Result<CommandLine> ReadCommandLine(int argc, const char* const* argv, const Checks& checks = {},
                                    const FlagNames& names = {});

}  // namespace gearstalk
