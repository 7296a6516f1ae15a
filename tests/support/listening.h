#pragma once

#include <memory>
#include <utility>

#include "broker/base/status.h"
#include "broker/server/listener.h"

namespace gearstalk {

// The first socket of an address.
inline Result<std::unique_ptr<ListenSocket>> OpenOne(const ListenAddress& address) {
  ListenSockets all = GS_TRY(ListenSocket::OpenAll(address));
  return std::move(all.front());
}

}  // namespace gearstalk
