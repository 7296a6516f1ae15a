#include "broker/process/daemon.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace gearstalk {
namespace {

Status Failure(std::string_view call) {
  return {Code::kIo, fmt::format("daemon: {}: {}", call, std::strerror(errno))};
}

// In the process that was called: ends with the result that the daemon reports.
[[noreturn]] void WaitForWord(int from) {
  // A signal here is not a successful start: the process ends by it, not with exit code 0.
  for (const int number : {SIGTERM, SIGINT}) signal(number, SIG_DFL);
  unsigned char code = 1;
  while (read(from, &code, 1) < 0 && errno == EINTR) {
  }
  _exit(code);
}

}  // namespace

Result<Daemon> Daemon::Fork() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Failure("pipe");
  const pid_t child = fork();
  if (child < 0) return Failure("fork");
  if (child > 0) {
    close(ends[1]);
    waitpid(child, nullptr, 0);
    WaitForWord(ends[0]);
  }
  close(ends[0]);
  setsid();
  // The leader of the session exits, so that the daemon cannot get a terminal by opening one.
  const pid_t grandchild = fork();
  if (grandchild < 0) return Failure("fork");
  if (grandchild > 0) _exit(EXIT_SUCCESS);
  return Daemon(ends[1]);
}

void Daemon::Tell(int exit_code, bool detach) {
  if (caller_ < 0) return;
  if (detach) {
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
    if (null > STDERR_FILENO) close(null);
  }
  const auto code = static_cast<unsigned char>(exit_code);
  while (write(caller_, &code, 1) < 0 && errno == EINTR) {
  }
  close(std::exchange(caller_, -1));
}

}  // namespace gearstalk
