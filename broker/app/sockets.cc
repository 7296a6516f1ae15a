#include "broker/app/sockets.h"

#include <fmt/format.h>

#include "broker/process/systemd.h"

namespace gearstalk {
namespace {

using Sockets = std::vector<std::unique_ptr<ListenSocket>>;

// How a socket that somebody else bound is served: as the entry of `listen` with its address says,
// else by its name, "beanstalk" or "gearman", else in all protocols.
Result<ListenAddress> AddressOf(const systemd::PassedSocket& passed, const Config& config) {
  const std::string bound = ListenSocket::NameOf(passed.fd);
  for (const std::string& text : config.listen) {
    if (text.substr(0, text.find(',')) == bound) return ListenAddress::Parse(text);
  }
  const bool named = passed.name == "beanstalk" || passed.name == "gearman";
  return ListenAddress::Parse(named ? fmt::format("{},protocols={}", bound, passed.name) : bound);
}

Result<Sockets> Adopt(const std::vector<systemd::PassedSocket>& all, const Config& config) {
  Sockets sockets;
  for (const systemd::PassedSocket& passed : all) {
    const Result<ListenAddress> address = AddressOf(passed, config);
    if (!address.ok()) return address.status();
    auto socket = ListenSocket::Adopt(passed.fd, address.value());
    if (!socket.ok()) return socket.status();
    sockets.push_back(std::move(socket.value()));
  }
  return sockets;
}

}  // namespace

Result<Sockets> OpenSockets(const Config& config) {
  if (const auto passed = systemd::PassedSockets(); !passed.empty()) return Adopt(passed, config);
  Sockets sockets;
  for (const std::string& text : config.listen) {
    const Result<ListenAddress> address = ListenAddress::Parse(text);
    if (!address.ok()) return address.status();
    auto bound = ListenSocket::OpenAll(address.value());
    if (!bound.ok()) return bound.status();
    for (auto& socket : bound.value()) sockets.push_back(std::move(socket));
  }
  return sockets;
}

}  // namespace gearstalk
