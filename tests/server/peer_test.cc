#include "broker/server/peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <set>
#include <string>

namespace gearstalk {
namespace {

Peer FromIpv4(const std::string& text) {
  sockaddr_storage from{};
  auto& address = reinterpret_cast<sockaddr_in&>(from);
  address.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &address.sin_addr), 1) << text;
  return DescribePeer(5, from);
}

Peer FromIpv6(const std::string& text) {
  sockaddr_storage from{};
  auto& address = reinterpret_cast<sockaddr_in6&>(from);
  address.sin6_family = AF_INET6;
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &address.sin6_addr), 1) << text;
  return DescribePeer(5, from);
}

TEST(Peer, HasTheAddressItCameFrom) {
  for (const std::string text : {"127.0.0.1", "10.200.3.40", "255.255.255.255", "0.0.0.0"}) {
    EXPECT_EQ(FromIpv4(text).address, text);
    EXPECT_EQ(FromIpv6("::ffff:" + text).address, text) << "through a socket for both families";
  }
  for (const std::string text : {"::1", "2001:db8::10", "fe80::1234:5678:9abc:def0"}) {
    EXPECT_EQ(FromIpv6(text).address, text);
  }
  EXPECT_EQ(FromIpv4("127.0.0.1").fd, 5);
}

TEST(Peer, IsLocalFromLoopback) {
  EXPECT_TRUE(FromIpv4("127.0.0.1").local);
  EXPECT_TRUE(FromIpv4("127.9.9.9").local);
  EXPECT_TRUE(FromIpv6("::1").local);
  EXPECT_TRUE(FromIpv6("::ffff:127.0.0.1").local);
  EXPECT_FALSE(FromIpv4("128.0.0.1").local);
  EXPECT_FALSE(FromIpv6("2001:db8::1").local);
}

TEST(Peer, OfAUnixSocketIsLocal) {
  sockaddr_storage from{};
  from.ss_family = AF_UNIX;
  const Peer peer = DescribePeer(5, from);
  EXPECT_EQ(peer.address, "unix");
  EXPECT_TRUE(peer.local);
  EXPECT_EQ(peer.network, 0U);
}

TEST(Peer, SharesItsNetworkWithItsNeighboursInIpv6Only) {
  EXPECT_EQ(FromIpv6("2001:db8::1").network, FromIpv6("2001:db8::2").network);
  EXPECT_EQ(FromIpv4("10.0.0.1").network, FromIpv6("::ffff:10.0.0.1").network);
  const std::set<std::uint64_t> different = {
      FromIpv4("0.0.0.0").network, FromIpv4("10.0.0.1").network, FromIpv4("10.0.0.2").network,
      FromIpv6("2001:db8::1").network, FromIpv6("2001:db8:0:1::1").network};
  EXPECT_EQ(different.size(), 5U);
  EXPECT_FALSE(different.contains(0));
}

}  // namespace
}  // namespace gearstalk
