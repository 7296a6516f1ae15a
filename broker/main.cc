// What the command line asks for is done here, or by the part that can.

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <cstdio>

#include "broker/app/broker.h"
#include "broker/app/settings.h"
#include "broker/app/sockets.h"
#include "broker/config/command_line.h"
#include "broker/journal/memory_journal.h"
#include "broker/journal/wal_check.h"
#include "broker/journal/wal_salvage.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

void StartLog(const Config& config) {
  auto logger = std::make_shared<spdlog::logger>("gearstalkd",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  // The line that says "ready" starts with that word, so lines have no other head.
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::from_str(config.log_level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

// A connection is a descriptor: as many as the system allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const Config& config) {
  auto sockets = OpenSockets(config);
  if (!sockets.ok()) {
    spdlog::critical(sockets.status().message());
    return kFailed;
  }
  if (config.data_dir.empty()) {
    MemoryJournal journal;
    return Broker(config, journal, nullptr).Run(std::move(sockets.value()));
  }
  Broker* broker = nullptr;
  WalOptions options = WalOptionsOf(config);
  options.on_progress = [&](const ReplayProgress& progress) { broker->OnReplay(progress); };
  Result<std::unique_ptr<WalJournal>> journal = WalJournal::Open(std::move(options));
  if (!journal.ok()) {
    spdlog::critical(journal.status().message());
    return kFailed;
  }
  Broker durable(config, *journal.value(), journal.value().get());
  broker = &durable;
  return durable.Run(std::move(sockets.value()));
}

// --journal-check and --journal-salvage.
int InspectJournal(const CommandLine& line) {
  std::string report;
  const Status status = line.action == CommandLine::Action::kCheckJournal
                            ? CheckJournal(SystemFileSystem(), line.text, report)
                            : SalvageJournal(SystemFileSystem(), line.text, report);
  fmt::print("{}", report);
  if (status.ok()) return kDone;
  fmt::print(stderr, "gearstalkd: {}\n", status.message());
  return kFailed;
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
    return kBadUsage;
  }
  switch (line.value().action) {
    case CommandLine::Action::kPrintAndExit:
      fmt::print("{}", line.value().text);
      return kDone;
    case CommandLine::Action::kPrintVersion:
      fmt::print("gearstalkd {}\n", kVersion);
      return kDone;
    case CommandLine::Action::kCheckJournal:
    case CommandLine::Action::kSalvageJournal:
      return InspectJournal(line.value());
    case CommandLine::Action::kCheckConfig:
      fmt::print("the configuration is good\n");
      return kDone;
    case CommandLine::Action::kServe:
      break;
  }
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  StartLog(line.value().config);
  return Serve(line.value().config);
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) { return gearstalk::Main(argc, argv); }
