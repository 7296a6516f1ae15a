#pragma once

#include <sys/socket.h>

#include "broker/server/protocol.h"

namespace gearstalk {

// Who has connected, by what accept said. A socket for both families shows who came by IPv4 in a
// form of IPv6; that is an IPv4 peer here, too.
Peer DescribePeer(int fd, const sockaddr_storage& from);

}  // namespace gearstalk
