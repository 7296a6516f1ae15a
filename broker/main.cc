// What the command line asks for is done here, or by the part that can.

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "broker/app/start.h"
#include "broker/config/command_line.h"
#include "broker/journal/wal_check.h"
#include "broker/journal/wal_salvage.h"
#include "broker/server/listener.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

// --journal-check and --journal-salvage.
int InspectJournal(const CommandLine& line) {
  std::string report;
  const Status status = line.action == CommandLine::Action::kCheckJournal
                            ? CheckJournal(SystemFileSystem(), line.text, report)
                            : SalvageJournal(SystemFileSystem(), line.text, report);
  fmt::print("{}", report);
  if (status.ok()) return kExitDone;
  fmt::print(stderr, "gearstalkd: {}\n", status.message());
  return kExitFailed;
}

// What the table of options does not know of their values.
Checks ValueChecks() {
  return {{"listen", [](const std::string& text) {
             const Result<ListenAddress> address = ListenAddress::Parse(text);
             return address.ok() ? Status() : address.status();
           }}};
}

int Main(int argc, char** argv) {
  const Result<CommandLine> line = ReadCommandLine(argc, argv, ValueChecks());
  if (!line.ok()) {
    fmt::print(stderr, "gearstalkd: {}\n", line.status().message());
    return kExitBadUsage;
  }
  switch (line.value().action) {
    case CommandLine::Action::kPrintAndExit:
      fmt::print("{}", line.value().text);
      return kExitDone;
    case CommandLine::Action::kPrintVersion:
      fmt::print("gearstalkd {}\n", kVersion);
      return kExitDone;
    case CommandLine::Action::kCheckJournal:
    case CommandLine::Action::kSalvageJournal:
      return InspectJournal(line.value());
    case CommandLine::Action::kCheckConfig:
      fmt::print("the configuration is good\n");
      return kExitDone;
    case CommandLine::Action::kServe:
      break;
  }
  return Start(line.value().config, [=]() -> Result<Config> {
    Result<CommandLine> again = ReadCommandLine(argc, argv, ValueChecks());
    if (!again.ok()) return again.status();
    return std::move(again.value().config);
  });
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) { return gearstalk::Main(argc, argv); }
