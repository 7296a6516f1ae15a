#include "broker/app/start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "broker/app/broker.h"
#include "broker/app/import_binlog.h"
#include "broker/app/replica_setup.h"
#include "broker/app/settings.h"
#include "broker/app/sockets.h"
#include "broker/base/log.h"
#include "broker/base/threads.h"
#include "broker/binlog/lock.h"
#include "broker/journal/memory_journal.h"
#include "broker/process/daemon.h"
#include "broker/process/log.h"
#include "broker/process/machine.h"
#include "broker/process/memory_reserve.h"
#include "broker/process/pid_file.h"
#include "broker/process/standard_streams.h"
#include "broker/process/user.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMemoryReserve = 64 << 20;  // bytes, at most; no page of it is touched
// Bytes of a block that malloc gives back to the system when it is freed. Left alone, malloc raises
// this with each large block that is freed, and keeps tens of megabytes of batches.
constexpr int kMappedFrom = 1 << 20;

int Failed(const Status& status) {
  Log(LogLevel::kCritical, status.message());
  return kExitFailed;
}

// Each connection needs a descriptor: allows as many as the system does.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<int> Serve(const Config& config, BrokerHooks hooks, ListenSockets sockets,
                  ListenSockets admin_sockets) {
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  KeepMemoryReserve(std::min<std::size_t>(kMemoryReserve, MachineMemory() / 16));
  if (config.Replicated()) {
    const ReplicaSetup replica = GS_TRY(OpenReplica(config));
    hooks.reload_journal = replica.reload;
    return Broker(config, std::move(hooks), *replica.journal)
        .Run(std::move(sockets), std::move(admin_sockets));
  }
  if (config.data_dir.empty()) {
    Log(LogLevel::kWarning, "no --data-dir: jobs live in memory and end with the process");
    MemoryJournal journal;
    return Broker(config, std::move(hooks), journal)
        .Run(std::move(sockets), std::move(admin_sockets));
  }
  // Taken before the journal's own lock, which beanstalkd does not see, and held while the broker
  // serves.
  const binlog::Lock lock = GS_TRY(binlog::Lock::Hold(config.data_dir));
  GS_TRY(StatusOf(HasBinlogToImport(config)));
  const std::unique_ptr<WalJournal> journal = GS_TRY(WalJournal::Open(WalOptionsOf(config)));
  return Broker(config, std::move(hooks), *journal)
      .Run(std::move(sockets), std::move(admin_sockets));
}

void LogStart(const Config& config, const StartNotes& notes) {
  Log(LogLevel::kInfo, "starting",
      {{"version", kVersion},
       {"commit", kCommit},
       {"config", notes.config_file.empty() ? "none" : notes.config_file},
       {"data_dir", config.data_dir.empty() ? "none" : config.data_dir},
       {"listen", fmt::format("{}", fmt::join(config.listen, " "))},
       {"admin", fmt::format("{}", fmt::join(config.admin, " "))}});
  for (const std::string& warning : notes.warnings) Log(LogLevel::kWarning, warning);
}

// The order matters: addresses and the pid file may need root; the journal and the log's file must
// belong to the broker's user.
Result<int> StartHere(const Config& config, std::function<Result<Config>()> reread,
                      const StartNotes& notes, std::optional<Daemon>& daemon) {
  Result<ListenSockets> sockets = OpenSockets(config);
  if (!sockets.ok() && sockets.status().code() == Code::kInUse) {
    Failed(sockets.status());
    return kExitBadUsage;
  }
  GS_TRY(StatusOf(sockets));
  ListenSockets admin_sockets = GS_TRY(OpenAdminSockets(config));
  std::unique_ptr<PidFile> pid_file;
  if (!config.pid_file.empty()) pid_file = GS_TRY(PidFile::Create(config.pid_file));
  if (!config.user.empty()) GS_TRY(BecomeUser(config.user));
  GS_TRY(OpenLog(LogSettingsOf(config)));
  StartLogThread();
  LogStart(config, notes);
  const bool says_json = config.log_format == Config::LogFormat::kJson && config.log_to == "stderr";
  const auto announce = [&](std::string_view event, std::initializer_list<LogField> fields,
                            std::string line) {
    const Status written = pid_file == nullptr ? Status() : pid_file->Write();
    if (!written.ok()) Log(LogLevel::kError, written.message());
    const bool read = DrainLog();
    // Tools wait for this line, so it is written whatever the log's level is.
    if (says_json) {
      LogAlways(LogLevel::kInfo, event, fields);
    } else if (read) {
      Print(stderr, "{}\n", line);
    } else {
      // Clients do not wait for a reader that is stuck.
      std::thread printer = StartThread([line = std::move(line)] { Print(stderr, "{}\n", line); });
      if (printer.joinable()) printer.detach();
    }
    if (daemon.has_value()) daemon->Ready();
  };
  BrokerHooks hooks;
  hooks.reread = std::move(reread);
  hooks.ready = [&](const std::vector<std::string>& addresses) {
    const std::string joined = fmt::format("{}", fmt::join(addresses, " "));
    announce("ready", {{"addresses", joined}}, "ready " + joined);
  };
  hooks.standby = [&] { announce("standby", {}, "standby"); };
  return Serve(config, std::move(hooks), std::move(sockets.value()), std::move(admin_sockets));
}

}  // namespace

int Start(const Config& config, const StartNotes& notes, std::function<Result<Config>()> reread) {
  // The broker handles all but the first when it serves; until then they must not end a long
  // replay.
  for (const int ignored : {SIGXFSZ, SIGHUP, SIGUSR1, SIGUSR2}) signal(ignored, SIG_IGN);
  RaiseDescriptorLimit();
  // Used until the configured log is open.
  LogSettings early = LogSettingsOf(config);
  if (early.to != "journald") early.to = "stderr";
  if (Status status = OpenLog(early); !status.ok()) return Failed(status);
  std::optional<Daemon> daemon;
  if (config.daemon) {
    Result<Daemon> forked = Daemon::Fork();
    if (!forked.ok()) return Failed(forked.status());
    daemon.emplace(std::move(forked.value()));
    if (config.log_to == "stderr" || config.log_to == "journald") {
      Log(LogLevel::kWarning, "log lines are lost in the background: set log_to");
    }
  }
  const Result<int> ended = StartHere(config, std::move(reread), notes, daemon);
  const int exit_code = ended.ok() ? ended.value() : Failed(ended.status());
  const bool logged = DrainLog();
  if (daemon.has_value()) daemon->Failed(exit_code);
  // exit() would wait for a thread that hangs in a write to standard error.
  if (!logged) _exit(exit_code);
  return exit_code;
}

}  // namespace gearstalk
