// Runs what the command line asks for.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "admin/api/users.h"
#include "broker/app/config_problems.h"
#include "broker/app/replica_setup.h"
#include "broker/app/security.h"
#include "broker/app/sockets.h"
#include "broker/app/start.h"
#include "broker/base/status.h"
#include "broker/config/command_line.h"
#include "broker/config/foreign.h"
#include "broker/config/policies.h"
#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_salvage.h"
#include "broker/process/standard_streams.h"
#include "broker/router/router.h"
#include "broker/server/listener.h"
#include "broker/server/router_process.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

int ReportOf(const Status& status, const std::string& report) {
  Print(stdout, "{}", report);
  if (status.ok()) return kExitDone;
  Print(stderr, "gearstalkd: {}\n", status.message());
  return kExitFailed;
}

// --journal-check and --journal-salvage.
int InspectJournal(const CommandLine& line) {
  std::string report;
  const Status status = line.action == CommandLine::Action::kCheckJournal
                            ? CheckJournal(SystemFileSystem(), line.text, report)
                            : SalvageJournal(SystemFileSystem(), line.text, report);
  return ReportOf(status, report);
}

// A status may have several lines.
int Refuse(const std::string& program, const Status& status) {
  std::string_view rest = status.message();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Print(stderr, "{}: {}\n", program, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return BadUsageExitOf(program);
}

// --journal-check etcd, --journal-export, --journal-import and --journal-upgrade.
int ReplicaTool(const std::string& program, const CommandLine& line) {
  const Settings& settings = line.settings;
  Status usage = CheckReplicaTool(line);
  if (!settings.errors.empty()) {
    usage = {Code::kInvalid, fmt::format("{}", fmt::join(settings.errors, "\n"))};
  } else if (!usage.ok()) {
    usage = {Code::kInvalid, Located(settings, usage.message())};
  }
  if (!usage.ok()) return Refuse(program, usage);
  std::string report;
  const Status status = RunReplicaTool(line, report);
  return ReportOf(status, report);
}

// The checks of values that the table of options cannot do.
Checks ValueChecks() {
  return {
      {"listen", [](const std::string& text) { return StatusOf(ListenAddress::Parse(text)); }},
      {"rights",
       [](const std::string& text) {
         return StatusOf(AccessRules::Parse({&text, 1}));
       }},
      {"admin", [](const std::string& text) { return StatusOf(ParseAdminAddress(text)); }},
      {"console.users", [](const std::string& text) { return StatusOf(api::User::Parse(text)); }},
      {"console.anonymous", [](const std::string& text) {
         return text.empty() ? Status() : StatusOf(api::ParseGrant(text));
       }}};
}

// The command line of gearstalkd, or the translation of another server's.
Result<CommandLine> Read(const Translation& asked) {
  std::vector<const char*> argv = {"gearstalkd"};
  for (const std::string& argument : asked.arguments) argv.push_back(argument.c_str());
  return ReadCommandLine(static_cast<int>(argv.size()), argv.data(), ValueChecks(), asked.names);
}

// The configuration for a broker that is to run. Values with which it cannot start are errors, too;
// returns the first.
Result<Config> Usable(const Settings& settings) {
  if (!settings.errors.empty()) {
    return Status(Code::kInvalid, fmt::format("{}", fmt::join(settings.errors, "\n")));
  }
  const Result<Security> security = LoadSecurity(settings.config);
  Status good = security.ok() ? CheckReplication(settings.config) : security.status();
  if (good.ok()) {
    const std::vector<std::string> large = LargeBodies(settings.config);
    if (large.empty()) return settings.config;
    good = {Code::kInvalid, large.front()};
  }
  return Status(Code::kInvalid, Located(settings, good.message()));
}

void Warn(const std::string& program, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) Print(stderr, "{}: {}\n", program, warning);
}

// Warnings about a configuration that is valid.
std::vector<std::string> DoubtsAbout(const Settings& settings) {
  std::vector<std::string> doubts = gearstalk::DoubtsAbout(settings.config);
  const bool has_sync = std::any_of(settings.origins.begin(), settings.origins.end(),
                                    [](const auto& origin) { return origin.key == "sync"; });
  if (has_sync && settings.config.Replicated()) {
    doubts.emplace_back(settings.config.etcd.endpoints.empty()
                            ? "sync has no meaning with postgres.conninfo: its synchronous_commit "
                              "says when a change is confirmed"
                            : "sync has no meaning with etcd.endpoints: etcd syncs every change");
  }
  for (std::string& doubt : DoubtsAboutTubes(settings.config.tubes)) {
    doubts.push_back(std::move(doubt));
  }
  return doubts;
}

// --check-config: prints every error, or that there is none.
int CheckConfig(const std::string& program, const Settings& settings) {
  Warn(program, UnknownVariables());
  std::vector<std::string> errors = settings.errors;
  for (const std::string& problem : ProblemsOf(settings.config)) {
    errors.push_back(Located(settings, problem));
  }
  if (const Status replica = CheckReplication(settings.config); !replica.ok()) {
    errors.push_back(Located(settings, replica.message()));
  }
  if (errors.empty() && settings.origins.empty() && settings.file.empty()) {
    errors.emplace_back(
        "--check-config: nothing to check: name a file with --config FILE, or give flags or "
        "variables");
  }
  Warn(program, errors);
  Warn(program, DoubtsAbout(settings));
  if (!errors.empty()) return BadUsageExitOf(program);
  Print(stdout, "the configuration is good\n");
  return kExitDone;
}

// Warnings about the configuration with which the broker starts.
std::vector<std::string> WarningsAbout(const Settings& settings, const Config& config) {
  std::vector<std::string> warnings = UnknownVariables();
  for (std::string& doubt : DoubtsAbout(settings)) warnings.push_back(std::move(doubt));
  for (std::string& useless : UselessSettings(config)) warnings.push_back(std::move(useless));
  return warnings;
}

int Serve(const std::string& program, const Translation& asked, const Settings& settings) {
  // A signal during the start ends the process at once: nothing has to be put in order yet. The
  // exit code is that of a later SIGTERM. Broker::HandleSignals replaces these handlers.
  for (const int number : {SIGTERM, SIGINT}) signal(number, [](int) { _exit(kExitDone); });
  const Result<Config> config = Usable(settings);
  if (!config.ok()) return Refuse(program, config.status());
  const StartNotes notes{.config_file = settings.file,
                         .warnings = WarningsAbout(settings, config.value())};
  return Start(config.value(), notes, [asked]() -> Result<Config> {
    const Result<CommandLine> again = Read(asked);
    return again.ok() ? Usable(again.value().settings) : again.status();
  });
}

int Main(const std::string& program, const std::vector<std::string>& arguments) {
  const Result<Translation> ours = TranslateAs(program, arguments);
  if (!ours.ok()) return Refuse(program, ours.status());
  Warn(program, ours.value().warnings);
  if (!ours.value().help.empty()) {
    Print(stdout, "{}", ours.value().help);
    return kExitDone;
  }
  const Result<CommandLine> line = Read(ours.value());
  if (!line.ok()) return Refuse(program, line.status());
  switch (line.value().action) {
    case CommandLine::Action::kPrintAndExit:
      Print(stdout, "{}", line.value().text);
      return kExitDone;
    case CommandLine::Action::kPrintVersion:
      Print(stdout, "gearstalkd {}\ncommit {}\n{}", kVersion, kCommit, kLibraries);
      return kExitDone;
    case CommandLine::Action::kCheckJournal:
    case CommandLine::Action::kSalvageJournal:
      return InspectJournal(line.value());
    case CommandLine::Action::kCheckReplica:
    case CommandLine::Action::kExportReplica:
    case CommandLine::Action::kImportReplica:
    case CommandLine::Action::kUpgradeReplica:
      return ReplicaTool(program, line.value());
    case CommandLine::Action::kCheckConfig:
      return CheckConfig(program, line.value().settings);
    case CommandLine::Action::kServe:
      break;
  }
  return Serve(program, ours.value(), line.value().settings);
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) {
  gearstalk::OpenStandardStreams();
  if (argc > 1 && std::string_view(argv[1]) == gearstalk::kRouterArgument) {
    return gearstalk::RunAsRouter(argc, argv);
  }
  // A reader of our output that goes away must not end the process.
  signal(SIGPIPE, SIG_IGN);
  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename() : "gearstalkd";
  return gearstalk::Main(program, {argv + std::min(argc, 1), argv + argc});
}
