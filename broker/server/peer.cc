#include "broker/server/peer.h"

#include <arpa/inet.h>
#include <fmt/compile.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

namespace gearstalk {
namespace {

std::uint64_t NetworkOf(const in6_addr& address) {
  std::uint64_t network = 0;
  std::memcpy(&network, address.s6_addr, sizeof network);
  // No IPv4 address stands for as much.
  return network | std::uint64_t{1} << 63;
}

Peer DescribeIpv4(int fd, const in_addr& address) {
  const std::uint32_t host = ntohl(address.s_addr);
  // inet_ntop would go through printf: as much work as the rest of accepting a connection.
  return {.fd = fd,
          .address = fmt::format(FMT_COMPILE("{}.{}.{}.{}"), host >> 24, host >> 16 & 0xff,
                                 host >> 8 & 0xff, host & 0xff),
          .local = host >> 24 == 127,
          .network = std::uint64_t{host} + 1};
}

Peer DescribeIpv6(int fd, const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr v4{};
    std::memcpy(&v4, &address.s6_addr[12], sizeof v4);
    return DescribeIpv4(fd, v4);
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &address, text.data(), text.size());
  return {.fd = fd,
          .address = text.data(),
          .local = IN6_IS_ADDR_LOOPBACK(&address) != 0,
          .network = NetworkOf(address)};
}

}  // namespace

Peer DescribePeer(int fd, const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    return DescribeIpv4(fd, reinterpret_cast<const sockaddr_in&>(from).sin_addr);
  }
  if (from.ss_family == AF_INET6) {
    return DescribeIpv6(fd, reinterpret_cast<const sockaddr_in6&>(from).sin6_addr);
  }
  return {.fd = fd, .address = "unix", .local = true};
}

}  // namespace gearstalk
