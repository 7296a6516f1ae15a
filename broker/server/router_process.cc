#include "broker/server/router_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "broker/base/descriptor.h"

namespace gearstalk {
namespace {

Status Failed(std::string_view why) {
  return {Code::kIo, fmt::format("cannot start a router: {}", why)};
}
Status Failed(std::string_view call, int error) {
  return Failed(fmt::format("{}: {}", call, std::strerror(error)));
}

// Descriptors at places beyond those that the child gets them at, so that none is overwritten.
class Descriptors {
 public:
  explicit Descriptors(std::size_t count) : first_free_(kRouterSocket + static_cast<int>(count)) {}

  bool Add(int fd) {
    copies_.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, first_free_));
    return copies_.back() >= 0;
  }
  // It has no other descriptors, and says nothing: standard error may be that of who called a
  // daemon.
  void Place(posix_spawn_file_actions_t& actions) const {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, fd);
    }
    int place = kRouterSocket;
    for (const int fd : copies_) posix_spawn_file_actions_adddup2(&actions, fd, place++);
    posix_spawn_file_actions_addclosefrom_np(&actions, place);
  }

 private:
  const int first_free_;
  std::vector<Descriptor> copies_;
};

Result<pid_t> Spawn(std::size_t number, std::size_t listeners, const Descriptors& descriptors) {
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
                                      std::to_string(listeners)};
  std::array<char*, 5> arguments{};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Failed("posix_spawn", error);
  return pid;
}

}  // namespace

Result<RouterProcess> StartRouter(std::size_t number, const std::vector<int>& listeners) {
  const Result<link::LinkParts> parts = link::MakeLink();
  if (!parts.ok()) return Failed(parts.status().message());
  const auto [sockets, memory] = parts.value();
  Descriptors descriptors(listeners.size() + 2);
  bool copied = descriptors.Add(sockets[1]) && descriptors.Add(memory);
  for (const int fd : listeners) copied = copied && descriptors.Add(fd);
  const int copy_error = errno;
  auto end = link::LinkEnd::Open(sockets[0], memory, link::LinkEnd::Side::kBroker);
  close(sockets[1]);
  close(memory);
  if (!copied) return Failed("dup", copy_error);
  if (!end.ok()) return Failed(end.status().message());
  const pid_t pid = GS_TRY(Spawn(number, listeners.size(), descriptors));
  return RouterProcess{pid, std::move(end.value())};
}

}  // namespace gearstalk
