#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "broker/base/status.h"

namespace gearstalk {

// The result of a call of the file system; true if it failed.
struct Fault {
  int error = 0;  // -errno
  const char* call = "";
  std::string path;

  explicit operator bool() const { return error != 0; }
  // There was no space, and nothing else happened: the same call may be tried again. A failed sync
  // is never such a case: what is on disk then is not known.
  bool no_space() const {
    const bool full = error == -ENOSPC || error == -EDQUOT;
    return full && !std::string_view(call).ends_with("sync");
  }
  // No descriptor was left, and nothing happened. Only opening a file fails so.
  bool no_descriptor() const { return error == -EMFILE || error == -ENFILE; }
  // The disk is all right: the same call may be tried again.
  bool passes() const { return no_space() || no_descriptor() || no_memory(); }
  bool no_memory() const { return error == -ENOMEM && !std::string_view(call).ends_with("sync"); }
  Status ToStatus() const {
    if (error == 0) return {};
    return {Code::kIo, std::string(call) + " " + path + ": " + std::strerror(-error)};
  }
};

}  // namespace gearstalk
