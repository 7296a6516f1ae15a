#include "broker/etcd/grpc_log.h"

#include <grpc/support/log.h>

#include "broker/base/log.h"

namespace gearstalk::etcd {

void LogThroughUs() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* said) {
    if (Logs(LogLevel::kDebug)) Log(LogLevel::kDebug, "grpc", {{"message", said->message}});
  });
}

}  // namespace gearstalk::etcd
