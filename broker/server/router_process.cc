#include "broker/server/router_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace gearstalk {
namespace {

// Bytes that a link holds on its way, as far as the system allows.
constexpr int kLinkBuffer = 1 << 20;

Status Failed(std::string_view call, int error) {
  return {Code::kIo, fmt::format("cannot start a router: {}: {}", call, std::strerror(error))};
}

// Descriptors at places beyond those that the child gets them at, so that none is overwritten.
class Descriptors {
 public:
  explicit Descriptors(std::size_t count) : first_free_(kRouterLink + static_cast<int>(count)) {}
  ~Descriptors() {
    for (const int fd : copies_) close(fd);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  bool Add(int fd) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, first_free_);
    if (copy >= 0) copies_.push_back(copy);
    return copy >= 0;
  }
  // It has no other descriptors, and says nothing: standard error may be that of who called a
  // daemon.
  void Place(posix_spawn_file_actions_t& actions) const {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, fd);
    }
    int place = kRouterLink;
    for (const int fd : copies_) posix_spawn_file_actions_adddup2(&actions, fd, place++);
    posix_spawn_file_actions_addclosefrom_np(&actions, place);
  }

 private:
  const int first_free_;
  std::vector<int> copies_;
};

}  // namespace

Result<RouterProcess> StartRouter(std::size_t number, const std::vector<int>& listeners) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return Failed("socketpair", errno);
  }
  for (const int end : ends)
    setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kLinkBuffer, sizeof kLinkBuffer);
  Descriptors descriptors(listeners.size() + 1);
  bool copied = descriptors.Add(ends[1]);
  for (const int fd : listeners) copied = copied && descriptors.Add(fd);
  const int copy_error = errno;
  close(ends[1]);
  if (!copied) {
    close(ends[0]);
    return Failed("dup", copy_error);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  descriptors.Place(actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::array<std::string, 4> words = {"gearstalkd", kRouterArgument, std::to_string(number),
                                      std::to_string(listeners.size())};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return RouterProcess{pid, ends[0]};
  close(ends[0]);
  return Failed("posix_spawn", error);
}

}  // namespace gearstalk
