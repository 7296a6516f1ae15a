#include "admin/ctl/move_commands.h"

#include <csignal>
#include <vector>

#include "admin/ctl/command.h"

namespace gearstalk::ctl {
namespace {

template <std::function<int()> (*SetUp)(CLI::App&)>
api::Action Declare(CLI::App& app) {
  return [run = SetUp(app)](const api::Settings& /*settings*/) {
    // A server that goes away is an error of the write.
    std::signal(SIGPIPE, SIG_IGN);
    return run();
  };
}

}  // namespace

std::vector<api::Command> MoveCommands() {
  return {
      {"import", "Import the jobs of a log, a store or a file",
       "gearstalkctl import binlog:/var/lib/beanstalkd --dry-run", Declare<SetUpImport>},
      {"export", "Write all jobs as JSON lines", "gearstalkctl export --out jobs.jsonl",
       Declare<SetUpExport>},
      {"transfers", "List transfers, or forget one", "gearstalkctl transfers",
       Declare<SetUpTransfers>},
      {"take-over", "Move the jobs of a running beanstalkd or gearmand here",
       "gearstalkctl take-over beanstalk://127.0.0.1:11301 --follow", Declare<SetUpTakeOver>},
      {"hand-back", "Move jobs to a beanstalkd or gearmand",
       "gearstalkctl hand-back beanstalk://127.0.0.1:11301", Declare<SetUpHandBack>},
      {"bridge", "Work for one Gearman server by submitting to another",
       "gearstalkctl bridge --from gearman://127.0.0.1:4731 --to gearman://127.0.0.1:4730 "
       "--function resize",
       Declare<SetUpBridge>},
  };
}

}  // namespace gearstalk::ctl
