#pragma once

namespace gearstalk::etcd {

// Sends gRPC's messages to our log, at level debug: errors of calls are reported by the calls.
void LogThroughUs();

}  // namespace gearstalk::etcd
