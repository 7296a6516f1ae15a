#pragma once

#include <cstdlib>
#include <utility>

#include "broker/base/status.h"

namespace gearstalk {

// Goes to the background. The process that was called waits: it exits with 0 when the one that
// stays says that it is ready, or with the exit code of that one if it ends before.
class Daemon {
 public:
  // Returns in the process that stays only. To be called before there are threads.
  static Result<Daemon> Fork();
  Daemon(Daemon&& other) noexcept : caller_(std::exchange(other.caller_, -1)) {}
  Daemon& operator=(Daemon&&) = delete;
  // Without Ready or Failed before: the caller gets exit code 1.
  ~Daemon() { Tell(EXIT_FAILURE, false); }

  // Lets the caller return with exit code 0, and leaves its terminal.
  void Ready() { Tell(0, true); }
  // Lets the caller return with this exit code.
  void Failed(int exit_code) { Tell(exit_code, false); }

 private:
  explicit Daemon(int caller) : caller_(caller) {}
  void Tell(int exit_code, bool detach);

  int caller_;  // pipe to the process that was called; -1: it has returned
};

}  // namespace gearstalk
