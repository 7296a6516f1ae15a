// What the command line asks for is done here, or by the part that can.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "admin/http_address.h"
#include "broker/app/security.h"
#include "broker/app/start.h"
#include "broker/config/command_line.h"
#include "broker/config/foreign.h"
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

int Refuse(const std::string& program, const Status& status) {
  fmt::print(stderr, "{}: {}\n", program, status.message());
  return kExitBadUsage;
}

// What the table of options does not know of their values.
Checks ValueChecks() {
  return {{"listen",
           [](const std::string& text) {
             const Result<ListenAddress> address = ListenAddress::Parse(text);
             return address.ok() ? Status() : address.status();
           }},
          {"rights",
           [](const std::string& text) {
             const Result<AccessRules> rules = AccessRules::Parse({&text, 1});
             return rules.ok() ? Status() : rules.status();
           }},
          {"admin", [](const std::string& text) {
             const Result<HttpAddress> address = HttpAddress::Parse(text);
             return text.empty() || address.ok() ? Status() : address.status();
           }}};
}

// With all that the configuration names: certificates, too.
Result<CommandLine> Read(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"gearstalkd"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Result<CommandLine> line =
      ReadCommandLine(static_cast<int>(argv.size()), argv.data(), ValueChecks());
  if (!line.ok()) return line;
  const Settings& settings = line.value().settings;
  const Result<Security> security = LoadSecurity(settings.config);
  if (security.ok()) return line;
  return Status(Code::kInvalid, Located(settings, security.status().message()));
}

void Warn(const std::string& program, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "{}: {}\n", program, warning);
}

void WarnOf(const std::string& program, const Config& config) {
  Warn(program, UnknownVariables());
  Warn(program, DoubtsAbout(config));
}

int Main(const std::string& program, const std::vector<std::string>& arguments) {
  const Result<Translation> ours = TranslateAs(program, arguments);
  if (!ours.ok()) return Refuse(program, ours.status());
  Warn(program, ours.value().warnings);
  if (!ours.value().help.empty()) {
    fmt::print("{}", ours.value().help);
    return kExitDone;
  }
  const Result<CommandLine> line = Read(ours.value().arguments);
  if (!line.ok()) return Refuse(program, line.status());
  switch (line.value().action) {
    case CommandLine::Action::kPrintAndExit:
      fmt::print("{}", line.value().text);
      return kExitDone;
    case CommandLine::Action::kPrintVersion:
      fmt::print("gearstalkd {}\ncommit {}\n{}", kVersion, kCommit, kLibraries);
      return kExitDone;
    case CommandLine::Action::kCheckJournal:
    case CommandLine::Action::kSalvageJournal:
      return InspectJournal(line.value());
    case CommandLine::Action::kCheckConfig:
      WarnOf(program, line.value().settings.config);
      fmt::print("the configuration is good\n");
      return kExitDone;
    case CommandLine::Action::kServe:
      WarnOf(program, line.value().settings.config);
      break;
  }
  return Start(line.value().settings.config, [&]() -> Result<Config> {
    Result<CommandLine> again = Read(ours.value().arguments);
    if (!again.ok()) return again.status();
    return std::move(again.value().settings.config);
  });
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) {
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename() : "gearstalkd";
  return gearstalk::Main(program, {argv + std::min(argc, 1), argv + argc});
}
