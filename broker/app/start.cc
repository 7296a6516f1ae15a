#include "broker/app/start.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "broker/app/broker.h"
#include "broker/app/settings.h"
#include "broker/app/sockets.h"
#include "broker/base/log.h"
#include "broker/journal/memory_journal.h"
#include "broker/process/daemon.h"
#include "broker/process/log.h"
#include "broker/process/pid_file.h"
#include "broker/process/user.h"

namespace gearstalk {
namespace {

using Sockets = std::vector<std::unique_ptr<ListenSocket>>;

int Failed(const Status& status) {
  Log(LogLevel::kCritical, status.message());
  return kExitFailed;
}

// A connection is a descriptor: as many as the system allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Serve(const Config& config, BrokerHooks hooks, Sockets sockets) {
  if (config.data_dir.empty()) {
    MemoryJournal journal;
    return Broker(config, std::move(hooks), journal, nullptr).Run(std::move(sockets));
  }
  Broker* broker = nullptr;
  WalOptions options = WalOptionsOf(config);
  options.on_progress = [&](const ReplayProgress& progress) { broker->OnReplay(progress); };
  Result<std::unique_ptr<WalJournal>> journal = WalJournal::Open(std::move(options));
  if (!journal.ok()) return Failed(journal.status());
  Broker durable(config, std::move(hooks), *journal.value(), journal.value().get());
  broker = &durable;
  return durable.Run(std::move(sockets));
}

// The order matters: addresses and the pid file may need root, the journal and the log's file must
// belong to the user that is served as.
int StartHere(const Config& config, std::function<Result<Config>()> reread,
              std::optional<Daemon>& daemon) {
  Result<Sockets> sockets = OpenSockets(config);
  if (!sockets.ok()) return Failed(sockets.status());
  std::unique_ptr<PidFile> pid_file;
  if (!config.pid_file.empty()) {
    Result<std::unique_ptr<PidFile>> created = PidFile::Create(config.pid_file);
    if (!created.ok()) return Failed(created.status());
    pid_file = std::move(created.value());
  }
  if (!config.user.empty()) {
    if (Status status = BecomeUser(config.user); !status.ok()) return Failed(status);
  }
  if (Status status = OpenLog(LogSettingsOf(config)); !status.ok()) return Failed(status);
  const auto ready = [&](const std::string& addresses) {
    const Status written = pid_file == nullptr ? Status() : pid_file->Write();
    if (!written.ok()) Log(LogLevel::kError, written.message());
    // Tools wait for this line, so it ignores what is said about the log.
    fmt::print(stderr, "ready{}\n", addresses);
    if (daemon.has_value()) daemon->Ready();
  };
  return Serve(config, {std::move(reread), ready}, std::move(sockets.value()));
}

}  // namespace

int Start(const Config& config, std::function<Result<Config>()> reread) {
  // The latter two are heeded when it serves; a long replay should not end by them.
  for (const int ignored : {SIGPIPE, SIGXFSZ, SIGHUP, SIGUSR1}) signal(ignored, SIG_IGN);
  RaiseDescriptorLimit();
  // Until the log is open where it is to be.
  LogSettings early = LogSettingsOf(config);
  if (early.to != "journald") early.to = "stderr";
  if (Status status = OpenLog(early); !status.ok()) return Failed(status);
  std::optional<Daemon> daemon;
  if (config.daemon) {
    Result<Daemon> forked = Daemon::Fork();
    if (!forked.ok()) return Failed(forked.status());
    daemon.emplace(std::move(forked.value()));
    if (config.log_to == "stderr" || config.log_to == "journald") {
      Log(LogLevel::kWarning, "log lines go nowhere from the background: set log_to");
    }
  }
  const int exit_code = StartHere(config, std::move(reread), daemon);
  if (daemon.has_value()) daemon->Failed(exit_code);
  return exit_code;
}

}  // namespace gearstalk
