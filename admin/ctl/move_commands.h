#pragma once

#include <csignal>
#include <vector>

#include "admin/ctl/api/settings.h"
#include "admin/ctl/command.h"

namespace gearstalk::ctl {

// The commands that move jobs, as rows of gearstalkctl's table. Each call has its file.
std::vector<Command> MoveCommands();

Call ImportCall();
Call ExportCall();
Call TransfersCall();
Call TakeOverCall();
Call HandBackCall();
Call BridgeCall();
Call BackupCall();
Call RestoreCall();

// The call of a function that moves jobs. It speaks to the broker's own port.
template <typename Options>
Call BindMove(int (*run)(Options& options)) {
  Call call = Bind<Options>([run](const api::Settings& settings, Options& options) {
    // A server that goes away is an error of the write.
    std::signal(SIGPIPE, SIG_IGN);
    if constexpr (requires { options.report; }) {
      if (settings.quiet) options.report.PrintNoProgress();
    }
    return run(options);
  });
  call.asks_api = false;
  return call;
}

}  // namespace gearstalk::ctl
