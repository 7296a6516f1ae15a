#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <set>
#include <string>

#include "broker/server/protocol.h"

namespace gearstalk {
namespace {

Peer From(const std::string& text) {
  sockaddr_storage from{};
  const bool six = text.find(':') != std::string::npos;
  from.ss_family = six ? AF_INET6 : AF_INET;
  void* const address = six ? static_cast<void*>(&reinterpret_cast<sockaddr_in6&>(from).sin6_addr)
                            : static_cast<void*>(&reinterpret_cast<sockaddr_in&>(from).sin_addr);
  EXPECT_EQ(inet_pton(from.ss_family, text.c_str(), address), 1) << text;
  return Peer::Of(5, from);
}

TEST(Peer, HasTheAddressItCameFrom) {
  for (const std::string text : {"127.0.0.1", "10.200.3.40", "255.255.255.255", "0.0.0.0"}) {
    EXPECT_EQ(From(text).address, text);
    EXPECT_EQ(From("::ffff:" + text).address, text) << "through a socket for both families";
  }
  for (const std::string text : {"::1", "2001:db8::10", "fe80::1234:5678:9abc:def0"}) {
    EXPECT_EQ(From(text).address, text);
  }
  EXPECT_EQ(From("127.0.0.1").fd, 5);
}

TEST(Peer, IsLocalFromLoopback) {
  EXPECT_TRUE(From("127.0.0.1").local);
  EXPECT_TRUE(From("127.9.9.9").local);
  EXPECT_TRUE(From("::1").local);
  EXPECT_TRUE(From("::ffff:127.0.0.1").local);
  EXPECT_FALSE(From("128.0.0.1").local);
  EXPECT_FALSE(From("2001:db8::1").local);
}

TEST(Peer, OfAUnixSocketIsLocal) {
  sockaddr_storage from{};
  from.ss_family = AF_UNIX;
  const Peer peer = Peer::Of(5, from);
  EXPECT_EQ(peer.address, "unix");
  EXPECT_TRUE(peer.local);
  EXPECT_EQ(peer.network, 0U);
}

TEST(Peer, SharesItsNetworkWithItsNeighboursInIpv6Only) {
  EXPECT_EQ(From("2001:db8::1").network, From("2001:db8::2").network);
  EXPECT_EQ(From("10.0.0.1").network, From("::ffff:10.0.0.1").network);
  const std::set<std::uint64_t> different = {From("0.0.0.0").network, From("10.0.0.1").network,
                                             From("10.0.0.2").network, From("2001:db8::1").network,
                                             From("2001:db8:0:1::1").network};
  EXPECT_EQ(different.size(), 5U);
  EXPECT_FALSE(different.contains(0));
}

}  // namespace
}  // namespace gearstalk
