#include "broker/server/protocol.h"

#include <arpa/inet.h>
#include <fmt/compile.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace gearstalk {
namespace {

std::uint64_t NetworkOf(const in6_addr& address) {
  std::uint64_t network = 0;
  std::memcpy(&network, address.s6_addr, sizeof network);
  // The top bit keeps IPv6 networks apart from IPv4 addresses.
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

std::string Peer::Name() const {
  if (port == 0) return address;
  const bool v6 = address.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address, port) : fmt::format("{}:{}", address, port);
}

Peer Peer::Of(int fd, std::string_view address, std::uint16_t port) {
  Peer peer{.fd = fd, .address = "unix", .local = true};
  if (address.size() == sizeof(in_addr)) {
    in_addr v4{};
    std::memcpy(&v4, address.data(), sizeof v4);
    peer = DescribeIpv4(fd, v4);
  } else if (address.size() == sizeof(in6_addr)) {
    in6_addr v6{};
    std::memcpy(&v6, address.data(), sizeof v6);
    peer = DescribeIpv6(fd, v6);
  }
  peer.port = port;
  return peer;
}

Peer Peer::Of(int fd, const sockaddr_storage& from) {
  const auto bytes = [](const auto& address) {
    return std::string_view(reinterpret_cast<const char*>(&address), sizeof address);
  };
  if (from.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(from);
    return Of(fd, bytes(v4.sin_addr), ntohs(v4.sin_port));
  }
  if (from.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    return Of(fd, bytes(v6.sin6_addr), ntohs(v6.sin6_port));
  }
  return Of(fd, {}, 0);
}

std::string_view ResultOf(Code code) {
  for (const auto& [refusal, name] : kJobRefusals) {
    if (refusal == code) return name;
  }
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kNotFound:
      return "not-found";
    case Code::kInvalid:
    case Code::kNotIgnored:
      return "bad-request";
    case Code::kInUse:
      return "in-use";
    default:
      return "journal";
  }
}

}  // namespace gearstalk
