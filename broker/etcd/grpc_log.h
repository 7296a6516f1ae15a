#pragma once

namespace gearstalk::etcd {

// From now on what gRPC has to say goes to our log, at level debug: calls have errors of their own.
void LogThroughUs();

}  // namespace gearstalk::etcd
