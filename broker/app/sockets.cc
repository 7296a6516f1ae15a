#include "broker/app/sockets.h"

namespace gearstalk {

Result<std::vector<std::unique_ptr<ListenSocket>>> OpenSockets(const Config& config) {
  std::vector<std::unique_ptr<ListenSocket>> sockets;
  for (const std::string& text : config.listen) {
    const Result<ListenAddress> address = ListenAddress::Parse(text);
    if (!address.ok()) return address.status();
    Result<std::unique_ptr<ListenSocket>> socket = ListenSocket::Open(address.value());
    if (!socket.ok()) return socket.status();
    sockets.push_back(std::move(socket.value()));
  }
  return sockets;
}

}  // namespace gearstalk
