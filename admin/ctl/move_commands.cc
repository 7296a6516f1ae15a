#include "admin/ctl/move_commands.h"

namespace gearstalk::ctl {

std::vector<Command> MoveCommands() {
  return {
      {"import", "Import the jobs of a log, a store or a file",
       "gearstalkctl import binlog:/var/lib/beanstalkd --dry-run", ImportCall()},
      {"backup", "Copy the data directory of a broker, also while it runs",
       "gearstalkctl backup /backup/monday", BackupCall()},
      {"restore", "Put a backup into the data directory of a stopped broker",
       "gearstalkctl restore /backup/monday --data-dir /var/lib/gearstalkd", RestoreCall()},
      {"export", "Write all jobs as JSON lines", "gearstalkctl export --out jobs.jsonl",
       ExportCall()},
      {"transfers", "List transfers, or forget one", "gearstalkctl transfers", TransfersCall()},
      {"take-over", "Move the jobs of a running beanstalkd or gearmand here",
       "gearstalkctl take-over beanstalk://127.0.0.1:11301 --follow", TakeOverCall()},
      {"hand-back", "Move jobs to a beanstalkd or gearmand",
       "gearstalkctl hand-back beanstalk://127.0.0.1:11301", HandBackCall()},
      {"bridge", "Work for one Gearman server by submitting to another",
       "gearstalkctl bridge --from gearman://127.0.0.1:4731 --to gearman://127.0.0.1:4730 "
       "--function resize",
       BridgeCall()},
  };
}

}  // namespace gearstalk::ctl
