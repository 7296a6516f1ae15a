#pragma once

#include <unistd.h>

#include <csignal>
#include <type_traits>
#include <vector>

#include "admin/ctl/api/settings.h"
#include "admin/ctl/command.h"

namespace gearstalk::ctl {

// The commands that move jobs, as rows of gearstalkctl's table. Each has its file.
Command ImportCommand();
Command BackupCommand();
Command RestoreCommand();
Command ExportCommand();
Command TransfersCommand();
Command TakeOverCommand();
Command HandBackCommand();
Command BridgeCommand();

inline std::vector<Command> MoveCommands() {
  return {ImportCommand(),    BackupCommand(),   RestoreCommand(),  ExportCommand(),
          TransfersCommand(), TakeOverCommand(), HandBackCommand(), BridgeCommand()};
}

// The call of a function that moves jobs, and returns the exit code or a status. It speaks to the
// broker's own port.
template <typename Options, typename Ended>
Call BindMove(Ended (*run)(Options& options)) {
  Call call = Bind<Options>([run](const api::Settings& settings, Options& options) {
    // A server that goes away is an error of the write.
    std::signal(SIGPIPE, SIG_IGN);
    if constexpr (requires { options.report; }) {
      if (settings.quiet) options.report.PrintNoProgress();
    }
    if constexpr (std::is_same_v<Ended, Status>) {
      const Status status = run(options);
      return status.ok() ? kDone : Fail(status);
    } else {
      return run(options);
    }
  });
  call.asks_api = false;
  return call;
}

// Commands that run until they are told to end: whether SIGTERM or SIGINT has come.
inline volatile std::sig_atomic_t g_stop = 0;
inline void StopOnSignals() {
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { g_stop = 1; });
}
// Sleeps in slices, so that a signal ends it.
inline void Pause(int tenths) {
  for (int i = 0; i < tenths && g_stop == 0; ++i) ::usleep(100'000);
}

}  // namespace gearstalk::ctl
