#pragma once

#include <string>
#include <utility>

#include "broker/base/descriptor.h"
#include "broker/base/status.h"

namespace gearstalk::binlog {

// beanstalkd's lock of its directory: an fcntl write lock on DIR/lock, which flock does not meet.
// Held until the object goes; a process must not open and close DIR/lock elsewhere meanwhile, since
// closing any descriptor of a file drops the fcntl locks of the process.
class Lock {
 public:
  // kInUse: another process has the directory; the message is `NAME, pid N, uses DIR`.
  // A directory that cannot be written to is only probed.
  static Result<Lock> Hold(const std::string& directory);

 private:
  explicit Lock(Descriptor fd) : fd_(std::move(fd)) {}
  Descriptor fd_;  // none: there is nothing to hold
};

}  // namespace gearstalk::binlog
