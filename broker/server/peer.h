#pragma once

#include <sys/socket.h>

#include "broker/server/protocol.h"

namespace gearstalk {

// The peer of an accepted socket. A socket for both families shows IPv4 addresses as IPv6 addresses
// (::ffff:1.2.3.4); these are IPv4 peers here.
Peer DescribePeer(int fd, const sockaddr_storage& from);

}  // namespace gearstalk
