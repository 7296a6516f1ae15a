#include "tests/bench/load/idle.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "tests/bench/load/fail.h"
#include "tests/bench/load/gearman_packet.h"

namespace gearstalk::bench {

namespace {

std::string OneCommand(Protocol protocol) {
  if (protocol == Protocol::kBeanstalk) return "list-tube-used\r\n";
  std::string packet;
  AppendPacket(packet, PacketType::kEchoReq, {"x"});
  return packet;
}

void AwaitAnswer(int fd) {
  constexpr int kTimeoutMilliseconds = 30'000;
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, kTimeoutMilliseconds) != 1) Fail("an idle connection got no answer");
  char answer[256];
  if (recv(fd, answer, sizeof answer, 0) <= 0) Fail("the server closed an idle connection");
}

}  // namespace

IdleConnections::IdleConnections(const Endpoint& endpoint, Protocol protocol, int64_t count) {
  const std::string command = OneCommand(protocol);
  fds_.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int fd = endpoint.Connect();
    fds_.push_back(fd);
    if (send(fd, command.data(), command.size(), MSG_NOSIGNAL) < 0) FailErrno("send");
    AwaitAnswer(fd);
  }
}

IdleConnections::~IdleConnections() {
  for (const int fd : fds_) close(fd);
}

}  // namespace gearstalk::bench
