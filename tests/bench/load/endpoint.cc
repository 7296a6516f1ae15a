#include "tests/bench/load/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

void BindToNextLoopbackAddress(int fd) {
  constexpr uint32_t kNetwork = 0x7f010000;
  constexpr uint32_t kAddresses = 200;
  static uint32_t next = 0;
  const int on = 1;
  setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  sockaddr_in source{};
  source.sin_family = AF_INET;
  source.sin_addr.s_addr = htonl(kNetwork + 1 + next++ % kAddresses);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0) FailErrno("bind");
}

}  // namespace

Endpoint::Endpoint(const std::string& text, bool tls) : tls_(tls) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) Fail("not HOST:PORT: " + text);
  address_.sin_family = AF_INET;
  address_.sin_port = htons(static_cast<uint16_t>(std::atoi(text.c_str() + colon + 1)));
  if (inet_pton(AF_INET, text.substr(0, colon).c_str(), &address_.sin_addr) != 1) {
    Fail("not an IPv4 address: " + text);
  }
}

bool Endpoint::IsLoopback() const { return ntohl(address_.sin_addr.s_addr) >> 24 == 127; }

int Endpoint::Connect() const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) FailErrno("socket");
  if (IsLoopback()) BindToNextLoopbackAddress(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
    FailErrno("connect");
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace gearstalk::bench
