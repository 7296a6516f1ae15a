#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "broker/base/status.h"

namespace gearstalk {

// How a call of the file system ended; converts to true if it failed.
struct Fault {
  int error = 0;  // -errno
  const char* call = "";
  std::string path;

  explicit operator bool() const { return error != 0; }
  // Nothing of unknown outcome happened, there was only no room: the same call may be tried again.
  // After a sync that failed, whatever the reason, nobody knows what is on disk.
  bool no_space() const {
    const bool full = error == -ENOSPC || error == -EDQUOT;
    return full && !std::string_view(call).ends_with("sync");
  }
  // The process or the system had no descriptor left: nothing happened. Only an open can say so.
  bool no_descriptor() const { return error == -EMFILE || error == -ENFILE; }
  // Nothing is wrong with the disk: the same call may be tried again.
  bool passes() const { return no_space() || no_descriptor() || no_memory(); }
  bool no_memory() const { return error == -ENOMEM && !std::string_view(call).ends_with("sync"); }
  Status ToStatus() const {
    if (error == 0) return {};
    return {Code::kIo, std::string(call) + " " + path + ": " + std::strerror(-error)};
  }
};

}  // namespace gearstalk
